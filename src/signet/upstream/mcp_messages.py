"""MCP messages as a client writes and reads them, in either protocol era. Pure.

The era follows from the revision: up to 2025-11-25 a session begins with `initialize`; from 2026-07-28 on each request
carries its version itself, and over HTTP repeats its method and tool in headers.
"""

from __future__ import annotations

import binascii
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from signet.kernel.errors import METHOD_NOT_FOUND
from signet.kernel.headers import METHOD, NAME, VERSION
from signet.kernel.protocol import CAPABILITIES_KEY, MODERN_VERSIONS, VERSION_KEY, Identity
from signet.kernel.wire import ProtocolError

__all__ = ["Message", "MessageBuilder", "answer_of", "check_names", "header_value", "read_raw", "read_result"]

CLIENT_INFO_KEY: Final = "io.modelcontextprotocol/clientInfo"
JSON_HEADERS: Final = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
NO_REPLY: Final = "it does not answer"
PING: Final = "ping"
MAX_NAME_CHARS: Final = 100


class Message(NamedTuple):
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

    def request(self, number: int, method: str, params: dict[str, Any]) -> Message:
        """Write a request with this number as its id."""
        headers = {**JSON_HEADERS, VERSION: self.version}
        if self.is_modern:
            meta = {VERSION_KEY: self.version, CLIENT_INFO_KEY: self.client, CAPABILITIES_KEY: {}}
            params = {**params, "_meta": meta}
            headers[METHOD] = method
            if "name" in params:
                headers[NAME] = header_value(params["name"])
        return self._message(headers, id=number, method=method, params=params)

    def initialize(self, number: int) -> Message:
        """Write the request that begins a session of the handshake era."""
        params = {"protocolVersion": self.version, "capabilities": {}, "clientInfo": self.client}
        return self._message(JSON_HEADERS, id=number, method="initialize", params=params)

    def initialized(self) -> Message:
        """Write the notification that ends the handshake."""
        return self._message({**JSON_HEADERS, VERSION: self.version}, method="notifications/initialized")

    def _message(self, headers: Mapping[str, str], **members: Any) -> Message:
        return Message(msgspec.json.encode({"jsonrpc": "2.0", **members}), headers, self.path)


def check_names(kind: str, names: Iterable[str]) -> None:
    """Raise ValueError if a server lists two entries of a kind by one name, so that a call could mean either."""
    known: set[str] = set()
    for name in names:
        if name in known:
            raise ValueError(f"it lists the {kind} {name[:MAX_NAME_CHARS]!r} twice")
        known.add(name)


def header_value(text: str) -> str:
    """Encode a value that a header cannot hold as MCP prescribes."""
    if text.isascii() and text.isprintable() and text == text.strip() and not text.startswith("=?"):
        return text
    return f"=?base64?{binascii.b2a_base64(text.encode(), newline=False).decode()}?="


class _Reply(msgspec.Struct, frozen=True):
    id: Any = None
    method: Any = None
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: Any = None


def answer_of(text: bytes) -> bytes | None:
    """Return the answer to a text if it is a request of the server: to a ping, or that its method is not known."""
    if b'"method"' not in text:
        return None
    try:
        asked = msgspec.json.decode(text, type=_Reply)
    except (ValueError, RecursionError):
        return None
    if asked.method is None or asked.id is None:
        return None
    error = {"code": METHOD_NOT_FOUND, "message": "this client has no such method"}
    said = {"result": {}} if asked.method == PING else {"error": error}
    return msgspec.json.encode({"jsonrpc": "2.0", "id": asked.id, **said})


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
            reply = msgspec.json.decode(text, type=_Reply)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            why = error
            continue
        if reply.id == number and reply.method is None:
            if reply.result is not msgspec.UNSET:
                return reply.result
            match reply.error:
                case {"code": int(code), "message": str(message), **more}:
                    raise ProtocolError(code, message, more.get("data"))
                case dict(fault):
                    why = fault.get("message", fault)
            break
    raise ValueError(why)
