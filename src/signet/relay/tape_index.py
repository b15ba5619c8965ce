"""The index of a tape: what followed each recorded request, as places in the file. Pure.

    request ── notifications, requests of the server, answers to them ── reply ── what came before the next message

A notification belongs to the request whose progress token or subscription it names. Any other, and a request of the
server, belongs to the only call in flight on its connection, beside which lists do not count; with several in flight
nobody can tell, and it is left out. With none it belongs to what the client sent last, and is played after it.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec

from .tape_messages import (
    SUBSCRIPTION_KEY,
    Direction,
    Head,
    Id,
    key_of,
    meta_of,
    name_of,
    params_of,
    progress_token,
    speaks_modern,
)

__all__ = ["ANSWER", "ASK", "LISTEN", "NOTE", "REPLY", "REQUEST", "Exchange", "Step", "TapeIndex"]

REQUEST, NOTE, ASK, ANSWER, REPLY = range(5)
"""The kinds of steps; an ANSWER is where the server waited for the client."""
KINDS: Final = 8
NUMBERS: Final = 3
"""The numbers that a step takes in an exchange."""
MAX_AFTER: Final = 100
"""The number of messages after a reply that are played with it."""
MAX_CALLS: Final = 1_000
"""The number of different calls of one name among which the nearest is looked for."""
LISTEN: Final = "subscriptions/listen"
CANCELLED: Final = "notifications/cancelled"
PROGRESS: Final = "notifications/progress"
UNHEARD: Final = frozenset({CANCELLED, PROGRESS})
"""Notifications of a client that concern one call of its own."""


class Step(NamedTuple):
    """One message of an exchange: what it is, and where it lies."""

    kind: int
    ask: int
    """Which request of the server this is, or answers."""
    offset: int
    length: int


class Exchange:
    """A recorded request and what followed, each message by its place."""

    __slots__ = ("_steps", "asks", "key", "method")

    def __init__(self, method: str, key: bytes) -> None:
        self.method = method
        self.key = key
        self.asks = 0
        self._steps = array("Q")

    def add(self, kind: int, offset: int, length: int, ask: int = 0) -> None:
        """Append a step."""
        self._steps.extend((ask * KINDS + kind, offset, length))

    def steps(self) -> Iterator[Step]:
        """Yield the steps in the order in which they were recorded, the request first."""
        numbers = iter(self._steps)
        for first, offset, length in zip(numbers, numbers, numbers, strict=True):
            yield Step(first % KINDS, first // KINDS, offset, length)

    def __len__(self) -> int:
        return len(self._steps) // NUMBERS

    def first(self, kind: int) -> Step | None:
        """Return the first step of a kind, or None."""
        return next((step for step in self.steps() if step.kind == kind), None)


class _Connection:
    """What is unfinished on one connection."""

    __slots__ = ("asks", "calls", "last", "listens", "tokens")

    def __init__(self) -> None:
        self.calls: dict[Id, tuple[Exchange, str, bool]] = {}
        self.listens: dict[Id, Exchange] = {}
        self.tokens: dict[Id, Exchange] = {}
        self.asks: dict[Id, tuple[Exchange, int]] = {}
        self.last: Exchange | None = None
        """What the client sent last and is answered."""


class TapeIndex:
    """The exchanges of a tape, by equal requests in the order of their replies."""

    def __init__(self) -> None:
        self.by_key: dict[bytes, list[Exchange]] = {}
        self.by_name: dict[str, dict[str, list[Exchange]]] = {}
        """By method and name, the first exchange of each different request."""
        self.initialized: list[Exchange] = []
        """The handshakes that succeeded."""
        self.has_modern = False
        self._open: dict[int, _Connection] = {}

    def see(self, connection: int, direction: Direction, head: Head, place: tuple[int, int]) -> None:
        """Take in one message and its place; raise ValueError if it is not what the protocol says."""
        state = self._open.setdefault(connection, _Connection())
        if direction == "to_server":
            if head.method:
                self._sent(state, head, place)
            elif head.id is not None:
                asked = state.asks.pop(head.id, None)
                if asked is not None:
                    asked[0].add(ANSWER, *place, ask=asked[1])
        elif head.is_reply:
            self._replied(state, head, place)
        else:
            self._heard(state, head, place)

    def _sent(self, state: _Connection, head: Head, place: tuple[int, int]) -> None:
        """Begin the exchange of a request, or of a notification that the server may react to."""
        params = params_of(head)
        if head.id is None and head.method in UNHEARD:
            if head.method == CANCELLED:
                state.calls.pop(params.get("requestId", ""), None)
                state.listens.pop(params.get("requestId", ""), None)
            return
        is_modern = speaks_modern(params)
        exchange = Exchange(head.method, key_of(head.method, params, is_modern=is_modern))
        exchange.add(REQUEST, *place)
        token = progress_token(params)
        if token is not None:
            state.tokens[token] = exchange
        if head.id is None:
            state.last = exchange
            self._register(exchange, "")
        elif head.method == LISTEN:
            # It stays open for as long as the client listens.
            state.listens[head.id] = exchange
            self.has_modern = True
            self._register(exchange, "")
        else:
            state.calls[head.id] = exchange, name_of(params), is_modern

    def _replied(self, state: _Connection, head: Head, place: tuple[int, int]) -> None:
        if head.id is not None and state.listens.pop(head.id, None) is not None:
            # The server ended; the one that is played goes on.
            return
        call = state.calls.pop(head.id, None) if head.id is not None else None
        if call is None:
            return
        exchange, name, is_modern = call
        exchange.add(REPLY, *place)
        state.last = exchange
        state.tokens = {token: one for token, one in state.tokens.items() if one is not exchange}
        has_result = isinstance(head.result, msgspec.Raw)
        if exchange.method == "initialize" and has_result:
            self.initialized.append(exchange)
        self.has_modern |= has_result and (is_modern or exchange.method == "server/discover")
        self._register(exchange, name)

    def _heard(self, state: _Connection, head: Head, place: tuple[int, int]) -> None:
        """Add a notification or a request of the server to the exchange that it belongs to."""
        if head.id is None:
            owner, ask = self._named(state, head.method, params_of(head)) or (self._owner(state), 0)
            if owner is not None:
                owner.add(NOTE, *place, ask=ask)
            return
        owner = self._owner(state)
        if owner is not None:
            owner.add(ASK, *place, ask=owner.asks)
            state.asks[head.id] = owner, owner.asks
            owner.asks += 1

    def _named(self, state: _Connection, method: str, params: dict[str, Any]) -> tuple[Exchange | None, int] | None:
        """Return whom a notification names by token, subscription or id; None if it names nobody."""
        if method == PROGRESS:
            return state.tokens.get(params.get("progressToken", "")), 0
        if method == CANCELLED:
            return state.asks.pop(params.get("requestId", ""), (None, 0))
        subscription = meta_of(params).get(SUBSCRIPTION_KEY)
        return None if subscription is None else (state.listens.get(subscription), 0)

    def _owner(self, state: _Connection) -> Exchange | None:
        """Return the exchange to which a message without a name belongs, or None."""
        calls = [exchange for exchange, _, _ in state.calls.values()]
        # Lists are read beside calls at any time, and ask nothing.
        speaking = [exchange for exchange in calls if not exchange.method.endswith("/list")] or calls
        if len(speaking) == 1:
            return speaking[0]
        last = state.last if not state.calls else None
        return last if last is not None and len(last) < MAX_AFTER else None

    def _register(self, exchange: Exchange, name: str) -> None:
        equal = self.by_key.setdefault(exchange.key, [])
        equal.append(exchange)
        if len(equal) == 1:
            names = self.by_name.setdefault(exchange.method, {}).setdefault(name, [])
            if len(names) < MAX_CALLS:
                names.append(exchange)

    def end(self) -> None:
        """Forget what is unfinished."""
        self._open.clear()
