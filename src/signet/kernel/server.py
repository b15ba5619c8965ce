"""The engine: one message in, one answer out, whichever transport carries it.

bytes ── wire.parse ── era ── method ── pipeline ── Reply
                                            └────── Pending, when the tool has to be awaited
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final

import msgspec
from msgspec import UNSET

from . import envelope
from .errors import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, Fault
from .headers import VERSION, ParamHeader, check_modern, check_param_headers, in_era, param_headers
from .outcome import Call, Door, Outcome
from .pipeline import Mode, Pipeline
from .protocol import (
    HANDSHAKE_VERSIONS,
    LIST_TTL_MS,
    MODERN_VERSIONS,
    NO_META,
    CallParams,
    CancelParams,
    Era,
    Identity,
    InitializeParams,
    ListParams,
    Meta,
    RequestPreamble,
    eras,
    error_result,
    listing,
    tool_result,
    unsupported,
)
from .tools import Context
from .upstream import Upstream
from .wire import Frame, Headers, Id, ProtocolError, Reply, ResponseId, decode, encode, failure, parse, read, success

__all__ = ["QUIET_CONTEXT", "ClientChannel", "Pending", "Server"]

CAPABILITIES: Final = {"tools": {"listChanged": False}}

_OPENING: Final = msgspec.json.Decoder(RequestPreamble)
_INITIALIZE: Final = msgspec.json.Decoder(InitializeParams)
_LIST: Final = msgspec.json.Decoder(ListParams)
_CALL: Final = msgspec.json.Decoder(CallParams)
_CANCEL: Final = msgspec.json.Decoder(CancelParams)


def _nobody(*_: object) -> None:
    """Tell nobody."""


QUIET_CONTEXT: Final = Context(asyncio.to_thread, _nobody, {})
"""The context of a call whose client listens to nothing but the answer."""


STDIO_MCP: Final = Door("stdio", "tools/call", "stdio mcp", by_name=True)
STDIO_ENVELOPE: Final = Door("stdio", envelope.INVOKE, "stdio envelope")
HTTP_MCP: Final = Door("http", "/mcp", "http mcp", by_name=True)


class ClientChannel(msgspec.Struct, frozen=True):
    """How the client of a message can be reached beside the answer."""

    notify: Callable[[bytes], None] = _nobody
    cancel: Callable[[Id], None] = _nobody
    headers: Headers | None = None
    """The headers of an HTTP request; None where the transport has none."""


class Pending(msgspec.Struct, frozen=True):
    """An answer that has to be awaited, and the id by which it can be cancelled."""

    id: ResponseId
    reply: Coroutine[Any, Any, Reply]


ServerReply = Reply | Pending | None
"""What becomes of a message; None where none is owed."""
Show = Callable[[ResponseId, Outcome], Reply]
"""How a door writes an outcome."""


class Server:
    """Speaks MCP in both eras, and the envelope, over one pipeline."""

    def __init__(
        self,
        pipeline: Pipeline,
        identity: Identity,
        instructions: str,
        upstreams: tuple[Upstream, ...] = (),
        on_close: Callable[[], None] = _nobody,
    ) -> None:
        self.pipeline = pipeline
        self.upstreams = upstreams
        self._on_close = on_close
        self._identity = identity
        self._instructions = instructions
        self._handshake, self._modern = eras(identity)
        self._mirrors: dict[str, list[ParamHeader]] = {}
        self._lists: dict[bool, bytes] = {}
        self._methods: dict[bool, dict[str, Callable[[Frame, Id, Meta, ClientChannel, Era], ServerReply]]] = {
            False: {
                "initialize": self._initialize, "ping": self._ping,
                "tools/list": self._list, "tools/call": self._call,
            },
            True: {"server/discover": self._discover, "tools/list": self._list, "tools/call": self._call},
        }  # fmt: skip

    def receive(self, message: bytes, exchange: ClientChannel) -> ServerReply:
        """Answer one MCP message; where there are no headers, an envelope too."""
        try:
            frame = parse(message)
            if exchange.headers is None and (
                frame.method == envelope.INVOKE
                or (frame.method == "" and envelope.looks_like_envelope(decode(message)))
            ):
                return self.invoke(message)
        except ProtocolError as refused:
            if exchange.headers is None and envelope.looks_like_envelope(refused.value):
                return self.invoke(message)
            # What answers something is not answered, however badly it does so: two such peers would never end.
            posted = exchange.headers is not None and exchange.headers.get(VERSION) in MODERN_VERSIONS
            return None if _is_answer(refused.value) and not posted else refused.reply()
        if frame.method is UNSET or frame.id is UNSET:
            return self._hear(frame, exchange)
        try:
            return self._answer(frame, frame.method, frame.id, exchange)
        except ProtocolError as refused:
            return refused.reply(frame.id)

    def invoke(self, message: bytes, path_key: str | None = None) -> Reply | Pending:
        """Answer one request envelope (spec 5)."""
        door = STDIO_ENVELOPE if path_key is None else Door("http", f"/mcp/tool/{path_key}", "http envelope")
        value = None
        try:
            value = decode(message)
            call = envelope.open_envelope(self.pipeline.registry, value, QUIET_CONTEXT, path_key, door)
        except ProtocolError as refused:
            return self._unopened(value, refused, path_key, door)
        return self._finish(value["id"], call, envelope.answer)

    def warm(self) -> None:
        """Get ready for the first call of a tool that asks outside; slow, so not for the event loop."""
        for upstream in self.upstreams:
            upstream.warm()

    async def close(self) -> None:
        """Let go of what is outside."""
        for upstream in self.upstreams:
            await upstream.close()
        self._on_close()

    def _answer(self, frame: Frame, method: str, request_id: Id, exchange: ClientChannel) -> ServerReply:
        opening = read(frame.params, _OPENING)
        meta = opening.meta or NO_META
        modern = _is_modern(method, meta, exchange.headers)
        if modern:
            check_modern(method, opening, exchange.headers)
        handler = self._methods[modern].get(method)
        if handler is None:
            raise in_era(ProtocolError(METHOD_NOT_FOUND, "Method not found"), modern=modern)
        return handler(frame, request_id, meta, exchange, self._modern if modern else self._handshake)

    def _hear(self, frame: Frame, exchange: ClientChannel) -> Reply | None:
        """Hear what owes no answer: of all notifications and posted responses, only a cancellation matters.

        Over HTTP the version of each message is looked at, and the modern era has no responses to post.
        """
        version = (
            HANDSHAKE_VERSIONS[-1]
            if exchange.headers is None
            else exchange.headers.get(VERSION, HANDSHAKE_VERSIONS[-1])
        )
        if version not in (*HANDSHAKE_VERSIONS, *MODERN_VERSIONS):
            return unsupported(version).reply()
        if version in MODERN_VERSIONS and frame.method is UNSET:
            return ProtocolError(INVALID_REQUEST, "Invalid Request: clients post no responses").reply()
        if frame.method == "notifications/cancelled":
            try:
                exchange.cancel(read(frame.params, _CANCEL).request_id)
            except ProtocolError:
                return None
        return None

    def _initialize(self, frame: Frame, request_id: Id, _: Meta, __: ClientChannel, ___: Era) -> Reply:
        asked = read(frame.params, _INITIALIZE).version
        result = {
            "protocolVersion": asked if asked in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1],
            "capabilities": CAPABILITIES,
            "serverInfo": self._identity,
            "instructions": self._instructions,
        }
        return success(request_id, encode(result))

    def _discover(self, _: Frame, request_id: Id, __: Meta, ___: ClientChannel, era: Era) -> Reply:
        result = {
            "supportedVersions": MODERN_VERSIONS,
            "capabilities": CAPABILITIES,
            "instructions": self._instructions,
            "ttlMs": LIST_TTL_MS,
            "cacheScope": "public",
        }
        return success(request_id, encode(result)[:-1] + era.tail + b"}")

    def _ping(self, _: Frame, request_id: Id, __: Meta, ___: ClientChannel, ____: Era) -> Reply:
        return success(request_id, b"{}")

    def _list(self, frame: Frame, request_id: Id, _: Meta, __: ClientChannel, era: Era) -> Reply:
        if read(frame.params, _LIST).cursor is not None:
            raise ProtocolError(INVALID_PARAMS, "Invalid params: there is one page, ask for it without a cursor")
        if era.modern not in self._lists:
            tools = listing(self.pipeline.toolbox, self.pipeline.registry)
            hints = b',"ttlMs":%d,"cacheScope":"public"' % LIST_TTL_MS if era.modern else b""
            self._lists[era.modern] = b'{"tools":' + tools + hints + era.tail + b"}"
        return success(request_id, self._lists[era.modern])

    def _call(self, frame: Frame, request_id: Id, meta: Meta, exchange: ClientChannel, era: Era) -> Reply | Pending:
        params = read(frame.params, _CALL)
        arguments = params.arguments or {}
        if era.modern and exchange.headers is not None:
            check_param_headers(exchange.headers, self._mirrored(params.name), arguments)
        context = QUIET_CONTEXT
        if era.modern or meta.progress_token is not UNSET:
            context = Context(asyncio.to_thread, _progress(exchange, meta), meta.capabilities if era.modern else {})
        door = STDIO_MCP if exchange.headers is None else HTTP_MCP
        return self._finish(request_id, Call(params.name, arguments, context, door), partial(_to_reply, era))

    def _unopened(self, value: object, refused: ProtocolError, path_key: str | None, door: Door) -> Reply | Pending:
        """Refuse an envelope, unless contracts are not enforced and there is a call in it all the same."""
        request_id, mode = envelope.response_id(value), self.pipeline.mode
        if refused.data is None:
            return refused.reply(request_id)
        outcome = envelope.refused_outcome(value, door, refused.__cause__)
        call = envelope.extract_call_leniently(self.pipeline.toolbox, value, QUIET_CONTEXT, path_key, door)
        if call is None or mode is Mode.ENFORCE:
            self.pipeline.notify(outcome)
            return refused.reply(request_id)
        return self._finish(request_id, call, envelope.answer, outcome.fault if mode is Mode.SHADOW else None)

    def _finish(
        self, request_id: ResponseId, call: Call, show: Show, shadow_violation: Fault | None = None
    ) -> Reply | Pending:
        outcome = self.pipeline.run(call, shadow_violation)
        if isinstance(outcome, Outcome):
            return show(request_id, outcome)
        return Pending(request_id, _later(request_id, outcome, show))

    def _mirrored(self, name: str) -> list[ParamHeader]:
        if name not in self._mirrors:
            tool = self.pipeline.toolbox.named(name)
            if tool is None:
                return []
            self._mirrors[name] = param_headers(self.pipeline.registry.load_bundle(tool.slug).input)
        return self._mirrors[name]


async def _later(request_id: ResponseId, pending: Coroutine[Any, Any, Outcome], show: Show) -> Reply:
    return show(request_id, await pending)


def _to_reply(era: Era, request_id: ResponseId, outcome: Outcome) -> Reply:
    """Write an outcome as MCP shows it."""
    fault = outcome.fault
    if fault is None:
        return success(request_id, tool_result(outcome, era))
    if fault.as_tool_result:
        return success(request_id, error_result(fault, era))
    return failure(request_id, fault.mcp_code, fault.message, {"canonical_code": fault.code, **fault.data})


def _progress(exchange: ClientChannel, meta: Meta) -> Callable[[float, float | None, str | None], None]:
    """Give the function by which a tool tells its progress: to nobody unless the client gave a token."""
    if meta.progress_token is UNSET:
        return _nobody

    def tell(done: float, total: float | None = None, message: str | None = None) -> None:
        told = {"progressToken": meta.progress_token, "progress": done, "total": total, "message": message}
        params = {key: value for key, value in told.items() if value is not None}
        exchange.notify(encode({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}))

    return tell


def _is_modern(method: str, meta: Meta, headers: Headers | None) -> bool:
    """Tell a message's era: by what it carries or its version header says; only `initialize` belongs to one alone."""
    said = headers is not None and headers.get(VERSION, HANDSHAKE_VERSIONS[0]) not in HANDSHAKE_VERSIONS
    if said or method == "initialize":
        return said
    return method == "server/discover" or meta.version is not UNSET or meta.capabilities is not UNSET


def _is_answer(value: object) -> bool:
    return isinstance(value, dict) and "method" not in value and ("error" in value or "result" in value)
