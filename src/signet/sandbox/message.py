"""HTTP/1.1 messages as values: a request that was read, a response to be written; pure, no I/O."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Final

import msgspec

from signet.kernel.errors import Code, Fault

__all__ = ["PROBLEM", "SandboxRequest", "SandboxResponse", "head_of", "json_of", "parse", "phrase_of", "problem_of"]

MAX_BODY_BYTES: Final = 65_536
"""The largest body of a request that is read; only orders come with one."""

PROBLEM: Final = "application/problem+json"
BODILESS: Final = {HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED}
"""What has neither a body nor a length by its nature."""

_LINE: Final = re.compile(r"([!-~]+) (/[!-~]*) (HTTP/1\.[01])")
_FIELD: Final = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*")


class SandboxRequest(msgspec.Struct, frozen=True):
    """One request as it was sent: the target raw, the names of the headers in lower case."""

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
    def stays(self) -> bool:
        """Whether the peer wants the connection kept."""
        asked = self.headers.get("connection", "").lower()
        return asked == "keep-alive" if self.version == "HTTP/1.0" else asked != "close"

    @property
    def length(self) -> int:
        """How many bytes of body follow the head.

        Raises:
            Fault: it cannot be told, or is too much.
        """
        told = self.headers.get("content-length", "0")
        if "transfer-encoding" in self.headers:
            raise Fault(Code.INVALID_INPUT, "a body must state its length", status=HTTPStatus.LENGTH_REQUIRED)
        if not (told.isascii() and told.isdigit()):
            raise Fault(Code.INVALID_INPUT, "the content-length is no number")
        if len(told) > len(str(MAX_BODY_BYTES)) or int(told) > MAX_BODY_BYTES:
            message = f"a body may hold {MAX_BODY_BYTES} bytes"
            raise Fault(Code.INVALID_INPUT, message, status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        return int(told)


class SandboxResponse(msgspec.Struct, frozen=True):
    """One answer; `type` None sends no content type, `chunked` sends chunks in place of a length."""

    status: int = 200
    body: bytes = b""
    type: str | None = "application/json"
    headers: dict[str, str] = {}
    chunked: bool = False


def json_of(value: object, status: int = 200) -> SandboxResponse:
    """Answer with a value as JSON."""
    return SandboxResponse(status, msgspec.json.encode(value))


def problem_of(status: int, detail: str, headers: dict[str, str] | None = None) -> SandboxResponse:
    """Answer with an RFC 7807 problem under the status's usual title."""
    problem = {"type": "about:blank", "title": phrase_of(status), "status": status, "detail": detail}
    return SandboxResponse(status, msgspec.json.encode(problem), PROBLEM, headers or {})


def phrase_of(status: int) -> str:
    """Name a status; one that nobody has defined goes by its class."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"


def head_of(response: SandboxResponse, length: int | None, *, stays: bool) -> bytes:
    """Write the head of an answer, with whatever length it is to promise; None promises none."""
    fields = dict(response.headers)
    if response.type is not None:
        fields["content-type"] = response.type
    if response.chunked:
        fields["transfer-encoding"] = "chunked"
    elif length is not None and response.status not in BODILESS:
        fields["content-length"] = str(length)
    if not stays:
        fields["connection"] = "close"
    lines = [f"HTTP/1.1 {response.status} {phrase_of(response.status)}", *(f"{n}: {v}" for n, v in fields.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def parse(head: bytes) -> SandboxRequest:
    """Read the head of a request.

    Raises:
        Fault: it is none.
    """
    first, *rest = head.decode("latin-1").split("\r\n")
    line = _LINE.fullmatch(first)
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
