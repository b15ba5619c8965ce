"""The engine: one message in, one reply out, whichever transport carries it.

bytes ── wire.parse ── era ── method ── pipeline ── Reply
                                            └────── Pending, when the tool has to be awaited
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import Any, Final

import msgspec
from msgspec import UNSET

from . import envelope
from .caller import NOBODY, Caller
from .channel import HTTP_MCP, ClientChannel
from .errors import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, Fault
from .headers import VERSION, ParamHeader, check_modern, check_param_headers, in_era, param_headers
from .outcome import Call, Door, Outcome, Pending
from .pipeline import Mode, Pipeline, in_thread
from .progress import INTERVAL_S, ProgressReports
from .protocol import (
    CANCEL,
    HANDSHAKE_VERSIONS,
    LIST_TTL_MS,
    MODERN_VERSIONS,
    NO_META,
    PARAMS,
    PREAMBLE,
    STRUCTURED_SINCE,
    Identity,
    Meta,
    Params,
    discover_result,
    eras,
    initialize_result,
    list_result,
    settled_version,
    to_reply,
    unsupported,
)
from .relay import Answered, Handler, Relay, RpcRequest, when_ready
from .tools import Context
from .upstream import Upstream
from .wire import (
    Frame,
    Headers,
    Id,
    ProtocolError,
    Reply,
    ResponseId,
    decode,
    is_response,
    parse,
    read,
    success,
)

__all__ = ["HTTP_MCP", "NO_LISTS", "QUIET_CONTEXT", "ClientChannel", "Pending", "Relay", "RpcRequest", "Server"]

LARGE_BYTES: Final = 262_144
"""The size from which a thread writes a result into its reply: 4 MiB take up to 70 ms."""


def _ignore(*_: object, **__: object) -> None:
    """Do nothing: nobody listens."""


QUIET_CONTEXT: Final = Context(in_thread, _ignore, {})
"""The context of a call whose client waits for the reply alone."""

NO_LISTS: Final[Mapping[str, bytes]] = {}

STDIO_ENVELOPE: Final = Door("stdio", envelope.INVOKE, "stdio envelope")

ToReply = Callable[[ResponseId, Outcome], Reply]
"""How a door writes an outcome."""


class Server:
    """Serves MCP in both eras, and the envelope, over one pipeline."""

    def __init__(
        self,
        pipeline: Pipeline,
        identity: Identity,
        instructions: str,
        upstreams: tuple[Upstream, ...] = (),
        on_close: Callable[[], Awaitable[None] | None] = _ignore,
        *,
        progress_s: float = INTERVAL_S,
        whole_text: bool = False,
        empty_lists: Mapping[str, bytes] = NO_LISTS,
        relay: Relay | None = None,
    ) -> None:
        """Serve a pipeline; `whole_text` repeats every structured result as text, for all clients.

        `empty_lists` are methods that are answered although nothing is offered, with the beginnings of their results.
        """
        self.pipeline = pipeline
        self.events = pipeline.events
        self.upstreams = upstreams
        self._on_close = on_close
        self._progress_s = progress_s
        self._identity = identity
        self._instructions = instructions
        self._handshake, self._modern = eras(identity)
        self._whole_text = whole_text
        self.relay = relay
        self._ttl_ms = 0 if pipeline.is_development else LIST_TTL_MS
        self._param_headers: dict[str, list[ParamHeader]] = {}
        self._lists: dict[bool, bytes] = {}
        self._empty_lists = empty_lists
        empty = dict.fromkeys(empty_lists, self._list_nothing)
        both: dict[str, Handler] = {"tools/list": self._list, "tools/call": self.call, **empty}
        self._methods: dict[bool, dict[str, Handler]] = {
            False: {"initialize": self._initialize, "ping": self._ping, **both},
            True: {"server/discover": self._discover, **both},
        }

    def receive(self, message: bytes, channel: ClientChannel, *, is_followed: bool = False) -> Reply | Pending | None:
        """Return the reply to one MCP message, or on stdio to one envelope; None where no reply is owed.

        `is_followed` says that the listener of operations hands the message over.
        """
        operations = self.events.operations
        if operations is not None and not is_followed:
            return operations.receive(partial(self.receive, message, channel, is_followed=True), channel)
        try:
            frame = parse(message)
            may_invoke = frame.method in (envelope.INVOKE, "") and channel.door is not HTTP_MCP
            if may_invoke and (frame.method or envelope.looks_like_envelope(decode(message))):
                return self.invoke(message, caller=channel.caller)
        except ProtocolError as error:
            if channel.door is not HTTP_MCP and envelope.looks_like_envelope(error.value):
                return self.invoke(message, caller=channel.caller)
            # A malformed response is not replied to: two peers that did so would never end.
            is_modern = channel.headers.get(VERSION) in MODERN_VERSIONS
            return None if is_response(error.value) and not is_modern else error.reply()
        if frame.method is UNSET or frame.id is UNSET:
            return self._handle_notification(frame, channel)
        try:
            return self._dispatch(frame, frame.method, frame.id, channel)
        except ProtocolError as error:
            return error.reply(frame.id)

    def invoke(
        self,
        message: bytes,
        path_key: str | None = None,
        caller: Caller = NOBODY,
        key: str = "",
        *,
        is_followed: bool = False,
    ) -> Answered:
        """Return the reply to one request envelope (spec 5); `key` is the idempotency key of an HTTP header.

        `is_followed` says that the listener of operations hands the envelope over.
        """
        operations = self.events.operations
        if operations is not None and not is_followed:
            return operations.invoke(partial(self.invoke, message, path_key, caller, key, is_followed=True), caller)
        door = STDIO_ENVELOPE if path_key is None else Door("http", f"/mcp/tool/{path_key}", "http envelope")
        value = None
        try:
            value = decode(message)  # rule: 5.wire.batch/2
            registry, size = self.pipeline.registry, len(message)
            call = envelope.open_envelope(registry, value, QUIET_CONTEXT, path_key, door, caller=caller, size=size)
        except ProtocolError as error:
            return self._reject_envelope(value, error, path_key, door, caller)
        call = msgspec.structs.replace(call, idempotency_key=key) if key else call  # rule: @Server.invoke
        if self.relay is not None:
            context = msgspec.structs.replace(QUIET_CONTEXT, written=envelope.written_input(message))
            call = msgspec.structs.replace(call, context=context)
        run = partial(self._run, value["id"], call, envelope.answer)  # rule: 5.wire.id-required
        if self.relay is None or self.relay.is_ready:
            return run()
        return Pending(value["id"], when_ready(self.relay, call, run, partial(envelope.answer, value["id"])), call)

    def warm(self) -> None:
        """Prepare the upstreams for their first request; slow, so not for the event loop."""
        for upstream in self.upstreams:
            upstream.warm()

    async def close(self) -> None:
        """Close the upstreams, and whatever else was opened for the server."""
        for upstream in self.upstreams:
            await upstream.close()
        if (closing := self._on_close()) is not None:
            await closing

    def _dispatch(self, frame: Frame, method: str, request_id: Id, channel: ClientChannel) -> Reply | Pending:
        params: Params
        failed: ProtocolError | None = None
        operations = self.events.operations
        if operations is not None:
            operations.name(method, channel.headers.get(VERSION, channel.agreement.version), request_id)
        try:
            params = read(frame.params, PARAMS.get(method, PREAMBLE))
        except ProtocolError as error:
            # What is wrong with the era, the headers or the method comes first.
            params, failed = read(frame.params, PREAMBLE), error
        meta = params.meta or NO_META
        modern = _is_modern(method, meta, channel.headers)
        if modern:
            headers = channel.headers if channel.door is HTTP_MCP else None
            named = "uri" if method == "resources/read" else "name"
            check_modern(method, getattr(params, named, UNSET), meta, headers)
        handler = self._methods[modern].get(method)
        if self.relay is not None:
            handler = self.relay.handler(method, modern=modern) or handler
        if handler is None:
            raise in_era(ProtocolError(METHOD_NOT_FOUND, "Method not found"), modern=modern)
        if failed is not None:
            raise failed
        era = self._modern if modern else self._handshake
        request = RpcRequest(request_id, params, meta, channel, era, method, frame.params)
        return handler(request) if operations is None else operations.handle(handler, method, request)

    def _handle_notification(self, frame: Frame, channel: ClientChannel) -> Reply | None:
        """Cancel a call where a notification asks for it; other notifications and responses change nothing.

        Over HTTP the version of each message is checked, and the modern era has no responses to post.
        """
        if self.events.operations is not None and isinstance(frame.method, str):
            self.events.operations.name(frame.method, channel.headers.get(VERSION, channel.agreement.version))
        version = channel.headers.get(VERSION, HANDSHAKE_VERSIONS[-1])
        if version not in (*HANDSHAKE_VERSIONS, *MODERN_VERSIONS):
            return unsupported(version).reply()
        if version in MODERN_VERSIONS and frame.method is UNSET:
            return ProtocolError(INVALID_REQUEST, "Invalid Request: clients post no responses").reply()
        if self.relay is not None:
            self.relay.receive(frame, channel)
        if frame.method == "notifications/cancelled":
            try:
                channel.cancel(read(frame.params, CANCEL).request_id)
            except ProtocolError:
                return None
        return None

    def _initialize(self, request: RpcRequest) -> Reply:
        version = request.channel.agreement.version = settled_version(request.params.version)
        # Over HTTP there is no stream on which a client could be told.
        told = self.pipeline.is_development and request.channel.door is not HTTP_MCP
        return success(request.id, initialize_result(version, self._identity, self._instructions, list_changed=told))

    def _discover(self, request: RpcRequest) -> Reply:
        return success(request.id, discover_result(self._instructions, request.era, self._ttl_ms))

    def _ping(self, request: RpcRequest) -> Reply:
        return success(request.id, b"{}")

    def _list(self, request: RpcRequest) -> Reply:
        modern = request.era.modern
        if request.params.cursor is not None:
            raise ProtocolError(INVALID_PARAMS, "Invalid params: there is one page, ask for it without a cursor")
        if modern not in self._lists:
            toolbox, registry = self.pipeline.toolbox, self.pipeline.registry
            self._lists[modern] = list_result(toolbox, registry, request.era, self._ttl_ms)
        return success(request.id, self._lists[modern])

    def _list_nothing(self, request: RpcRequest) -> Reply:
        may_keep = request.era.modern and request.method.endswith("/list")
        hints = b',"ttlMs":%d,"cacheScope":"public"' % self._ttl_ms if may_keep else b""
        return success(request.id, self._empty_lists[request.method] + hints + request.era.tail + b"}")

    def forget_lists(self) -> None:
        """Write the lists anew when they are asked for: the tools have changed."""
        self._lists.clear()
        self._param_headers.clear()

    def call(self, request: RpcRequest) -> Reply | Pending:
        """Return the reply to `tools/call`."""
        params, meta, channel, era = request.params, request.meta, request.channel, request.era
        arguments = params.arguments or {}
        if era.modern and channel.door is HTTP_MCP:
            check_param_headers(channel.headers, self._param_headers_of(params.name), arguments)
        capabilities = meta.capabilities if era.modern else {}
        context = Context(in_thread, _ignore, capabilities) if era.modern else QUIET_CONTEXT
        reports = None
        if self.relay is not None and (tool := self.pipeline.toolbox.named(params.name)) is not None and tool.relays:
            context = Context(in_thread, _ignore, capabilities, request=request)
        elif meta.progress_token is not UNSET:
            reports = ProgressReports(channel.notify, meta.progress_token, self._progress_s)
            context = Context(in_thread, reports.report, capabilities, wait=reports.waiting)
        trace = meta.trace if isinstance(meta.trace, str) else channel.caller.trace
        key, size = meta.idempotency_key, len(request.raw)
        call = Call(params.name, arguments, context, channel.door, channel.caller, key, trace, size)
        # Over HTTP a client that sends no version is of an older revision.
        version = channel.headers.get(VERSION, channel.agreement.version)
        whole_text = self._whole_text or not (era.modern or version >= STRUCTURED_SINCE)
        # What a wrapped server answers is never in parts.
        write = partial(to_reply, era, whole_text, takes_parts=channel.takes_parts and context.request is None)
        return self._run(request.id, call, write, None, reports)

    def _reject_envelope(
        self, value: object, error: ProtocolError, path_key: str | None, door: Door, caller: Caller
    ) -> Reply | Pending:
        """Refuse an envelope, unless contracts are not enforced and there is a call in it all the same."""
        request_id, mode = envelope.response_id(value), self.pipeline.mode
        if error.data is None:
            return error.reply(request_id)
        outcome = envelope.refused_outcome(value, door, error.__cause__, caller)
        call = envelope.extract_call_leniently(
            self.pipeline.toolbox, value, QUIET_CONTEXT, path_key, door, caller=caller
        )
        if call is None or mode is Mode.ENFORCE:  # rule: 5.modes
            return envelope.answer(request_id, self.pipeline.notify(outcome))  # rule: 5.wire.bad-envelope
        return self._run(request_id, call, envelope.answer, outcome.fault if mode is Mode.SHADOW else None)

    def _run(
        self,
        request_id: ResponseId,
        call: Call,
        to_reply: ToReply,
        shadow_violation: Fault | None = None,
        reports: ProgressReports | None = None,
    ) -> Reply | Pending:
        outcome = self.pipeline.run(call, shadow_violation)
        if isinstance(outcome, Outcome):
            return to_reply(request_id, outcome)
        reply = _await_reply(request_id, outcome, to_reply)
        return Pending(request_id, reply if reports is None else reports.during(reply), call)

    def _param_headers_of(self, name: str) -> list[ParamHeader]:
        if name not in self._param_headers:
            if (tool := self.pipeline.toolbox.named(name)) is None:
                return []
            self._param_headers[name] = param_headers(self.pipeline.registry.load_bundle(tool.slug).input)
        return self._param_headers[name]


async def _await_reply(request_id: ResponseId, pending: Coroutine[Any, Any, Outcome], to_reply: ToReply) -> Reply:
    outcome = await pending
    is_large = len(outcome.body) > LARGE_BYTES
    return await in_thread(to_reply, request_id, outcome) if is_large else to_reply(request_id, outcome)


def _is_modern(method: str, meta: Meta, headers: Headers) -> bool:
    """Return whether a message is of the modern era: by its version header, its `_meta`, or its method."""
    by_header = headers.get(VERSION, HANDSHAKE_VERSIONS[0]) not in HANDSHAKE_VERSIONS
    if by_header or method == "initialize":
        return by_header
    return method == "server/discover" or meta.version is not UNSET or meta.capabilities is not UNSET
