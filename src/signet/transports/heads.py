"""The heads of HTTP/1.1 messages: a request's as a value, a response's as bytes."""

from __future__ import annotations

import re
from functools import lru_cache
from http import HTTPStatus
from typing import Final

import msgspec
from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser

from signet.kernel.errors import Code, Fault
from signet.kernel.wire import Headers

from .messages import Fields, Request, Response

__all__ = [
    "NO_LENGTH",
    "BadRequestError",
    "HeadParser",
    "RequestHead",
    "check_head",
    "check_size",
    "not_http",
    "parse_head",
    "response_head",
]

SINGLE: Final = frozenset({"host", "origin", "authorization", "content-length", "transfer-encoding"})
"""The headers that decide who may call and where a request ends: two of one kind may be read in two ways."""
NO_LENGTH: Final = frozenset({204, 304})
"""The statuses whose responses do not state a length, because they have no body."""

VERSIONS: Final = ("1.1", "1.0")
LINE_END: Final = "\r\n"
MAX_HEAD_BYTES: Final = 65_536
"""The largest request line and headers together."""
MAX_HEADERS: Final = 128
MAX_KEPT_BYTES: Final = 1024
"""The size of a head up to which it is kept, parsed."""
FIELD: Final = re.compile("([^:]+):[ \\t]*([^\\r]*)\r\n")
"""A header, in a head that is known to be well formed."""
KEEP_ALIVE: Final = b"connection: keep-alive"
CLOSE: Final = b"connection: close"
CHUNKED: Final = b"transfer-encoding: chunked"
END: Final = b"\r\n"


class BadRequestError(Exception):
    """A request that cannot be read."""

    def __init__(self, message: str, name: str = "BAD_REQUEST", status: int = 400) -> None:
        super().__init__(message)
        self.fault = Fault(Code.INVALID_INPUT, message, name=name, status=status)


class RequestHead(msgspec.Struct, frozen=True):
    """What the head of a request says."""

    method: str
    path: str
    headers: Headers
    version: str
    keep_alive: bool
    """Whether the client wants to send another request."""
    length: int | None
    """The length of the body; None for a chunked one."""


class HeadParser:
    """The parser of one head, which may come in pieces; it calls the method that begins with `on_`."""

    def __init__(self) -> None:
        self._parser = HttpRequestParser(self)
        self.is_whole = False
        self.keep_alive = False

    def feed(self, piece: bytes) -> bool:
        """Parse a piece and return whether the head is whole; raise BadRequestError if it is not HTTP."""
        try:
            self._parser.feed_data(piece)
        except HttpParserUpgrade:
            # Another protocol is asked for. The request is answered in this one, and is the last.
            self.keep_alive = False
        except HttpParserError as error:
            raise not_http(error) from None
        return self.is_whole

    def on_headers_complete(self) -> None:
        """Note that the head is whole."""
        parser = self._parser
        self.is_whole = True
        self.keep_alive = parser.should_keep_alive() and not parser.should_upgrade()


def parse_head(head: bytes) -> RequestHead:
    """Return what a whole head says.

    Raises:
        BadRequestError: it is not HTTP, is too large, or can be read in two ways.
    """
    return _parse(head) if len(head) <= MAX_KEPT_BYTES else _parse.__wrapped__(head)


@lru_cache(maxsize=1024)
def _parse(head: bytes) -> RequestHead:
    """Return what a head says. It is kept: most clients send the same few heads again and again."""
    check_size(head)
    parser = HeadParser()
    if not parser.feed(head):
        raise BadRequestError("This is not HTTP: the head does not end where it should")
    start, _, rest = head.decode("latin-1").lstrip(LINE_END).partition(LINE_END)
    method, target, version = (*start.split(), "")[:3]
    fields = FIELD.findall(rest)
    names, values = zip(*fields, strict=True) if fields else ((), ())
    headers = Headers([name.lower() for name in names], [value.rstrip(" \t") for value in values])
    parts = check_head(method, target, headers, version.removeprefix("HTTP/"))
    length = None if "transfer-encoding" in headers else int(headers.get("content-length", "0"))
    # CONNECT has no body, whatever it says of its length.
    return RequestHead(*parts, keep_alive=parser.keep_alive, length=0 if method == "CONNECT" else length)


def check_size(head: bytes) -> None:
    """Raise BadRequestError for a head, or the beginning of one, that is too large to be parsed."""
    if len(head) > MAX_HEAD_BYTES:
        message = f"The request line and headers have at most {MAX_HEAD_BYTES} bytes"
        raise BadRequestError(message, "HEAD_TOO_LARGE", 431)
    if head.count(END) > MAX_HEADERS + 2:
        raise BadRequestError(f"A request has at most {MAX_HEADERS} headers", "TOO_MANY_HEADERS", 431)


def not_http(error: HttpParserError) -> BadRequestError:
    """Return the error for bytes that the parser refuses."""
    return BadRequestError(f"This is not HTTP: {error}")


def check_head(method: str, target: str, headers: Headers, version: str) -> tuple[str, str, Headers, str]:
    """Return the method, the path, the headers and the version of a request.

    Raises:
        BadRequestError: the head can be read in two ways.
    """
    if headers.repeated and not headers.repeated.isdisjoint(SINGLE):
        raise BadRequestError(f"{min(headers.repeated & SINGLE)} is sent more than once")
    if version not in VERSIONS:
        raise BadRequestError("Only HTTP/1.1 and HTTP/1.0 are served", "VERSION_NOT_SUPPORTED", 505)
    if "transfer-encoding" in headers and (headers["transfer-encoding"].lower() != "chunked" or version == "1.0"):
        raise BadRequestError("The only transfer-encoding is chunked, in HTTP/1.1")
    if target[:1] != "/" or "?" in target or "#" in target:
        target = _path_of(target, headers)
    return method, target, headers, version


def response_head(request: Request | None, response: Response, *, keep_alive: bool, date: bytes) -> bytes:
    """Return the head of a response, with the line between head and body."""
    status, is_chunked = response.status, response.events is not None
    length = b"" if is_chunked or status in NO_LENGTH else b"content-length: %d\r\n" % len(response.body)
    if request is None:
        # Its fields have an id that does not come again.
        return b"%b%b%b\r\n" % (
            _fixed.__wrapped__(status, response.headers, "1.1", is_chunked, keep_alive),
            length,
            date,
        )
    fixed = _fixed(status, response.headers, request.version, is_chunked, keep_alive)
    request_id = request.caller.request_id
    if not request_id:
        return b"%b%b%b\r\n" % (fixed, length, date)
    return b"%b%bx-request-id: %b\r\n%b\r\n" % (fixed, length, request_id.encode(), date)


def _path_of(target: str, headers: Headers) -> str:
    """Return the path of a request's target, without its query.

    A target with a host of its own (`http://host/path`) is taken only if Host says the same, since both could be meant.
    """
    scheme, separator, rest = target.partition("://")
    if target[:1] != "/" and separator and scheme.lower() in {"http", "https"}:
        authority, slash, path = rest.partition("/")
        if authority.lower() != headers.get("host", "").lower():
            raise BadRequestError("The host of the request line is not that of the Host header")
        target = slash + path or "/"
    return target.partition("?")[0].partition("#")[0]


@lru_cache(maxsize=256)
def _fixed(status: int, fields: Fields, version: str, is_chunked: bool, keep_alive: bool) -> bytes:  # noqa: FBT001 - keywords would take longer to look up
    """Return the lines that are the same in many responses."""
    is_old = version == "1.0"
    lines = [b"HTTP/1.1 %d %s" % (status, HTTPStatus(status).phrase.encode())]
    lines += [name + b": " + value for name, value in fields]
    if is_chunked and not is_old:
        lines.append(CHUNKED)
    if not keep_alive:
        lines.append(CLOSE)
    elif is_old:
        lines.append(KEEP_ALIVE)
    return END.join(lines) + END
