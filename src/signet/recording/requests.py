"""The recorded messages of a server: a line for each, its parts, and when two requests are equal. Pure."""

from __future__ import annotations

from hashlib import sha256
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

from signet.kernel.protocol import VERSION_KEY
from signet.kernel.wire import MessageHead, message_head
from signet.mcp.messages import HOP
from signet.system.canonical_json import comparable

__all__ = [
    "CONFIRMED",
    "SUBSCRIPTION_KEY",
    "Direction",
    "Id",
    "Line",
    "head_of",
    "id_of",
    "is_reply",
    "key_of",
    "line_of",
    "lone",
    "meta_of",
    "name_of",
    "params_of",
    "progress_token",
    "rekeyed",
    "speaks_modern",
]

Id = int | str
Direction = Literal["to_server", "to_client"]

SUBSCRIPTION_KEY: Final = f"{HOP}subscriptionId"
HOP_KEYS: Final = frozenset({"progressToken", "traceparent", "tracestate", "baggage"})
"""What `_meta` says about one hop or one moment, not about the call."""
CONFIRMED: Final = frozenset({"ping", "logging/setLevel", "resources/unsubscribe"})
"""Requests of the handshake era that a server only confirms."""
WITHOUT_PARAMS: Final = frozenset({"server/discover", "notifications/initialized", "ping"})
"""Messages that are equal whoever sends them."""
KEY_BYTES: Final = 16


class Line(msgspec.Struct, frozen=True, gc=False):
    """One line of `messages.jsonl`."""

    connection: int
    direction: Direction
    sequence: int
    ms: int
    message: msgspec.Raw | UnsetType = UNSET
    """The message as it was written; missing where it was no JSON."""
    text: str = ""


_decode_members: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def head_of(message: bytes | msgspec.Raw) -> MessageHead:
    """Return the members of a message, their values unread; raise ValueError if it is no message."""
    head = message_head(message)
    if id_of(head) is None and head.id not in {None, UNSET}:
        raise ValueError("an id is a number with a fraction")
    return head


def id_of(head: MessageHead) -> Id | None:
    """Return the id of a request or a reply; None for a notification."""
    return head.id if isinstance(head.id, int | str) else None


def is_reply(head: MessageHead) -> bool:
    """Return whether a message is the reply to a request."""
    return not head.method and id_of(head) is not None


def line_of(connection: int, direction: Direction, sequence: int, ms: int, message: bytes) -> bytes:
    """Return the line of a message, which must be JSON; line ends between its tokens become blanks."""
    on_one_line = message.replace(b"\n", b" ").replace(b"\r", b" ")
    start = b'{"connection":%d,"direction":"%b","sequence":%d,"ms":%d,"message":'
    return start % (connection, direction.encode(), sequence, ms) + on_one_line + b"}\n"


def lone(body: bytes) -> list[bytes]:
    """Return the messages of a batch, or the one message that a body is; raise ValueError if it is no JSON."""
    if not body.lstrip().startswith(b"["):
        msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        return [body]
    return [bytes(one) for one in msgspec.json.decode(body, type=list[msgspec.Raw])]


def params_of(head: MessageHead) -> dict[str, Any]:
    """Return the params of a message; raise ValueError if they are no object."""
    params = msgspec.json.decode(head.params)
    if params is None:
        return {}
    if not isinstance(params, dict):
        raise ValueError("params are no object")  # noqa: TRY004 - the wire's fault, not the program's
    return params


def meta_of(params: dict[str, Any]) -> dict[str, Any]:
    """Return the `_meta` of some params, empty where there is none."""
    meta = params.get("_meta")
    return meta if isinstance(meta, dict) else {}


def progress_token(params: dict[str, Any]) -> Id | None:
    """Return the progress token of a request, or None."""
    token = meta_of(params).get("progressToken")
    return token if isinstance(token, int | str) else None


def speaks_modern(params: dict[str, Any]) -> bool:
    """Return whether a request carries its protocol version itself."""
    return VERSION_KEY in meta_of(params)


def name_of(params: dict[str, Any]) -> str:
    """Return the tool, prompt or resource that a request names, or an empty text."""
    ref = params.get("ref")
    named = params if "name" in params or "uri" in params else ref if isinstance(ref, dict) else {}
    name = named.get("name", named.get("uri", ""))
    return name if isinstance(name, str) else ""


def key_of(method: str, params: dict[str, Any], *, is_modern: bool) -> bytes:
    """Return a key that is equal for equal requests, whoever makes them and whenever."""
    if method == "initialize":
        told: Any = params.get("protocolVersion")
    elif method in WITHOUT_PARAMS:
        told = None
    else:
        told = _without_hop(params)
    era = b"modern" if is_modern and method not in {"initialize", "server/discover"} else b"handshake"
    return sha256(b"\n".join((era, method.encode(), comparable(told)))).digest()[:KEY_BYTES]


def _without_hop(params: dict[str, Any]) -> dict[str, Any]:
    """Return params without what belongs to one hop; no arguments are equal to empty ones."""
    meta = {key: value for key, value in meta_of(params).items() if not _is_of_hop(key)}
    kept = {key: value for key, value in params.items() if key != "_meta"}
    if kept.get("arguments") in ({}, None):
        kept.pop("arguments", None)
    return {**kept, "_meta": meta} if meta else kept


def _is_of_hop(key: str) -> bool:
    return key in HOP_KEYS or key.startswith(HOP)


def rekeyed(message: bytes | msgspec.Raw, *path: str, to: Any) -> bytes:
    """Return a message with another value at one place, and every other byte of its values as it was."""
    members = _decode_members(message)
    name, *below = path
    if not below:
        members[name] = msgspec.Raw(msgspec.json.encode(to))
    elif name in members:
        members[name] = msgspec.Raw(rekeyed(members[name], *below, to=to))
    return msgspec.json.encode(members)
