"""Questions of a server to its caller: which call each belongs to, and how the caller is asked.

a caller of the handshake era ── a request of ours, on the stream of its call; its response is the answer
a caller of the modern era ───── the call is answered with the questions and held; the next request has the answers
any other door ───────────────── the call is refused, with the questions
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from secrets import token_hex, token_urlsafe
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw

from signet.kernel.channel import ClientChannel, Session
from signet.kernel.errors import INPUT_REQUIRED, INTERNAL, METHOD_NOT_FOUND, MISSING_CAPABILITY, Code, Fault
from signet.kernel.relay import RpcRequest
from signet.kernel.wire import Frame, encode
from signet.mcp.messages import error_object, members, notification, on_one_line, request
from signet.mcp.session import Answer, ClientSession, PendingRequest, ServerRequest
from signet.system.canonical_json import comparable
from signet.system.places import Shares

from .attribution import note_asker
from .sent_params import check_answer

__all__ = [
    "NEEDS",
    "Asker",
    "HeldCalls",
    "declares",
    "missing_capability",
    "place",
    "questions_fault",
]

HOLD_S: Final = 600.0
"""How long a call that waits for its caller's answers is kept."""
MAX_HELD: Final = 1024
MAX_ASKED: Final = 4096
UNSURE_S: Final = 2.0
"""How long a question waits until it is known which call of a client of the modern era it came in."""
TOO_MANY: Final = "too many questions wait for an answer"
NEEDS: Final = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}
"""The capability of a client that answers each question."""


def declares(capabilities: object, method: str) -> bool:
    """Return whether a client with these capabilities answers a question."""
    return isinstance(capabilities, Mapping) and NEEDS.get(method) in capabilities


class _Asked(msgspec.Struct, frozen=True):
    holder: str
    answer: asyncio.Future[Answer]
    session: str
    principal: object


class Asker:
    """Asks callers of the handshake era, and takes their responses."""

    def __init__(self) -> None:
        self._asked: dict[str, _Asked] = {}
        self._shares = Shares("open questions", MAX_ASKED)
        self._next = 0

    def ask(
        self, notify: Callable[[bytes], None], channel: ClientChannel | Session, method: str, params: Raw
    ) -> tuple[str, asyncio.Future[Answer]]:
        """Send a question; return its id and a future of the answer."""
        self._next += 1
        number = f"signet-{self._next}-{token_hex(8)}"
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        holder = channel.holder if isinstance(channel, Session) else channel.caller.holder
        if not self._shares.take(holder):
            answer.set_result(Answer(error=Raw(error_object(INTERNAL, TOO_MANY))))
            return number, answer
        if isinstance(channel, Session):
            self._asked[number] = _Asked(holder, answer, channel.id, None)
        else:
            self._asked[number] = _Asked(holder, answer, channel.agreement.id, channel.caller.principal)
        answer.add_done_callback(lambda _: self._forget(number))
        notify(request(number, method, on_one_line(params)))
        return number, answer

    def _forget(self, number: str) -> None:
        asked = self._asked.pop(number, None)
        if asked is not None:
            self._shares.give_back(asked.holder)

    def receive(self, frame: Frame, channel: ClientChannel) -> None:
        """Take the response of a client, if it answers a question to that client."""
        asked = self._asked.get(frame.id) if isinstance(frame.id, str) else None
        if asked is None or asked.answer.done():
            return
        is_same = asked.session == channel.agreement.id if asked.session else True
        if not is_same or (asked.principal is not None and asked.principal != channel.caller.principal):
            return
        error = frame.error if frame.error is not UNSET else None
        answer = Answer(None if error is not None else Raw(bytes(frame.result)), error)  # type: ignore[arg-type]
        why = check_answer(answer.result or answer.error or Raw(b"{}"))
        if why:
            answer = Answer(error=Raw(error_object(INTERNAL, f"the caller's answer cannot be passed on: {why}")))
        # A large message is handled in a thread.
        asked.answer.get_loop().call_soon_threadsafe(_settle, asked.answer, answer)

    def pass_on(
        self, question: ServerRequest, notify: Callable[[bytes], None], channel: ClientChannel | Session
    ) -> None:
        """Ask the caller what the server asks, and send its answer to the server."""
        question.holder = channel.holder if isinstance(channel, Session) else channel.caller.holder
        if not question.dialogue.leaves_room(question.holder):
            question.answer(error=error_object(INTERNAL, TOO_MANY))
            return
        number, answer = self.ask(notify, channel, question.method, question.params)
        if isinstance(channel, Session):
            # No request ends with it.
            why = "nobody answered in time"
            timer = asyncio.get_running_loop().call_later(HOLD_S, question.give_up, why)
            answer.add_done_callback(lambda _: timer.cancel())

        def answered(done: asyncio.Future[Answer]) -> None:
            if done.cancelled():
                question.answer(error=error_object(INTERNAL, "the caller does not wait for this call any more"))
                return
            reply = done.result()
            result = on_one_line(reply.result) if reply.result is not None else None
            question.answer(result=result, error=None if reply.error is None else on_one_line(reply.error))

        answer.add_done_callback(answered)
        question.withdraw = lambda: self._withdraw(number, answer, notify)

    def end(self, session: str) -> None:
        """Wait no more for the answers of a session that has ended."""
        for asked in [one for one in self._asked.values() if one.session == session]:
            asked.answer.cancel()

    @staticmethod
    def _withdraw(number: str, answer: asyncio.Future[Answer], notify: Callable[[bytes], None]) -> None:
        if not answer.done():
            answer.cancel()
            notify(notification("notifications/cancelled", encode({"requestId": number})))


def _settle(future: asyncio.Future[Answer], answer: Answer) -> None:
    if not future.done():
        future.set_result(answer)


class HeldCall(msgspec.Struct, eq=False):
    """A call that waits for the next message of its caller."""

    exchange: PendingRequest
    questions: dict[str, ServerRequest]
    principal: object
    holder: str
    digest: bytes
    timer: asyncio.TimerHandle


class HeldCalls:
    """The calls that are held open between two requests of callers of the modern era."""

    def __init__(self, on_dropped: Callable[[ClientSession], None]) -> None:
        self._held: dict[str, HeldCall] = {}
        self._shares = Shares("held calls", MAX_HELD)
        self._on_dropped = on_dropped

    def holds(self, dialogue: ClientSession) -> bool:
        """Return whether a call of a dialogue is held."""
        return any(one.exchange.dialogue is dialogue for one in self._held.values())

    def hold(self, exchange: PendingRequest, caller: RpcRequest) -> bytes:
        """Hold a call whose server asks something; return the result that asks the caller.

        Where its holder may have no more calls or open questions, its oldest give way.

        Raises:
            Fault: the calls of others have all places.
        """
        holder = caller.channel.caller.holder
        if not self._shares.has_room(holder) and self._shares.of(holder):
            self._drop(next(state for state, held in self._held.items() if held.holder == holder))
        if not self._shares.take(holder):
            exchange.dialogue.forget(exchange, "too many calls wait for answers")
            why = "too many calls wait for the answers of their callers: try again later"
            raise Fault(Code.INTERNAL_ERROR, why, status=503, as_tool_result=False)
        for question in exchange.questions:
            question.holder = holder
        self._leave_room(exchange.dialogue, holder)
        state = token_urlsafe(32)
        questions = {f"question-{number}": one for number, one in enumerate(exchange.questions, 1)}
        exchange.questions.clear()
        exchange.is_held = True
        timer = asyncio.get_running_loop().call_later(HOLD_S, self._drop, state)
        held = HeldCall(exchange, questions, caller.channel.caller.principal, holder, _digest(caller), timer)
        self._held[state] = held
        exchange.end_turn()  # its caller may never come back
        return input_required(questions, state)

    def _leave_room(self, dialogue: ClientSession, holder: str) -> None:
        """Give up the oldest calls of a holder until its questions leave room for those to others."""
        mine = [
            state for state, one in self._held.items() if one.holder == holder and one.exchange.dialogue is dialogue
        ]
        for state in mine:
            if dialogue.leaves_room(holder):
                return
            self._drop(state)

    def find(self, state: str, caller: RpcRequest) -> PendingRequest | None:
        """Return the held call that a state stands for; None if it is not ours, or another caller's.

        Raises:
            Fault: it is another call's.
        """
        held = self._held.get(state)
        if held is None or held.principal != caller.channel.caller.principal:
            return None
        if held.digest != _digest(caller):
            raise Fault(Code.INVALID_INPUT, "the requestState belongs to another call", as_tool_result=False)
        return held.exchange

    def resume(self, state: str, caller: RpcRequest) -> PendingRequest | None:
        """Return the call that a state stands for, with its answers sent to the server; None if it is not ours.

        Raises:
            Fault: it is another call's, or an answer is missing.
        """
        held = self._held.get(state)
        if self.find(state, caller) is None or held is None:
            return None
        answers = members(members(caller.raw).get("inputResponses"))
        missing = [key for key in held.questions if key not in answers]
        if missing:
            raise Fault(Code.INVALID_INPUT, f"inputResponses lacks {missing[0]}", as_tool_result=False)
        held.timer.cancel()
        del self._held[state]
        self._shares.give_back(held.holder)
        held.exchange.is_held = False
        for key, question in held.questions.items():
            question.answer(result=on_one_line(answers[key]))
        return held.exchange

    def _drop(self, state: str) -> None:
        held = self._held.pop(state, None)
        if held is not None:
            self._shares.give_back(held.holder)
            held.timer.cancel()
            why = "the caller did not answer in time"
            for question in held.questions.values():
                question.give_up(why)
            held.exchange.dialogue.forget(held.exchange, why)
            self._on_dropped(held.exchange.dialogue)


def _digest(caller: RpcRequest) -> bytes:
    """Return what tells one call from another: its method and its params, but for those of a round."""
    from hashlib import sha256

    parts = members(caller.raw)
    kept = {key: msgspec.json.decode(value) for key, value in parts.items() if key in {"name", "arguments", "uri"}}
    return sha256(caller.method.encode() + comparable(kept)).digest()


def input_required(questions: Mapping[str, ServerRequest], state: str) -> bytes:
    """Return the result that asks a caller of the modern era."""
    asked = {key: {"method": one.method, "params": one.params} for key, one in questions.items()}
    return encode({"resultType": "input_required", "inputRequests": asked, "requestState": state})


def questions_fault(tool: str, questions: Mapping[str, Any]) -> Fault:
    """Return the fault for a call through a door whose callers cannot be asked; it holds the questions."""
    message = f"{tool} asks its caller something, and this door cannot carry the answer: call it through MCP"
    data = {"inputRequests": questions}
    return Fault(Code.INVALID_INPUT, message, name=INPUT_REQUIRED, status=422, data=data)


def missing_capability(method: str) -> bytes:
    """Return the error for a caller of the modern era that does not declare what a question needs."""
    needed = NEEDS[method]
    data: dict[str, Any] = {"requiredCapabilities": {needed: {}}}
    return error_object(MISSING_CAPABILITY, f"Missing required client capability: {needed}", data)


def place(question: ServerRequest, exchanges: list[PendingRequest], asker: Asker) -> None:
    """Bring a question to the caller of the exchanges that it may belong to; it ends with the last of them.

    Of the exchanges, which are of one client, the first whose caller can be asked takes it. In the modern era the
    answer to one call must ask it: where that could be the wrong call, the others have a short time to end.
    """
    question.exchanges = exchanges
    for exchange in exchanges:
        exchange.reply.add_done_callback(partial(_ended, question, exchange, asker))
    if _is_sure(question):
        _deliver(question, asker)
    else:
        question.timer = asyncio.get_running_loop().call_later(UNSURE_S, _deliver, question, asker)


def _is_sure(question: ServerRequest) -> bool:
    """Return whether it is known which call a question came in, or its caller need not know."""
    first = question.exchanges[0]
    is_modern = first.request is not None and first.request.era.modern
    return not is_modern or len(question.exchanges) == 1 or (first.method, first.name) in first.dialogue.askers


def _ended(question: ServerRequest, exchange: PendingRequest, asker: Asker, _: object) -> None:
    """Go on with a question that may have come in an exchange that has ended: it came in one of the others."""
    question.exchanges = left = [one for one in question.exchanges if one is not exchange]
    if not question.is_open:
        return
    if not left:
        question.give_up("the request in which it was asked has ended")
        return
    note_asker(question.dialogue, left)
    if question in exchange.questions:
        exchange.questions.remove(question)
        _deliver(question, asker)
    elif question.timer is not None and _is_sure(question):
        _deliver(question, asker)


def _deliver(question: ServerRequest, asker: Asker) -> None:
    if question.timer is not None:
        question.timer.cancel()
        question.timer = None
    if not question.is_open:
        return
    exchange = next((one for one in question.exchanges if _can_be_asked(one, question.method)), None)
    if exchange is None:
        question.answer(error=error_object(METHOD_NOT_FOUND, f"the caller declares no {NEEDS[question.method]}"))
        only = question.exchanges[0]
        if len(question.exchanges) == 1 and only.request is not None and only.request.era.modern:
            only.dialogue.settle(only, Answer(error=Raw(missing_capability(question.method))))
    elif exchange.request is None or exchange.request.era.modern:
        exchange.questions.append(question)
        if exchange.asked is not None:
            exchange.asked.set()
    else:
        asker.pass_on(question, exchange.request.channel.notify, exchange.request.channel)


def _can_be_asked(exchange: PendingRequest, method: str) -> bool:
    """Return whether the caller of an exchange answers a question; one through another door is told the question."""
    caller = exchange.request
    if caller is None:
        return True
    if caller.era.modern:
        return declares(caller.meta.capabilities, method)
    return declares(caller.channel.agreement.capabilities, method) and caller.channel.can_ask
