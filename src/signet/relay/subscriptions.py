"""Who wants to hear of what: lists that change, and resources.

a caller of the handshake era ── `resources/subscribe`; told of lists without asking
a caller of the modern era ───── `subscriptions/listen`: one stream with a filter
a server of the handshake era ── is asked by `resources/subscribe`
a server of the modern era ───── is asked by one `subscriptions/listen` for all callers
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import msgspec
from msgspec import Raw

from signet.kernel.errors import INVALID_PARAMS
from signet.kernel.wire import ProtocolError, encode
from signet.mcp.messages import HOP, members, notification
from signet.mcp.session import ClientSession, PendingRequest
from signet.system.places import Shares

__all__ = ["LIST_CHANGES", "Listener", "SubscriptionShares", "Subscriptions", "checked_uri", "honoured"]

LIST_CHANGES: Final = {
    "notifications/tools/list_changed": ("toolsListChanged", "tools"),
    "notifications/prompts/list_changed": ("promptsListChanged", "prompts"),
    "notifications/resources/list_changed": ("resourcesListChanged", "resources"),
}
"""For each notification the member of a filter, and the capability, that stand for it."""
SUBSCRIPTION_KEY: Final = HOP + "subscriptionId"
MAX_URIS: Final = 1000
"""The resources that one session, or one stream, may subscribe to."""
MAX_URI_BYTES: Final = 4096
MAX_BYTES: Final = 8 << 20
"""The size of all subscriptions: half of it is one session with as many and as long URIs as it may have."""
OVERHEAD_BYTES: Final = 64
"""What a subscription takes beside its URI."""


FULL: Final = "all places for subscriptions are taken: end some, or try again later"


class Listener(msgspec.Struct, eq=False):
    """One stream of notifications to a caller."""

    notify: Callable[[bytes], None]
    subscription: object = None
    """The id of the request that opened the stream, in the modern era."""
    lists: frozenset[str] = frozenset()
    """The notifications about lists that are wanted."""
    uris: set[str] = msgspec.field(default_factory=set)
    owner: str = ""
    """The session that it is of."""
    holder: str = ""
    """Whose share its subscriptions use."""
    asking: set[str] = msgspec.field(default_factory=set)
    """The URIs for which the server is being asked."""

    def tell(self, method: str, params: Raw) -> None:
        """Pass a notification on, marked with the caller's own subscription where there is one."""
        parts: dict[str, Any] = dict(members(params))
        meta: dict[str, Any] = {k: v for k, v in members(parts.pop("_meta", None)).items() if not k.startswith(HOP)}
        if self.subscription is not None:
            meta[SUBSCRIPTION_KEY] = self.subscription
        if meta:
            parts["_meta"] = meta
        self.notify(notification(method, encode(parts) if parts else b""))


class SubscriptionShares:
    """The subscriptions to resources that callers have at all servers, by their size."""

    def __init__(self) -> None:
        self._shares = Shares("subscriptions", MAX_BYTES)

    def take(self, listeners: Sequence[Listener], listener: Listener, uri: str) -> str:
        """Count a subscription of a session, which has these listeners; return why it may not have it, or nothing."""
        if sum(len(one.uris) + len(one.asking) for one in listeners) >= MAX_URIS:
            return f"this session has {MAX_URIS} subscriptions: end one with resources/unsubscribe"
        return "" if self._shares.take(listener.holder, _size_of(uri)) else FULL

    def take_all(self, listener: Listener) -> str:
        """Count the subscriptions of a stream; return why it may not have them, or nothing."""
        size = sum(map(_size_of, listener.uris))
        return "" if not size or self._shares.take(listener.holder, size) else FULL

    def give_back(self, listener: Listener, uris: Iterable[str]) -> None:
        """Take subscriptions of a listener back."""
        size = sum(map(_size_of, uris))
        if size:
            self._shares.give_back(listener.holder, size)


def _size_of(uri: str) -> int:
    return len(uri.encode(errors="surrogatepass")) + OVERHEAD_BYTES


def checked_uri(value: object) -> str:
    """Return the URI of a subscription; raise ProtocolError if it is none, or too long to be kept."""
    if not isinstance(value, str):
        raise ProtocolError(INVALID_PARAMS, "Invalid params: the uri is a text")
    if _size_of(value) - OVERHEAD_BYTES > MAX_URI_BYTES:
        raise ProtocolError(INVALID_PARAMS, f"Invalid params: the uri has more than {MAX_URI_BYTES} bytes")
    return value


class _Asked(msgspec.Struct, eq=False):
    """What one running server was asked for."""

    uris: set[str] = msgspec.field(default_factory=set)
    filter: dict[str, Any] = msgspec.field(default_factory=dict)
    listen: PendingRequest | None = None
    """The stream of a server of the modern era."""


class Subscriptions:
    """The listeners of one server's callers, and what the server is asked for on their behalf."""

    def __init__(self) -> None:
        self._listeners: dict[int, Listener] = {}
        self._asked: dict[ClientSession, _Asked] = {}

    def add(self, listener: Listener) -> None:
        """Tell a listener from now on."""
        self._listeners[id(listener)] = listener

    def has(self, listener: Listener) -> bool:
        """Return whether a listener gets a notification."""
        return id(listener) in self._listeners

    def remove(self, listener: Listener) -> None:
        """Tell a listener nothing more."""
        self._listeners.pop(id(listener), None)

    def of(self, notify: Callable[[bytes], None]) -> Listener | None:
        """Return the listener of a session."""
        own = (one for one in self._listeners.values() if one.notify == notify and one.subscription is None)
        return next(own, None)

    def tell(self, method: str, params: Raw, owner: str | None = None) -> None:
        """Pass a notification on to those who want it: all, or the owner of the instance that it came from."""
        if method == "notifications/resources/updated":
            uri = msgspec.json.decode(members(params).get("uri", b'""'))
            wanting = [one for one in self._listeners.values() if isinstance(uri, str) and uri in one.uris]
        else:
            wanting = [one for one in self._listeners.values() if method in one.lists]
        for listener in [one for one in wanting if owner in (None, one.owner)]:
            listener.tell(method, params)

    def wants(self, uri: str, beside: Listener) -> bool:
        """Return whether somebody else wants to hear of a resource, or is about to."""
        return any(uri in one.uris or uri in one.asking for one in self._listeners.values() if one is not beside)

    def sync(self, dialogue: ClientSession, *, uris_are_known: bool = False) -> None:
        """Ask a running server for what its listeners want together; `uris_are_known` if it was asked for those."""
        for gone in [one for one in self._asked if one.is_lost]:
            del self._asked[gone]
        listeners = [one for one in self._listeners.values() if dialogue.owner in (None, one.owner)]
        wanted = {uri for one in listeners for uri in one.uris}
        asked = self._asked.setdefault(dialogue, _Asked())
        if dialogue.modern:
            _sync_modern(dialogue, asked, wanted, {method for one in listeners for method in one.lists})
        elif not uris_are_known:
            for uri in wanted - asked.uris:
                dialogue.start("resources/subscribe", encode({"uri": uri}))
            for uri in asked.uris - wanted:
                dialogue.start("resources/unsubscribe", encode({"uri": uri}))
        asked.uris = wanted

    def leave(self, dialogue: ClientSession, uri: str) -> None:
        """End a subscription at a server whose listener has gone before the server answered."""
        if not dialogue.modern and dialogue in self._asked:
            self._asked[dialogue].uris.add(uri)
        self.sync(dialogue)


def _sync_modern(dialogue: ClientSession, asked: _Asked, uris: set[str], lists: set[str]) -> None:
    capabilities = members(dialogue.hello.get("capabilities"))
    wanted: dict[str, Any] = {
        member: True
        for method, (member, capability) in LIST_CHANGES.items()
        if method in lists and bytes(members(capabilities.get(capability)).get("listChanged", b"")) == b"true"
    }
    if uris:
        wanted["resourceSubscriptions"] = sorted(uris)
    if wanted == asked.filter and (asked.listen is None or not asked.listen.reply.done()):
        return
    before, asked.listen, asked.filter = asked.listen, None, wanted
    if wanted:
        params = encode({"notifications": wanted})
        asked.listen = dialogue.start("subscriptions/listen", params, meta=dialogue.modern_meta({}))
    if before is not None and not before.reply.done():
        dialogue.forget(before, "another subscription takes its place")


def honoured(wanted: dict[str, Any], capabilities: Raw | bytes) -> tuple[dict[str, Any], frozenset[str], set[str]]:
    """Return the part of a filter that a server can serve: its params, the notifications, the resources.

    Raises:
        ProtocolError: it names too many resources, or one that is too long.
    """
    able = members(capabilities)
    lists = {
        method: member
        for method, (member, capability) in LIST_CHANGES.items()
        if wanted.get(member) is True and bytes(members(able.get(capability)).get("listChanged", b"")) == b"true"
    }
    told: dict[str, Any] = dict.fromkeys(lists.values(), True)
    uris: set[str] = set()
    asked = wanted.get("resourceSubscriptions")
    can_subscribe = bytes(members(able.get("resources")).get("subscribe", b"")) == b"true"
    if isinstance(asked, list) and can_subscribe:
        if len(asked) > MAX_URIS:
            raise ProtocolError(INVALID_PARAMS, f"Invalid params: one stream has at most {MAX_URIS} resources")
        told["resourceSubscriptions"] = [checked_uri(uri) for uri in asked]
        uris = set(told["resourceSubscriptions"])
    return told, frozenset(lists), uris
