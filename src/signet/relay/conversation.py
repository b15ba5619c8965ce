"""A conversation: one request of a caller and all that it takes until the server has answered it.

The caller may be asked on the way, in either era; what it answers goes to the server, in the server's own era.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw

from signet.kernel.caller import holder_now
from signet.kernel.channel import Session
from signet.kernel.errors import INTERNAL, Code, Fault
from signet.kernel.relay import RpcRequest
from signet.kernel.wire import encode
from signet.mcp.messages import error_object, members, text_of
from signet.mcp.quiet_names import MAX_KEY_CHARS, key_of
from signet.mcp.session import Answer, ClientSession, LostError, PendingRequest, ServerRequest

from .asking import NEEDS, Asker, HeldCalls, declares, missing_capability, place
from .attribution import (
    ASKING,
    answered_quietly,
    asking_exchanges,
    holder_of,
    holder_of_session,
    may_have_asked,
    owner_of,
    owner_of_session,
)
from .tasks import Tasks

__all__ = ["LEVELS", "RequestRunner", "goes_on", "reply_to"]

MAX_ROUNDS: Final = 10
"""How often a server of the modern era may ask in one call."""

LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


class RequestRunner:
    """The conversations with one server."""

    def __init__(
        self,
        sessions: Callable[[], list[Session]],
        log: Callable[..., None],
        *,
        tasks: Tasks | None = None,
        is_shared: bool,
        on_dropped: Callable[[ClientSession], None],
    ) -> None:
        """Converse with instances that callers share, or not; `on_dropped` is told when a held call is given up."""
        self._sessions = sessions
        self._log = log
        self._tasks = tasks
        self._is_shared = is_shared
        self.asker = Asker()
        """Who asks callers of the handshake era."""
        self.rounds = HeldCalls(on_dropped)
        """The calls that wait for the answers of callers of the modern era."""
        self.levels: dict[str, str] = {}
        """The log level that each session asked for."""

    async def converse(
        self,
        dialogue: ClientSession,
        method: str,
        raw: Raw,
        caller: RpcRequest | None,
        more: Mapping[str, Any] | None,
        *,
        param_headers: tuple[tuple[str, str], ...] = (),
    ) -> Answer:
        """Return the server's answer to a request of a caller; raise LostError if the server is gone before it.

        In the handshake era, calls of tools that ask are made one at a time, so that a question can be attributed.
        `param_headers` repeat arguments over HTTP.
        """
        if dialogue.modern:
            return await self._in_modern(dialogue, method, raw, caller, more, param_headers=param_headers)
        if caller is not None and caller.era.modern:
            if goes_on(caller):
                why = "the requestState is not known any more, and the call may have happened: begin without it"
                raise Fault(Code.INVALID_INPUT, why, as_tool_result=False)
            self._set_level(dialogue, caller)
        name = _name_in(raw, caller, more) if method in ASKING else ""
        is_quiet = not self._is_shared or (method, name) in dialogue.quiet
        turn_of = None if is_quiet else await _turn(dialogue, method, name, caller)
        exchange = dialogue.start(method, raw, caller, more=more)
        exchange.name = name
        if turn_of is not None:
            exchange.is_serial, exchange.turn_of = True, turn_of
            exchange.reply.add_done_callback(lambda _: exchange.end_turn())
        if not is_quiet:
            exchange.reply.add_done_callback(partial(_quiet, exchange))
        if method not in ASKING or (caller is not None and not caller.era.modern):
            return await reply_to(exchange)
        return await self.go_on(exchange, caller)

    async def _in_modern(
        self,
        dialogue: ClientSession,
        method: str,
        raw: Raw,
        caller: RpcRequest | None,
        more: Mapping[str, Any] | None,
        *,
        param_headers: tuple[tuple[str, str], ...],
    ) -> Answer:
        """Make a request, once more with each of its caller's answers."""
        meta = dialogue.modern_meta(_capabilities_of(caller), self.level_of(caller))
        for number in range(MAX_ROUNDS):
            exchange = dialogue.start(method, raw, caller, meta=meta, more=more, param_headers=param_headers)
            try:
                answer = await reply_to(exchange)
            except LostError as error:
                # The server has got the earlier rounds.
                raise LostError(str(error), was_sent=error.was_sent or number > 0) from None
            going_on = await self._next_round(answer, caller)
            if isinstance(going_on, Answer):
                return going_on
            more = {**(more or {}), **going_on}
        why = f"the server asked more than {MAX_ROUNDS} times in one call"
        return Answer(error=Raw(error_object(INTERNAL, why)))

    async def _next_round(self, answer: Answer, caller: RpcRequest | None) -> Answer | dict[str, Any]:
        """Return the answer for a caller, or the members with which a call goes on whose server asked something."""
        parts = members(answer.result)
        if bytes(parts.get("resultType", b"")) != b'"input_required"' or caller is None:
            return answer
        asked = members(parts.get("inputRequests"))
        refusal = _undeclared(asked, caller)
        if refusal is not None or caller.era.modern:
            return refusal or answer
        responses = await self._ask_all(asked, caller)
        if isinstance(responses, Answer):
            return responses
        state = {"requestState": parts["requestState"]} if "requestState" in parts else {}
        return {"inputResponses": responses, **state}

    async def _ask_all(self, asked: dict[str, Raw], caller: RpcRequest) -> dict[str, Raw] | Answer:
        """Return the answers of a caller of the handshake era, or the error with which it refuses one."""
        waiting = {}
        for key, one in asked.items():
            parts = members(one)
            method = msgspec.json.decode(parts.get("method", b'""'))
            if not caller.channel.can_ask:
                return Answer(error=Raw(error_object(INTERNAL, "the caller takes no requests before its reply")))
            _, waiting[key] = self.asker.ask(
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

    async def go_on(self, exchange: PendingRequest, caller: RpcRequest | None) -> Answer:
        """Return the reply to a request, or the questions that its caller has to answer first."""
        dialogue = exchange.dialogue
        exchange.request = caller
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
            return Answer(Raw(self.rounds.hold(exchange, caller)))
        questions = {
            f"question-{n}": {"method": q.method, "params": q.params} for n, q in enumerate(exchange.questions, 1)
        }
        dialogue.forget(exchange, "the caller cannot be asked")
        return Answer(Raw(encode({"resultType": "input_required", "inputRequests": questions})))

    async def resumed(self, caller: RpcRequest) -> PendingRequest | None:
        """Return the held call that a request goes on with; raise Fault if it is not the caller's."""
        state = _state_of(caller)
        held = self.rounds.find(state, caller)
        if held is None:
            return None
        if held.is_serial:
            await held.take_turn()
        try:
            exchange = self.rounds.resume(state, caller)
        except Fault:
            held.end_turn()
            raise
        if exchange is None or exchange.reply.done():
            held.end_turn()  # it was dropped, or the server was gone, while this waited
        return exchange

    def asked(self, question: ServerRequest) -> None:
        """Bring a question of the server to the caller that it is for, or refuse it with the reason."""
        dialogue = question.dialogue
        holder = self._tasks.holder_asked(question.params) if self._tasks is not None else None
        if holder is not None:
            self._ask_holder(question, holder)
            return
        exchanges = asking_exchanges(dialogue)
        if exchanges:
            place(question, exchanges, self.asker)
            return
        standing = [one for one in self._sessions() if one.notify is not None]
        standing = [one for one in standing if dialogue.owner in (None, owner_of_session(one))]
        why = "it cannot be told which caller the question is for"
        is_alone = len(standing) == 1 and dialogue.served_none_but(standing[0])
        if not any(one.method in ASKING for one in dialogue.exchanges.values()) and is_alone:
            if declares(standing[0].capabilities, question.method):
                self.asker.pass_on(question, standing[0].notify, standing[0])  # type: ignore[arg-type]
                return
            why = f"the caller declares no {NEEDS[question.method]}"
        self._refuse(question, why)

    def _ask_holder(self, question: ServerRequest, holder: str) -> None:
        """Bring a question of a task to the client that waits for its result, else to a session of its holder."""
        running = [one.request for one in question.dialogue.exchanges.values() if one.method == "tasks/result"]
        for caller in running:
            declared = _capabilities_of(caller)
            if caller is not None and holder_of(caller) == holder and declares(declared, question.method):
                self.asker.pass_on(question, caller.channel.notify, caller.channel)
                return
        for session in self._sessions():
            is_his = session.notify is not None and holder_of_session(session) == holder
            if is_his and declares(session.capabilities, question.method):
                self.asker.pass_on(question, session.notify, session)  # type: ignore[arg-type]
                return
        self._refuse(question, "the caller whose task asks is not there, or does not answer such questions")

    def _refuse(self, question: ServerRequest, why: str) -> None:
        question.answer(error=error_object(INTERNAL, why))
        self._log("server.question_refused", method=question.method, why=why)

    def level_of(self, caller: RpcRequest | None) -> str:
        """Return the log level that a caller wants, in the modern era with each request, else by its session."""
        if caller is None:
            return ""
        if caller.era.modern:
            return text_of(members(members(caller.raw).get("_meta")).get("io.modelcontextprotocol/logLevel"))
        return self.levels.get(owner_of(caller), "")

    def shared_level(self, dialogue: ClientSession) -> str:
        """Return the least grave level that a session of an instance asked for; each is told what it wants of it."""
        wanted = [level for owner, level in self.levels.items() if dialogue.owner in (None, owner)]
        return min(wanted, key=LEVELS.index, default="")

    def would_mute(self, dialogue: ClientSession, level: str) -> bool:
        """Return whether a level is graver than what a session may want that shares an instance and named none."""
        if not self._is_shared or LEVELS.index(level) <= LEVELS.index("info"):
            return False
        sharing = [owner_of_session(one) for one in self._sessions()]
        return any(owner not in self.levels for owner in sharing if dialogue.owner in (None, owner))

    def restore_level(self, dialogue: ClientSession) -> None:
        """Set the level that sessions asked for, at a new instance of a server of the handshake era."""
        self.set_level(dialogue, "")

    def set_level(self, dialogue: ClientSession, level: str) -> None:
        """Set the level that sessions asked for, else a given one, at an instance of the handshake era; do not wait."""
        level = self.shared_level(dialogue) or level
        if level and self.would_mute(dialogue, level):
            return
        if level and not dialogue.modern and "logging" in members(dialogue.hello.get("capabilities")):
            dialogue.level = level
            dialogue.start("logging/setLevel", encode({"level": level}))

    def _set_level(self, dialogue: ClientSession, caller: RpcRequest) -> None:
        """Set the log level that a caller of the modern era wants, at a server of the handshake era."""
        if "logging" not in members(dialogue.hello.get("capabilities")):
            return
        level = self.level_of(caller)
        if level not in LEVELS:
            return
        if self._is_shared and dialogue.level and LEVELS.index(level) > LEVELS.index(dialogue.level):
            return  # otherwise the others would get fewer notifications than they asked for
        if level != dialogue.level and not self.would_mute(dialogue, level):
            dialogue.level = level
            dialogue.start("logging/setLevel", encode({"level": level}))


def _name_in(raw: Raw, caller: RpcRequest | None, more: Mapping[str, Any] | None) -> str:
    """Return what stands for the tool or prompt that a request names, as the server knows it; else an empty text."""
    name = (more or {}).get("name")
    if name is None:
        named = members(raw).get("name") if caller is None else None
        name = getattr(caller.params, "name", "") if caller is not None else msgspec.json.decode(named or b'""')
    if not isinstance(name, str):
        return ""
    return name if len(name) <= MAX_KEY_CHARS else key_of(name)


def goes_on(caller: RpcRequest) -> bool:
    """Return whether a caller of the modern era goes on with a call."""
    return b"requestState" in bytes(caller.raw) and _state_of(caller) != ""


def _state_of(caller: RpcRequest) -> str:
    return text_of(members(caller.raw).get("requestState"))


async def _turn(dialogue: ClientSession, method: str, name: str, caller: RpcRequest | None) -> str | None:
    """Wait for a turn if a request may be asked something, and return whose it is; None if it needs none."""
    if not may_have_asked(dialogue, method, name):
        return None
    holder = holder_now() if caller is None else caller.channel.caller.holder
    await dialogue.turn.take(holder)
    if may_have_asked(dialogue, method, name):
        return holder
    # It has answered without a question meanwhile.
    dialogue.turn.give_back(holder)
    return None


def _quiet(exchange: PendingRequest, reply: asyncio.Future[Answer]) -> None:
    if not reply.cancelled() and reply.exception() is None:
        answered_quietly(exchange)


async def reply_to(exchange: PendingRequest) -> Answer:
    """Wait for the reply to a request; if the wait is given up, so is the request."""
    try:
        return await exchange.reply
    except asyncio.CancelledError:
        exchange.dialogue.forget(exchange)
        raise


def _undeclared(asked: Mapping[str, Raw], caller: RpcRequest) -> Answer | None:
    """Return the error for a caller that is asked what it does not declare, or None."""
    if not caller.era.modern and not caller.channel.agreement.version:
        return None  # it holds no session, and nobody knows what it declared
    capabilities = _capabilities_of(caller)
    for one in asked.values():
        method = msgspec.json.decode(members(one).get("method", b'""'))
        if isinstance(method, str) and method in NEEDS and not declares(capabilities, method):
            return Answer(error=Raw(missing_capability(method)))
    return None


def _capabilities_of(caller: RpcRequest | None) -> Any:
    """Return what a caller declares; one through another door than MCP cannot be asked."""
    if caller is None:
        return {}
    declared = caller.meta.capabilities if caller.era.modern else caller.channel.agreement.capabilities
    return declared if declared is not UNSET else {}
