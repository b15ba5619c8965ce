"""The index of recorded messages: what followed each request, as places in the file. Pure.

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

from signet.kernel.wire import MessageHead

from .requests import (
    SUBSCRIPTION_KEY,
    Direction,
    Id,
    id_of,
    is_reply,
    key_of,
    meta_of,
    name_of,
    params_of,
    progress_token,
    speaks_modern,
)

__all__ = ["ANSWER", "ASK", "LISTEN", "NOTE", "REPLY", "REQUEST", "MessageIndex", "RecordedMessage", "RecordedRequest"]

REQUEST, NOTE, ASK, ANSWER, REPLY = range(5)
"""The kinds of entries; an ANSWER is where the server waited for the client."""
KINDS: Final = 8
NUMBERS: Final = 3
"""The numbers that an entry takes in the record of a request."""
MAX_AFTER: Final = 100
"""The number of messages after a reply that are played with it."""
MAX_CALLS: Final = 1_000
"""The number of different calls of one name among which the nearest is looked for."""
LISTEN: Final = "subscriptions/listen"
CANCELLED: Final = "notifications/cancelled"
PROGRESS: Final = "notifications/progress"
UNHEARD: Final = frozenset({CANCELLED, PROGRESS})
"""Notifications of a client that concern one call of its own."""


class RecordedMessage(NamedTuple):
    """One message that belongs to a request: its kind, and its place in the file."""

    kind: int
    ask: int
    """Which request of the server this is, or answers."""
    offset: int
    length: int


class RecordedRequest:
    """A recorded request and what followed, each message by its place."""

    __slots__ = ("_entries", "asks", "key", "method")

    def __init__(self, method: str, key: bytes) -> None:
        self.method = method
        self.key = key
        self.asks = 0
        self._entries = array("Q")

    def add(self, kind: int, offset: int, length: int, ask: int = 0) -> None:
        """Append an entry."""
        self._entries.extend((ask * KINDS + kind, offset, length))

    def entries(self) -> Iterator[RecordedMessage]:
        """Yield the entries in the order in which they were recorded, the request first."""
        numbers = iter(self._entries)
        for first, offset, length in zip(numbers, numbers, numbers, strict=True):
            yield RecordedMessage(first % KINDS, first // KINDS, offset, length)

    def __len__(self) -> int:
        return len(self._entries) // NUMBERS

    def first(self, kind: int) -> RecordedMessage | None:
        """Return the first entry of a kind, or None."""
        return next((one for one in self.entries() if one.kind == kind), None)


class _Connection:
    """What is unfinished on one connection."""

    __slots__ = ("asks", "calls", "last", "listens", "tokens")

    def __init__(self) -> None:
        self.calls: dict[Id, tuple[RecordedRequest, str, bool]] = {}
        self.listens: dict[Id, RecordedRequest] = {}
        self.tokens: dict[Id, RecordedRequest] = {}
        self.asks: dict[Id, tuple[RecordedRequest, int]] = {}
        self.last: RecordedRequest | None = None
        """What the client sent last and is answered."""


class MessageIndex:
    """The recorded requests of a server, equal ones together in the order of their replies."""

    def __init__(self) -> None:
        self.by_key: dict[bytes, list[RecordedRequest]] = {}
        self.by_name: dict[str, dict[str, list[RecordedRequest]]] = {}
        """By method and name, the first of each different request."""
        self.initialized: list[RecordedRequest] = []
        """The handshakes that succeeded."""
        self.has_modern = False
        self._open: dict[int, _Connection] = {}

    def see(self, connection: int, direction: Direction, head: MessageHead, place: tuple[int, int]) -> None:
        """Take in one message and its place; raise ValueError if it is not what the protocol says."""
        state = self._open.setdefault(connection, _Connection())
        number = id_of(head)
        if direction == "to_server":
            if head.method:
                self._sent(state, head, place)
            elif number is not None:
                asked = state.asks.pop(number, None)
                if asked is not None:
                    asked[0].add(ANSWER, *place, ask=asked[1])
        elif is_reply(head):
            self._replied(state, head, place)
        else:
            self._heard(state, head, place)

    def _sent(self, state: _Connection, head: MessageHead, place: tuple[int, int]) -> None:
        """Begin the record of a request, or of a notification that the server may react to."""
        method, number, params = str(head.method), id_of(head), params_of(head)
        if number is None and method in UNHEARD:
            if method == CANCELLED:
                state.calls.pop(params.get("requestId", ""), None)
                state.listens.pop(params.get("requestId", ""), None)
            return
        is_modern = speaks_modern(params)
        request = RecordedRequest(method, key_of(method, params, is_modern=is_modern))
        request.add(REQUEST, *place)
        token = progress_token(params)
        if token is not None:
            state.tokens[token] = request
        if number is None:
            state.last = request
            self._register(request, "")
        elif method == LISTEN:
            # It stays open for as long as the client listens.
            state.listens[number] = request
            self.has_modern = True
            self._register(request, "")
        else:
            state.calls[number] = request, name_of(params), is_modern

    def _replied(self, state: _Connection, head: MessageHead, place: tuple[int, int]) -> None:
        number = id_of(head)
        if number is None or state.listens.pop(number, None) is not None:
            # The server ended; the one that is played goes on.
            return
        call = state.calls.pop(number, None)
        if call is None:
            return
        request, name, is_modern = call
        request.add(REPLY, *place)
        state.last = request
        state.tokens = {token: one for token, one in state.tokens.items() if one is not request}
        has_result = isinstance(head.result, msgspec.Raw)
        if request.method == "initialize" and has_result:
            self.initialized.append(request)
        self.has_modern |= has_result and (is_modern or request.method == "server/discover")
        self._register(request, name)

    def _heard(self, state: _Connection, head: MessageHead, place: tuple[int, int]) -> None:
        """Add a notification or a request of the server to the request that it belongs to."""
        number = id_of(head)
        if number is None:
            owner, ask = self._named(state, str(head.method), params_of(head)) or (self._owner(state), 0)
            if owner is not None:
                owner.add(NOTE, *place, ask=ask)
            return
        owner = self._owner(state)
        if owner is not None:
            owner.add(ASK, *place, ask=owner.asks)
            state.asks[number] = owner, owner.asks
            owner.asks += 1

    def _named(
        self, state: _Connection, method: str, params: dict[str, Any]
    ) -> tuple[RecordedRequest | None, int] | None:
        """Return the request that a notification names by token, subscription or id; None if it names none."""
        if method == PROGRESS:
            return state.tokens.get(params.get("progressToken", "")), 0
        if method == CANCELLED:
            return state.asks.pop(params.get("requestId", ""), (None, 0))
        subscription = meta_of(params).get(SUBSCRIPTION_KEY)
        return None if subscription is None else (state.listens.get(subscription), 0)

    def _owner(self, state: _Connection) -> RecordedRequest | None:
        """Return the request to which a message without a name belongs, or None."""
        calls = [request for request, _, _ in state.calls.values()]
        # Lists are read beside calls at any time, and ask nothing.
        speaking = [request for request in calls if not request.method.endswith("/list")] or calls
        if len(speaking) == 1:
            return speaking[0]
        last = state.last if not state.calls else None
        return last if last is not None and len(last) < MAX_AFTER else None

    def _register(self, request: RecordedRequest, name: str) -> None:
        equal = self.by_key.setdefault(request.key, [])
        equal.append(request)
        if len(equal) == 1:
            names = self.by_name.setdefault(request.method, {}).setdefault(name, [])
            if len(names) < MAX_CALLS:
                names.append(request)

    def end(self) -> None:
        """Forget what is unfinished."""
        self._open.clear()
