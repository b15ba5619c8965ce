"""MCP messages as a client writes and reads them, in either era; parts that nobody reads stay as written. Pure.

The members of a message are those of `MessageHead` (`kernel.wire`): the one decoder of JSON-RPC, beside the frames that
a server serves. The era follows from the revision: up to 2025-11-25 a session begins with `initialize`; from 2026-07-28
on each request carries its version itself, and over HTTP repeats its method and tool in headers.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import UNSET, Raw

from signet.kernel.headers import METHOD, NAME, VERSION
from signet.kernel.protocol import CAPABILITIES_KEY, MODERN_VERSIONS, VERSION_KEY, Identity
from signet.kernel.wire import MessageHead, ProtocolError, encode, message_head

__all__ = [
    "CLIENT_INFO_KEY",
    "HOP",
    "JSON_HEADERS",
    "OUTLINE_BYTES",
    "MessageBuilder",
    "Outline",
    "WireMessage",
    "error_object",
    "header_value",
    "is_a",
    "members",
    "name_in",
    "notification",
    "number_of",
    "on_one_line",
    "outline_of",
    "parse_incoming",
    "read_raw",
    "read_result",
    "request",
    "response",
    "rewritten_params",
    "text_of",
    "value_of",
]

CLIENT_INFO_KEY: Final = "io.modelcontextprotocol/clientInfo"
JSON_HEADERS: Final = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
NO_REPLY: Final = "it does not answer"
HOP: Final = "io.modelcontextprotocol/"
"""The prefix of the `_meta` keys that hold for one hop: each side of a relay has its own."""
OUTLINE_BYTES: Final = 500
"""The size of the beginning and of the end of a broken message in which its id is looked for."""
PLAIN: Final = rb'(?:"[^"\\]*"|[-+.0-9eE]+|true|false|null)'
LAST_ID: Final = re.compile(rb'[,{]\s*"id"\s*:\s*(' + PLAIN + rb')\s*(?:,\s*"[^"\\]*"\s*:\s*' + PLAIN + rb"\s*)*\}\s*$")
"""An id among the last members of a message: only members without nested values stand behind it."""


_members: Final = msgspec.json.Decoder(dict[str, Raw]).decode


def parse_incoming(text: bytes) -> MessageHead:
    """Return a message; raise ValueError if the text is none."""
    if not text.isascii():
        # The parts that are passed on unread must be UTF-8 too.
        text.decode()
    try:
        message = message_head(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if message.method is UNSET and message.result is UNSET and message.error is UNSET:
        raise ValueError("neither a request nor a response")
    return message


class Outline(NamedTuple):
    """The part of a message that can be read although the whole cannot."""

    is_reply: bool = False
    is_request: bool = False
    """Whether it is a request or a notification."""
    id: int | str | None = None


def outline_of(head: bytes, tail: bytes) -> Outline:
    """Return what the beginning and the end of a message tell about it; they are never joined.

    Only members of the message itself count: a result may hold ids too.
    """
    found, cut = _leading_members(head)
    keys = {*found, cut}
    number = found.get("id")
    if number is None and (last := LAST_ID.search(tail)):
        number = _plain(last[1])
    is_request = bool(keys & {"method", "params"})
    is_reply = not is_request and bool(keys & {"jsonrpc", "result", "error"})
    is_known = isinstance(number, int | str) and not isinstance(number, bool)
    return Outline(is_reply, is_request, number if is_known else number_of(number) or None)


def _leading_members(head: bytes) -> tuple[dict[str, Any], str]:
    """Return the members with which an object begins, and the name of the first whose value is not whole."""
    from json import JSONDecoder

    text = head[max(head.find(b"{"), 0) :].decode(errors="replace")
    decode = JSONDecoder().raw_decode
    found: dict[str, Any] = {}
    at = 1 if text.startswith("{") else len(text)
    key = ""
    try:
        while at < len(text):
            key, at = decode(text, _next(text, at))
            at = _next(text, at)
            if not isinstance(key, str) or text[at : at + 1] != ":":
                return found, ""
            value, at = decode(text, _next(text, at + 1))
            at = _next(text, at)
            if text[at : at + 1] not in {",", "}"}:
                break
            found[key] = value
            at, key = (at + 1 if text[at] == "," else len(text)), ""
    except (ValueError, RecursionError):
        return found, key
    return found, key


def _next(text: str, at: int) -> int:
    """Return the place of the next character that is not white space."""
    while text[at : at + 1].isspace():
        at += 1
    return at


def _plain(value: bytes) -> Any:
    try:
        return msgspec.json.decode(value)
    except msgspec.DecodeError:
        return None


def members(value: Raw | bytes | None) -> dict[str, Raw]:
    """Return the members of a JSON object, not decoded; none if it is no object."""
    if value is None:
        return {}
    try:
        return _members(value)
    except (ValueError, RecursionError):
        return {}


def value_of(value: Raw | None) -> Any:
    """Return a part of a message, decoded; None where it is not there or cannot be held, as a number out of range."""
    try:
        return None if value is None else msgspec.json.decode(value)
    except (ValueError, RecursionError):
        return None


def text_of(value: Raw | None) -> str:
    """Return a JSON string; empty for any other value."""
    text = value_of(value)
    return text if isinstance(text, str) else ""


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
    """Return the id of ours that a reply repeats, by servers that write 1.0 for 1 too; else 0."""
    if type(given) is int:
        return given
    return int(given) if isinstance(given, float) and given.is_integer() else 0


def is_a(kind: type, value: Raw | None) -> bool:
    """Return whether a part of a message is a value of a type, exactly."""
    try:
        return value is not None and type(msgspec.json.decode(value)) is kind
    except (ValueError, RecursionError):
        return False


def name_in(method: str, params: bytes) -> str:
    """Return what the `Mcp-Name` header says: the tool, the prompt or the resource of a request."""
    key = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}.get(method)
    return text_of(members(params).get(key)) if key is not None else ""


# --- messages for the doors of a server, and replies as they come back


class WireMessage(NamedTuple):
    """One message to a server: a line on stdio, the body of a POST on HTTP."""

    body: bytes
    headers: Mapping[str, str] = JSON_HEADERS
    path: str = ""
    """Added to the URL of an HTTP server."""


class MessageBuilder(msgspec.Struct, frozen=True):
    """Writes the messages of one protocol revision."""

    version: str
    client: Identity
    path: str = ""

    @property
    def is_modern(self) -> bool:
        """Whether each request carries its protocol version itself."""
        return self.version in MODERN_VERSIONS

    def request(self, number: int, method: str, params: dict[str, Any]) -> WireMessage:
        """Write a request with this number as its id."""
        headers = {**JSON_HEADERS, VERSION: self.version}
        if self.is_modern:
            meta = {VERSION_KEY: self.version, CLIENT_INFO_KEY: self.client, CAPABILITIES_KEY: {}}
            params = {**params, "_meta": meta}
            headers[METHOD] = method
            if "name" in params:
                headers[NAME] = header_value(params["name"])
        return self._message(headers, id=number, method=method, params=params)

    def initialize(self, number: int) -> WireMessage:
        """Write the request that begins a session of the handshake era."""
        params = {"protocolVersion": self.version, "capabilities": {}, "clientInfo": self.client}
        return self._message(JSON_HEADERS, id=number, method="initialize", params=params)

    def initialized(self) -> WireMessage:
        """Write the notification that ends the handshake."""
        return self._message({**JSON_HEADERS, VERSION: self.version}, method="notifications/initialized")

    def _message(self, headers: Mapping[str, str], **members: Any) -> WireMessage:
        return WireMessage(msgspec.json.encode({"jsonrpc": "2.0", **members}), headers, self.path)


def header_value(text: str) -> str:
    """Encode a value that a header cannot hold as MCP prescribes."""
    if text.isascii() and text.isprintable() and text == text.strip() and not text.startswith("=?"):
        return text
    return f"=?base64?{binascii.b2a_base64(text.encode(), newline=False).decode()}?="


def read_result(texts: Iterable[bytes], number: int) -> Any:
    """Return the result of the request with this number, passing over other messages.

    Raises:
        ProtocolError: the reply is an error.
        ValueError: there is no reply.
    """
    return msgspec.json.decode(read_raw(texts, number))


def read_raw(texts: Iterable[bytes], number: int) -> msgspec.Raw:
    """Return the result of a request as the server wrote it; raise what `read_result` raises."""
    why: object = NO_REPLY
    for text in texts:
        try:
            reply = message_head(text)
        except ValueError as error:
            why = error
            continue
        if reply.id == number and reply.method is UNSET:
            if reply.result is not UNSET:
                return reply.result
            match value_of(reply.error or None):
                case {"code": int(code), "message": str(message), **more}:
                    raise ProtocolError(code, message, more.get("data"))
                case dict(fault):
                    why = fault.get("message", fault)
            break
    raise ValueError(why)
