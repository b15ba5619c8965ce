"""A dialogue: requests and replies with one running instance of a server, in the era that was settled with it.

caller's request ── PendingRequest (id of our own) ── Link ── the server
                        ▲ progress, questions ──────────┘
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw

from signet import __version__
from signet.kernel.caller import holder_now
from signet.kernel.channel import Session
from signet.kernel.errors import INTERNAL, METHOD_NOT_FOUND
from signet.kernel.protocol import CAPABILITIES_KEY, VERSION_KEY
from signet.kernel.relay import RpcRequest
from signet.kernel.wire import MessageHead
from signet.system.places import FairTurns

from .link import Link, Outgoing
from .messages import (
    CLIENT_INFO_KEY,
    OUTLINE_BYTES,
    error_object,
    is_a,
    members,
    name_in,
    notification,
    number_of,
    outline_of,
    parse_incoming,
    request,
    response,
    rewritten_params,
    value_of,
)
from .quiet_names import QuietNames
from .snapshot import server_info_of

__all__ = ["CLIENT_INFO", "Answer", "ClientSession", "LostError", "PendingRequest", "ServerRequest"]

CLIENT_INFO: Final = {"name": "signet", "version": __version__}
QUESTIONS: Final = frozenset({"elicitation/create", "sampling/createMessage", "roots/list"})
"""The requests of a server that are passed on to the caller."""
OTHER_DOOR: Final = "another door"
"""The holder of calls through other doors than MCP, whose callers are unknown."""
MAX_QUESTIONS: Final = 256
"""The questions of one instance that may be open at once; a caller leaves as many as it has to others."""
MAX_OPEN_BYTES: Final = 64 << 20
"""The most that a question may have times the number of those that are open already."""


class LostError(Exception):
    """The server was gone before it answered; the text says why, `was_sent` whether it may have got the request."""

    def __init__(self, why: str, *, was_sent: bool = True) -> None:
        super().__init__(why)
        self.was_sent = was_sent


class Answer(msgspec.Struct, frozen=True, gc=False):
    """The reply to a request: one of both members is there."""

    result: Raw | None = None
    error: Raw | None = None


class ServerRequest(msgspec.Struct, eq=False):
    """A request of the server that the caller answers."""

    dialogue: ClientSession
    id: int | str
    method: str
    params: Raw
    is_open: bool = True
    exchanges: list[PendingRequest] = msgspec.field(default_factory=list)
    """The exchanges under way in one of which it came."""
    timer: asyncio.TimerHandle | None = None
    """Brings it to the likeliest of them; None as soon as it was brought."""
    holder: str = ""
    """Whose share of the open questions it uses, as soon as it was brought."""
    withdraw: Callable[[], None] | None = None
    """Tell the caller that its answer is not needed any more, where it was asked."""

    def give_up(self, why: str) -> None:
        """Tell the server that nobody answers, and the caller that nobody waits."""
        if self.is_open:
            if self.withdraw is not None:
                self.withdraw()
            self.answer(error=error_object(INTERNAL, why))

    def take_back(self) -> None:
        """Tell the caller, where it was asked, that the server does not wait for its answer any more."""
        self.is_open = False
        if self.withdraw is not None:
            self.withdraw()

    def answer(self, *, result: bytes | None = None, error: bytes | None = None) -> None:
        """Send the caller's answer; once."""
        if self.is_open:
            self.is_open = False
            self.dialogue.questions.pop(self.id, None)
            self.dialogue.send_response(self.id, result=result, error=error)


class PendingRequest(msgspec.Struct, eq=False):
    """A request that is under way, and whoever waits for it."""

    id: int
    method: str
    dialogue: ClientSession
    request: RpcRequest | None
    """The caller's request; None through doors other than MCP, and for those of our own."""
    reply: asyncio.Future[Answer]
    questions: list[ServerRequest] = msgspec.field(default_factory=list)
    """What the server has asked in this exchange and nobody has answered."""
    asked: asyncio.Event | None = None
    """Set with each question, where somebody waits for it."""
    name: str = ""
    """The tool or prompt that it names."""
    is_suspect: bool = False
    """Whether a question that was refused may have been of this exchange."""
    is_held: bool = False
    """Whether it waits for its caller's answers, between two requests of the caller."""
    is_serial: bool = False
    """Whether it is one of those that go on one at a time."""
    turn_of: str | None = None
    """Whose turn it has, as long as it has one."""

    async def take_turn(self) -> None:
        """Wait until it is this exchange's turn."""
        holder = holder_now() if self.request is None else self.request.channel.caller.holder
        await self.dialogue.turn.take(holder)
        self.turn_of = holder

    def end_turn(self) -> None:
        """Let the next exchange go on, if it is this one's turn."""
        if self.turn_of is not None:
            holder, self.turn_of = self.turn_of, None
            self.dialogue.turn.give_back(holder)


class Hooks(msgspec.Struct, frozen=True):
    """Who is told of what a server says by itself."""

    notified: Callable[[ClientSession, str, Raw], None]
    asked: Callable[[ServerRequest], None]
    lost: Callable[[ClientSession, str], None]
    log: Callable[..., None]


class ClientSession:
    """The requests that are under way with one running server."""

    def __init__(self, link: Link, hooks: Hooks, owner: str | None = None) -> None:
        """Speak over a link; `owner` is the session whose own server it is, None if it is of all."""
        self.owner = owner
        self._link = link
        self._write: Callable[[bytes], None] | None = None
        """Sends a text, where the link needs no more of a message."""
        self._hooks = hooks
        self._next = 0
        self.exchanges: dict[Any, PendingRequest] = {}
        """By the ids of ours; a server may answer with any."""
        self.questions: dict[int | str, ServerRequest] = {}
        self.modern = False
        self.version = ""
        self.hello: dict[str, Raw] = {}
        """The result of `initialize` or `server/discover`."""
        self.server_info = server_info_of({})
        """How the server names itself, in either era."""
        self.is_lost = False
        self.why_lost = ""
        self.askers: set[tuple[str, str]] = set()
        """The requests in which the server has asked its caller something: the method, and the tool or prompt."""
        self.suspects: set[tuple[str, str]] = set()
        """The requests of which one has asked, it is not known which; they are made one at a time."""
        self.quiet = QuietNames()
        """The requests that were answered without a question, likewise."""
        self._holders: set[str] = set()
        """Whose shares its requests used; two are enough to know that it is of several."""
        self.level = ""
        """The log level that was set last, in the handshake era."""
        self.turn = FairTurns("turns of calls that ask", 1)
        """Held by the one request during which a server that several callers share may ask."""
        self._strays = 0
        self.blocked: Mapping[tuple[str, str], str] = {}
        """What the lock blocks of this instance."""
        self.is_changed = False
        """Whether its lists changed since they were compared with the lock."""
        self.judging: asyncio.Future[None] | None = None
        """The comparison that is being made."""

    def settle_era(self, hello: dict[str, Raw], version: str, *, modern: bool) -> None:
        """Take the era that both sides speak, and what the server said of itself in it."""
        self.modern, self.version, self.hello = modern, version, hello
        self.server_info = server_info_of(hello)

    async def open(self) -> None:
        """Open the link; raise LinkError if that fails."""
        self._write = await self._link.open(self.receive, self._lost, self._fail_requests)

    async def close(self) -> None:
        """End the server; requests that are under way fail."""
        self._fail("it was ended")
        await self._link.close()

    def start(
        self,
        method: str,
        raw: Raw | bytes,
        caller: RpcRequest | None = None,
        *,
        meta: Mapping[str, Any] | None = None,
        more: Mapping[str, Any] | None = None,
        param_headers: tuple[tuple[str, str], ...] = (),
    ) -> PendingRequest:
        """Send a request and return the exchange; its reply is a future."""
        self._next = number = self._next + 1
        reply: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        exchange = PendingRequest(number, method, self, caller, reply)
        if self.is_lost:
            reply.set_exception(LostError(self.why_lost, was_sent=False))
            reply.exception()  # nobody may wait for it
            return exchange
        self.exchanges[number] = exchange
        if len(self._holders) <= 1 and (caller is not None or method == "tools/call"):
            self._holders.add(caller.channel.caller.holder if caller is not None else OTHER_DOOR)
        hop = dict(meta or {})
        if caller is not None and caller.meta.progress_token is not UNSET:
            hop["progressToken"] = number
        params = rewritten_params(raw, hop, more)
        text = request(number, method, params)
        if self._write is not None:
            self._write(text)
        else:
            name = "" if not self.modern else name_in(method, params)
            self._link.send(Outgoing(text, method, name, self.version, number, param_headers))
        return exchange

    def served_none_but(self, session: Session) -> bool:
        """Return whether all requests were of the holder of a session: a late question may be of any of them."""
        known = {session.holder} if session.principal is not None else {session.holder, OTHER_DOOR}
        return self._holders <= known

    def leaves_room(self, holder: str) -> bool:
        """Return whether the open questions to a holder, with a new one, leave room for those to others."""
        mine = sum(one.holder == holder for one in self.questions.values())
        return not holder or len(self.questions) + mine - 1 <= MAX_QUESTIONS

    def modern_meta(self, capabilities: object, level: str = "") -> dict[str, Any]:
        """Return the `_meta` that a request of the modern era must carry."""
        meta = {VERSION_KEY: self.version, CLIENT_INFO_KEY: CLIENT_INFO, CAPABILITIES_KEY: capabilities}
        return {**meta, "io.modelcontextprotocol/logLevel": level} if level else meta

    def forget(self, exchange: PendingRequest, why: str = "the caller gave it up") -> None:
        """Cancel a request that nobody waits for any more."""
        if self.exchanges.pop(exchange.id, None) is None:
            return
        for question in [one for one in exchange.questions if one.exchanges == [exchange]]:
            question.answer(error=error_object(INTERNAL, why))
        if not exchange.reply.done():
            exchange.reply.cancel()
        if not self.is_lost and exchange.method != "initialize":
            self.notify("notifications/cancelled", msgspec.json.encode({"requestId": exchange.id, "reason": why}))
            self._link.cancel(exchange.id)

    def settle(self, exchange: PendingRequest, answer: Answer) -> None:
        """End a request with an answer of our own, and cancel it at the server."""
        if not exchange.reply.done():
            exchange.reply.set_result(answer)
        self.forget(exchange)

    def notify(self, method: str, params: bytes = b"") -> None:
        """Send a notification."""
        if not self.is_lost:
            self._link.send(Outgoing(notification(method, params), method, version=self.version))

    def send_response(self, number: int | str, *, result: bytes | None = None, error: bytes | None = None) -> None:
        """Send the response to a request of the server."""
        if not self.is_lost:
            self._link.send(Outgoing(response(number, result=result, error=error), version=self.version))

    def receive(self, text: bytes) -> None:
        """Take one message of the server; what is no message is counted and passed over."""
        try:
            message = parse_incoming(text)
            if message.method is UNSET:
                self._replied(message)
            elif message.id is UNSET:
                self._notified(message.method, message.params)
            elif isinstance(message.id, int | str):
                self._asked(message.id, message.method, message.params)
        except (ValueError, TypeError, RecursionError) as error:
            self._stray(text, error)

    def _replied(self, message: MessageHead) -> None:
        # Of a server that writes 1.0 for 1, both are one key.
        exchange = self.exchanges.pop(message.id, None)
        if exchange is None:
            self._hooks.log("server.stray_reply", id=str(message.id)[:50])
        elif not exchange.reply.done():
            exchange.reply.set_result(_answer_of(message))

    def _notified(self, method: str, params: Raw) -> None:
        if method == "notifications/cancelled":
            named = value_of(members(params).get("requestId"))
            question = self.questions.pop(named, None) if isinstance(named, int | str) else None
            if question is not None:
                question.take_back()
        self._hooks.notified(self, method, params)

    def _asked(self, number: int | str, method: str, params: Raw) -> None:
        if method == "ping":
            self.send_response(number, result=b"{}")
        elif method not in QUESTIONS or number in self.questions:
            self.send_response(number, error=error_object(METHOD_NOT_FOUND, "Method not found"))
        elif len(self.questions) >= MAX_QUESTIONS or len(self.questions) * len(bytes(params)) > MAX_OPEN_BYTES:
            self.send_response(number, error=error_object(INTERNAL, "too many questions wait for an answer"))
        else:
            question = self.questions[number] = ServerRequest(self, number, method, params)
            self._hooks.asked(question)

    def _stray(self, text: bytes, error: Exception) -> None:
        """Pass over a line that is no message, unless a call seems to wait for it."""
        outline = outline_of(text[:OUTLINE_BYTES], text[-OUTLINE_BYTES:])
        exchange = self.exchanges.pop(number_of(outline.id), None) if outline.is_reply else None
        if exchange is not None and not exchange.reply.done():
            why = f"the server's answer is no JSON-RPC message ({str(error)[:200]})"
            exchange.reply.set_result(Answer(error=Raw(error_object(INTERNAL, why))))
            return
        self._strays += 1
        if self._strays == 1:
            self._hooks.log("server.stray_line", bytes=len(text), why=str(error)[:200])

    def _fail_requests(self, why: str) -> None:
        """End all requests that the server may have answered: its answer to one of them cannot be read."""
        for exchange in [one for one in self.exchanges.values() if not one.is_held]:
            self.settle(exchange, Answer(error=Raw(error_object(INTERNAL, why))))

    def _lost(self, why: str) -> None:
        self._fail(why)
        self._hooks.lost(self, why)

    def _fail(self, why: str) -> None:
        self.is_lost, self.why_lost = True, self.why_lost or why
        exchanges, self.exchanges = self.exchanges, {}
        for question in [*self.questions.values()]:
            question.take_back()
        self.questions.clear()
        for exchange in exchanges.values():
            if not exchange.reply.done():
                exchange.reply.set_exception(LostError(why))
                # Whoever waits gets it; nobody may.
                exchange.reply.exception()


def _answer_of(message: MessageHead) -> Answer:
    """Return the answer of a response; some servers write `null` for the member that is not there."""
    result = message.result if message.result is not UNSET else None
    error = message.error if message.error is not UNSET else None
    if error is None or (result is not None and bytes(error) == b"null"):
        return Answer(result)
    parts = members(error)
    if is_a(int, parts.get("code")) and is_a(str, parts.get("message")):
        return Answer(error=error)
    why = f"the server's error is no JSON-RPC error: {bytes(error)[:200].decode(errors='replace')}"
    return Answer(error=Raw(error_object(INTERNAL, why)))
