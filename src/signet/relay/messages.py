"""Messages to and from wrapped servers, with the parts that nobody needs to read left as they were written. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from signet.kernel.wire import encode

__all__ = [
    "HOP",
    "Incoming",
    "error_object",
    "guessed_id",
    "is_a",
    "members",
    "name_in",
    "notification",
    "number_of",
    "on_one_line",
    "parse_incoming",
    "request",
    "response",
    "rewritten_params",
]

HOP: Final = "io.modelcontextprotocol/"
"""The prefix of the `_meta` keys that hold for one hop: each side of a relay has its own."""
NOTHING: Final = Raw(b"{}")
ID: Final = re.compile(rb'"id"\s*:\s*([0-9]{1,15})\s*[,}]')


class Incoming(msgspec.Struct, frozen=True, gc=False):
    """One message of a server; what it holds beside these members is ignored."""

    id: int | str | float | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    params: Raw = NOTHING
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


_incoming: Final = msgspec.json.Decoder(Incoming).decode
_members: Final = msgspec.json.Decoder(dict[str, Raw]).decode


def parse_incoming(text: bytes) -> Incoming:
    """Return a message; raise ValueError if the text is none."""
    if not text.isascii():
        # The parts that are passed on unread must be UTF-8 too.
        text.decode()
    try:
        message = _incoming(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if message.method is UNSET and message.result is UNSET and message.error is UNSET:
        raise ValueError("neither a request nor a response")
    return message


def guessed_id(text: bytes) -> int | None:
    """Return the id that a broken reply seems to have: one that is not JSON must not leave its call waiting."""
    found = ID.search(text[:500]) or ID.search(text[-500:])
    return int(found[1]) if found and b'"method"' not in text[:500] else None


def members(value: Raw | bytes | None) -> dict[str, Raw]:
    """Return the members of a JSON object, not decoded; none if it is no object."""
    if value is None:
        return {}
    try:
        return _members(value)
    except (ValueError, RecursionError):
        return {}


def on_one_line(text: Raw | bytes) -> bytes:
    """Return JSON without line breaks between its parts: on stdio a line is a message."""
    text = bytes(text)
    return msgspec.json.format(text, indent=-1) if b"\n" in text or b"\r" in text else text


def rewritten_params(raw: Raw | bytes, meta: Mapping[str, Any], more: Mapping[str, Any] | None = None) -> bytes:
    """Return params with the `_meta` of the next hop, and with some members replaced; the rest stays as written."""
    if not meta and not more and b'"_meta"' not in bytes(raw):
        return on_one_line(raw)
    parts: dict[str, Any] = dict(members(raw))
    kept = {
        key: value
        for key, value in members(parts.pop("_meta", None)).items()
        if key != "progressToken" and not key.startswith(HOP)
    }
    parts |= more or {}
    if kept or meta:
        parts["_meta"] = {**kept, **meta}
    return on_one_line(encode(parts))


def request(number: int | str, method: str, params: bytes) -> bytes:
    """Return a request."""
    return b"".join(
        (b'{"jsonrpc":"2.0","id":', encode(number), b',"method":', encode(method), b',"params":', params, b"}")
    )


def notification(method: str, params: bytes = b"") -> bytes:
    """Return a notification, without params if there are none."""
    tail = b',"params":' + params + b"}" if params else b"}"
    return b'{"jsonrpc":"2.0","method":' + encode(method) + tail


def response(number: object, *, result: bytes | None = None, error: bytes | None = None) -> bytes:
    """Return the response to a server's request."""
    body = b'"result":' + result if result is not None else b'"error":' + (error or b"{}")
    return b"".join((b'{"jsonrpc":"2.0","id":', encode(number), b",", body, b"}"))


def error_object(code: int, message: str, data: object = None) -> bytes:
    """Return the error of a response."""
    return encode({"code": code, "message": message} | ({} if data is None else {"data": data}))


def number_of(given: object) -> int:
    """Return the id of ours that a reply repeats, also by servers that write all numbers as 1.0; else 0."""
    return int(given) if isinstance(given, int | float) and given == given // 1 else 0


def is_a(kind: type, value: Raw | None) -> bool:
    """Return whether a part of a message is a value of a type, exactly."""
    try:
        return value is not None and type(msgspec.json.decode(value)) is kind
    except (ValueError, RecursionError):
        return False


def name_in(method: str, params: bytes) -> str:
    """Return what the `Mcp-Name` header says: the tool, the prompt or the resource of a request."""
    key = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}.get(method)
    value = members(params).get(key) if key is not None else None
    name = msgspec.json.decode(value) if value is not None else ""
    return name if isinstance(name, str) else ""
