"""HTTP/1.1 messages as values: requests to parse and responses to write; pure, no I/O."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Final

import msgspec

from signet.kernel.errors import Code, Fault

__all__ = ["SandboxRequest", "SandboxResponse", "json_response", "parse_head", "problem_response", "response_head"]

MAX_BODY_BYTES: Final = 65_536
"""The largest request body that is read; only fault rules come with a body."""

BODILESS: Final = {HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED}
"""Statuses that carry neither a body nor a content-length."""

REASONS: Final = {status.value: status.phrase for status in HTTPStatus}

_REQUEST_LINE: Final = re.compile(r"([!-~]+) (/[!-~]*) (HTTP/1\.[01])")
_FIELD: Final = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*")


class SandboxRequest(msgspec.Struct, frozen=True):
    """A request as the client sent it: the target is raw, header names are in lower case."""

    method: str
    target: str
    headers: dict[str, str] = {}
    version: str = "HTTP/1.1"
    body: bytes = b""

    @property
    def path(self) -> str:
        """The raw target before its question mark."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        """The raw target after its question mark."""
        return self.target.partition("?")[2]

    @property
    def keep_alive(self) -> bool:
        """True if the client wants to reuse the connection."""
        connection = self.headers.get("connection", "").lower()
        return connection == "keep-alive" if self.version == "HTTP/1.0" else connection != "close"

    @property
    def content_length(self) -> int:
        """The number of body bytes that follow the head.

        Raises:
            Fault: the length is missing, malformed or too large.
        """
        length = self.headers.get("content-length", "0")
        if "transfer-encoding" in self.headers:
            raise Fault(Code.INVALID_INPUT, "a body must state its length", status=HTTPStatus.LENGTH_REQUIRED)
        if not (length.isascii() and length.isdigit()):
            raise Fault(Code.INVALID_INPUT, "the content-length is no number")
        if len(length) > len(str(MAX_BODY_BYTES)) or int(length) > MAX_BODY_BYTES:
            message = f"a body may hold {MAX_BODY_BYTES} bytes"
            raise Fault(Code.INVALID_INPUT, message, status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        return int(length)


class SandboxResponse(msgspec.Struct, frozen=True):
    """A response to send; `type` None sends no content-type, `chunked` replaces the content-length."""

    status: int = 200
    body: bytes = b""
    type: str | None = "application/json"
    headers: dict[str, str] = {}
    chunked: bool = False


def json_response(value: object, status: int = 200) -> SandboxResponse:
    """Return a response with a value as JSON."""
    return SandboxResponse(status, msgspec.json.encode(value))


def problem_response(status: int, detail: str, headers: dict[str, str] | None = None) -> SandboxResponse:
    """Return an RFC 7807 problem with the status's usual title."""
    problem = {"type": "about:blank", "title": REASONS.get(status, "Unknown"), "status": status, "detail": detail}
    return SandboxResponse(status, msgspec.json.encode(problem), "application/problem+json", headers or {})


def response_head(response: SandboxResponse, length: int | None, *, keep_alive: bool) -> bytes:
    """Write the status line and the headers; `length` is the content-length to declare, None declares none."""
    fields = dict(response.headers)
    if response.type is not None:
        fields["content-type"] = response.type
    if response.chunked:
        fields["transfer-encoding"] = "chunked"
    elif length is not None and response.status not in BODILESS:
        fields["content-length"] = str(length)
    if not keep_alive:
        fields["connection"] = "close"
    reason = REASONS.get(response.status, "Unknown")
    lines = [f"HTTP/1.1 {response.status} {reason}", *(f"{n}: {v}" for n, v in fields.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def parse_head(head: bytes) -> SandboxRequest:
    """Parse a request line and its headers, repeated ones joined with a comma; raise Fault if one is malformed."""
    first, *rest = head.decode("latin-1").split("\r\n")
    line = _REQUEST_LINE.fullmatch(first)
    if line is None:
        raise Fault(Code.INVALID_INPUT, "the request line is not one of HTTP/1.1 with a path")
    headers: dict[str, str] = {}
    for text in rest:
        field = _FIELD.fullmatch(text)
        if field is None:
            raise Fault(Code.INVALID_INPUT, "a header is none")
        name, value = field[1].lower(), field[2]
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return SandboxRequest(line[1], line[2], headers, line[3])
