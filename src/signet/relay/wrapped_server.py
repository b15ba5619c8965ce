"""One wrapped server: its running instances, what it lists, and each request to it from the first byte to the last."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw

from signet.kernel.channel import Session
from signet.kernel.errors import INTERNAL, Code, Fault
from signet.kernel.outcome import Relayed
from signet.kernel.relay import RpcRequest
from signet.kernel.tools import Context
from signet.kernel.wire import encode
from signet.lock.snapshot import Snapshot

from .asking import ASKING, Asker, Rounds, asking_exchange, owner_of, place
from .dialogue import Answer, Dialogue, Exchange, Hooks, LostError, Question
from .link import Link
from .messages import error_object, members
from .negotiation import CALLERS, Introduction, introduce
from .pool import Pool
from .replies import relayed
from .server_spec import ServerSpec
from .snapshots import introduction_of, server_info, take_snapshot

__all__ = ["WrappedServer"]

MAX_ROUNDS: Final = 10
"""How often a server of the modern era may ask in one call."""
MAX_IN_FLIGHT: Final = 256
"""The requests that one instance has to answer at once; others wait for their turn."""
LOCKED: Final = {
    "tools/call": ("tool", "name"),
    "prompts/get": ("prompt", "name"),
    "resources/read": ("resource", "uri"),
}
"""The kind of what a request names, in the lock, and the member that names it."""
MAX_WAITING: Final = 768
LIST_S: Final = 30.0
"""How long a server may take for one page of a list."""


class Listeners(msgspec.Struct, frozen=True):
    """Who is told of what a server says outside of any request."""

    notified: Callable[[WrappedServer, Dialogue, str, Raw], None]
    lost: Callable[[WrappedServer, Dialogue], None]
    sessions: Callable[[], list[Session]]
    log: Callable[..., None]


class WrappedServer:
    """A server of somebody else's."""

    def __init__(
        self, spec: ServerSpec, make_link: Callable[[], Link], listeners: Listeners, *, is_private: bool
    ) -> None:
        """Wrap a server; one that `is_private` has one client, whose capabilities are declared to it."""
        self.spec = spec
        self.name = spec.name
        self._make_link = make_link
        self._listeners = listeners
        self._is_private = is_private
        self._asker = Asker()
        self._rounds = Rounds()
        self._turns = asyncio.Semaphore(MAX_IN_FLIGHT)
        self._waiting = 0
        self.pool = Pool(spec.name, spec.pool)
        self.modes = dict(spec.validation)
        self.pinned: Snapshot | None = None
        """What is served of the server, where a lock pins it."""
        self.blocked: Mapping[tuple[str, str], str] = {}
        """What the lock blocks, with the reason: by its kind and its name."""
        self.on_begun: Callable[[Snapshot], None] | None = None
        """Called with what a new instance says about itself, before it is used."""
        self.on_repinned: Callable[[], None] | None = None
        """Called when the lock lets something else be served."""
        self.levels: dict[str, str] = {}
        """The log level that each session asked for."""

    @property
    def asker(self) -> Asker:
        """Who asks callers of the handshake era."""
        return self._asker

    async def dialogue(self, caller: RpcRequest | None) -> Dialogue:
        """Return the running instance for a caller, started now if there is none; raise Fault if it does not start."""
        owner = owner_of(caller)
        ready = self.pool.ready(owner)
        return ready if ready is not None else await self.pool.dialogue(owner, partial(self._begin, caller))

    async def _begin(self, caller: RpcRequest | None) -> Dialogue:
        dialogue = await introduce(self._make_dialogue, self._introduction(caller))
        if self.on_begun is not None:
            try:
                self.on_begun(await self._snapshot_of(dialogue))
            except BaseException:
                await dialogue.close()
                raise
        return dialogue

    def _make_dialogue(self) -> Dialogue:
        listeners = self._listeners
        hooks = Hooks(
            notified=partial(listeners.notified, self),
            asked=self._asked,
            lost=lambda dialogue, _: listeners.lost(self, dialogue),
            log=listeners.log,
        )
        return Dialogue(self._make_link(), hooks)

    def _introduction(self, caller: RpcRequest | None) -> Introduction:
        if caller is None:
            return Introduction(prefers_modern=True, only=self.spec.era)
        session = caller.channel.agreement
        own = self._is_private or self.spec.pool != "shared"
        declared: Any = caller.meta.capabilities if caller.era.modern else session.capabilities
        capabilities = declared if own and isinstance(declared, Mapping) else CALLERS
        how = Introduction(prefers_modern=caller.era.modern, only=self.spec.era, capabilities=capabilities)
        if own and session.version and not caller.era.modern:
            how = msgspec.structs.replace(how, version=session.version, client=session.client)
        return how

    async def call(self, name: str, annotations: Mapping[str, bool], arguments: Any, context: Context) -> Relayed:
        """Call a tool; raise Fault if the server cannot be reached or was gone before it answered."""
        caller: RpcRequest | None = context.request
        raw = caller.raw if caller is not None else Raw(encode({"name": name, "arguments": arguments}))
        may_repeat = annotations.get("readOnlyHint", False) or annotations.get("idempotentHint", False)
        more = {"name": name} if caller is not None and caller.params.name != name else None
        answer, dialogue = await self.exchange("tools/call", raw, caller, may_repeat=may_repeat, more=more)
        return relayed(
            name,
            answer,
            modern=dialogue.modern,
            server_info=server_info(dialogue),
            relax=self.mode_of(name) == "relax",
            by_mcp=caller is not None,
        )

    def mode_of(self, name: str) -> str:
        """Return the validation mode of a tool."""
        return self.modes.get(name) or self.modes.get("", "enforce")

    async def exchange(
        self,
        method: str,
        raw: Raw,
        caller: RpcRequest | None,
        *,
        may_repeat: bool = True,
        more: Mapping[str, Any] | None = None,
    ) -> tuple[Answer, Dialogue]:
        """Return the server's answer to a request, and the dialogue that it came in.

        A request that a server may have got is sent to its successor only if it changes nothing.
        """
        await self._enter()
        try:
            for is_last in (False, True):
                dialogue = await self._dialogue_for(caller)
                self._check_lock(method, raw, more)
                try:
                    answer = await self._converse(dialogue, method, raw, caller, more)
                except LostError as error:
                    if is_last or (error.was_sent and not may_repeat):
                        raise self._lost(method, error, may_repeat=may_repeat) from None
                    continue
                finally:
                    if self.spec.pool == "call":
                        await dialogue.close()
                return answer, dialogue
        finally:
            self._turns.release()
        raise AssertionError("the second try returns or raises")

    def _check_lock(self, method: str, raw: Raw, more: Mapping[str, Any] | None) -> None:
        """Raise Fault if the lock blocks what a request names."""
        if not self.blocked or method not in LOCKED:
            return
        kind, member = LOCKED[method]
        named = (more or {}).get(member) or msgspec.json.decode(members(raw).get(member, b'""'))
        why = self.blocked.get((kind, named)) if isinstance(named, str) else None
        if why is not None:
            data = {"retryable": False}
            raise Fault(Code.UNAUTHORIZED, why, name="BLOCKED_BY_LOCK", status=403, as_tool_result=True, data=data)

    async def _enter(self) -> None:
        """Wait for a turn; refuse where too many wait already."""
        if self._turns.locked():
            if self._waiting >= MAX_WAITING:
                message = f"{MAX_WAITING} requests wait for {self.name} already: ask again when one has ended"
                raise Fault(Code.INTERNAL_ERROR, message, as_tool_result=False)
            self._waiting += 1
            try:
                await self._turns.acquire()
            finally:
                self._waiting -= 1
        else:
            await self._turns.acquire()

    async def _dialogue_for(self, caller: RpcRequest | None) -> Dialogue:
        if self.spec.pool == "call":
            return await self.pool.single(partial(self._begin, caller))
        return await self.dialogue(caller)

    async def _converse(
        self, dialogue: Dialogue, method: str, raw: Raw, caller: RpcRequest | None, more: Mapping[str, Any] | None
    ) -> Answer:
        if not dialogue.modern:
            return await self._converse_in_handshake(dialogue, method, raw, caller, more)
        meta = dialogue.modern_meta(_capabilities_of(caller), self.level_of(caller))
        for _ in range(MAX_ROUNDS):
            exchange = dialogue.start(method, raw, caller, meta=meta, more=more, param_headers=_param_headers(caller))
            answer = await self._reply(dialogue, exchange)
            parts = members(answer.result)
            if bytes(parts.get("resultType", b"")) != b'"input_required"' or caller is None or caller.era.modern:
                return answer
            responses = await self._ask_all(members(parts.get("inputRequests")), caller)
            if isinstance(responses, Answer):
                return responses
            state = {"requestState": parts["requestState"]} if "requestState" in parts else {}
            more = {**(more or {}), "inputResponses": responses, **state}
        why = f"the server asked more than {MAX_ROUNDS} times in one call"
        return Answer(error=Raw(error_object(INTERNAL, why)))

    async def _ask_all(self, asked: dict[str, Raw], caller: RpcRequest) -> dict[str, Raw] | Answer:
        """Return the answers of a caller of the handshake era, or the error with which it refuses one."""
        waiting = {}
        for key, one in asked.items():
            parts = members(one)
            method = msgspec.json.decode(parts.get("method", b'""'))
            if not caller.channel.can_ask:
                return Answer(error=Raw(error_object(INTERNAL, "the caller takes no requests before its reply")))
            _, waiting[key] = self._asker.ask(
                caller.channel.notify, caller.channel, str(method), parts.get("params", Raw(b"{}"))
            )
        answers: dict[str, Raw] = {}
        try:
            for key, pending in waiting.items():
                answer = await pending
                if answer.result is None:
                    return Answer(error=answer.error)
                answers[key] = answer.result
        finally:
            for pending in waiting.values():
                pending.cancel()
        return answers

    async def _converse_in_handshake(
        self, dialogue: Dialogue, method: str, raw: Raw, caller: RpcRequest | None, more: Mapping[str, Any] | None
    ) -> Answer:
        exchange = self._resumed(caller)
        if exchange is None:
            self._set_level(dialogue, caller)
            exchange = dialogue.start(method, raw, caller, more=more)
        else:
            exchange.request, dialogue = caller, exchange.dialogue
        if method not in ASKING or (caller is not None and not caller.era.modern):
            return await self._reply(dialogue, exchange)
        # The caller cannot be asked before this request is answered.
        exchange.asked = asyncio.Event()
        if exchange.questions:
            exchange.asked.set()
        asked = asyncio.ensure_future(exchange.asked.wait())
        first: list[asyncio.Future[Any]] = [exchange.reply, asked]
        try:
            await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            dialogue.forget(exchange)
            raise
        finally:
            asked.cancel()
        if exchange.reply.done():
            return exchange.reply.result()
        if caller is not None:
            return Answer(Raw(self._rounds.hold(exchange, caller)))
        questions = {
            f"question-{n}": {"method": q.method, "params": q.params} for n, q in enumerate(exchange.questions, 1)
        }
        dialogue.forget(exchange, "the caller cannot be asked")
        return Answer(Raw(encode({"resultType": "input_required", "inputRequests": questions})))

    def _resumed(self, caller: RpcRequest | None) -> Exchange | None:
        if caller is None or not caller.era.modern or b"requestState" not in bytes(caller.raw):
            return None
        state = msgspec.json.decode(members(caller.raw).get("requestState", b'""'))
        return self._rounds.resume(state, caller) if isinstance(state, str) and state else None

    @staticmethod
    async def _reply(dialogue: Dialogue, exchange: Exchange) -> Answer:
        try:
            return await exchange.reply
        except asyncio.CancelledError:
            dialogue.forget(exchange)
            raise

    def _asked(self, question: Question) -> None:
        """Bring a question of the server to the caller that it is for, or refuse it with the reason."""
        dialogue = question.dialogue
        exchange = asking_exchange(dialogue)
        if exchange is not None:
            place(question, exchange, self._asker)
            return
        standing = [one for one in self._listeners.sessions() if one.notify is not None]
        if not any(one.method in ASKING for one in dialogue.exchanges.values()) and len(standing) == 1:
            self._asker.pass_on(question, standing[0].notify, standing[0])  # type: ignore[arg-type]
            return
        why = "it cannot be told which caller the question is for"
        question.answer(error=error_object(INTERNAL, why))
        self._listeners.log("server.question_refused", method=question.method, why=why)

    def level_of(self, caller: RpcRequest | None) -> str:
        """Return the log level that a caller wants, in the modern era with each request, else by its session."""
        if caller is None:
            return ""
        if caller.era.modern:
            level = members(members(caller.raw).get("_meta")).get("io.modelcontextprotocol/logLevel")
            value = msgspec.json.decode(level) if level is not None else ""
            return value if isinstance(value, str) else ""
        return self.levels.get(owner_of(caller), "")

    def _set_level(self, dialogue: Dialogue, caller: RpcRequest | None) -> None:
        """Set the log level that a caller of the modern era wants, at a server of the handshake era."""
        if caller is None or not caller.era.modern or "logging" not in members(dialogue.hello.get("capabilities")):
            return
        level = self.level_of(caller)
        if level and level != dialogue.level:
            dialogue.level = level
            dialogue.start("logging/setLevel", encode({"level": level}))

    def _lost(self, method: str, error: LostError, *, may_repeat: bool) -> Fault:
        happened = "it was not carried out" if not error.was_sent else "it may have happened"
        message = f"the server {self.name} was gone before it answered {method} ({error}); {happened}"
        data = {"retryable": may_repeat or not error.was_sent}
        return Fault(Code.INTERNAL_ERROR, message, name="SERVER_LOST", status=502, as_tool_result=False, data=data)

    async def close(self) -> None:
        """End all running instances."""
        await self.pool.close()

    async def snapshot(self, caller: RpcRequest | None) -> Snapshot:
        """Return everything that the server says about itself; raise Fault if it cannot be asked."""
        return await self._snapshot_of(await self.dialogue(caller))

    async def _snapshot_of(self, dialogue: Dialogue) -> Snapshot:
        async def ask(method: str, params: Raw) -> Answer:
            meta = dialogue.modern_meta({}) if dialogue.modern else None
            exchange = dialogue.start(method, params, meta=meta)
            async with asyncio.timeout(LIST_S):
                return await self._reply(dialogue, exchange)

        try:
            return await take_snapshot(dialogue, ask)
        except (ValueError, LostError) as error:
            message = f"the server {self.name} cannot be listed: {error}"
            raise Fault(Code.INTERNAL_ERROR, message, status=502, as_tool_result=False) from None

    def introduced(self, dialogue: Dialogue) -> Snapshot:
        """Return how a running instance introduced itself, without its lists."""
        return introduction_of(dialogue)

    def runner(self, name: str, annotations: Mapping[str, bool]) -> Callable[[Any, Any], Any]:
        """Return what calls a tool."""
        return partial(self.call, name, annotations)


def _capabilities_of(caller: RpcRequest | None) -> Any:
    """Return what a caller declares; one through another door than MCP cannot be asked."""
    if caller is None:
        return {}
    declared = caller.meta.capabilities if caller.era.modern else caller.channel.agreement.capabilities
    return declared if declared is not UNSET else {}


def _param_headers(caller: RpcRequest | None) -> tuple[tuple[str, str], ...]:
    """Return the headers that repeat arguments, of a caller over HTTP."""
    headers = caller.channel.headers if caller is not None else {}
    return tuple([(name, value) for name, value in headers.items() if name.startswith("mcp-param-")])
