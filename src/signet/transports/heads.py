"""The heads of HTTP/1.1 messages: a request's as a value, a response's as bytes."""

from __future__ import annotations

import re
from functools import lru_cache
from http import HTTPStatus
from typing import Final

from signet.kernel.errors import Code, Fault
from signet.kernel.wire import Headers

from .messages import Fields, Request, Response

__all__ = ["NO_LENGTH", "BadRequestError", "check_head", "parse_head", "response_head"]

SINGLE: Final = frozenset({"host", "origin", "authorization", "content-length", "transfer-encoding"})
"""The headers that decide who may call and where a request ends: two of one kind may be read in two ways."""
NO_LENGTH: Final = frozenset({204, 304})
"""The statuses whose responses do not state a length, because they have no body."""

VERSIONS: Final = ("1.1", "1.0")
LINE_END: Final = "\r\n"
MAX_KEPT_BYTES: Final = 1024
"""The size of a head up to which it is kept, parsed."""
FIELD: Final = re.compile("([^:]+):[ \\t]*([^\\r]*)\r\n")
"""A header, in a head that is known to be well formed."""
KEEP_ALIVE_LINE: Final = b"connection: keep-alive\r\n"
CLOSE_LINE: Final = b"connection: close\r\n"
CHUNKED_LINE: Final = b"transfer-encoding: chunked\r\n"
END: Final = b"\r\n"


class BadRequestError(Exception):
    """A request that cannot be read."""

    def __init__(self, message: str, name: str = "BAD_REQUEST", status: int = 400) -> None:
        super().__init__(message)
        self.fault = Fault(Code.INVALID_INPUT, message, name=name, status=status)


def parse_head(head: bytes, address: str = "") -> Request:
    """Return the request that a well-formed head begins.

    Raises:
        BadRequestError: the head can be read in two ways.
    """
    parse = _parse if len(head) <= MAX_KEPT_BYTES else _parse.__wrapped__
    return Request(*parse(head), address)


@lru_cache(maxsize=1024)
def _parse(head: bytes) -> tuple[str, str, Headers, str]:
    """Return the parts of a head. They are kept: most clients send the same few heads again and again."""
    start, _, rest = head.decode("latin-1").lstrip(LINE_END).partition(LINE_END)
    method, target, version = (*start.split(), "")[:3]
    fields = FIELD.findall(rest)
    names, values = zip(*fields, strict=True) if fields else ((), ())
    headers = Headers([name.lower() for name in names], [value.rstrip(" \t") for value in values])
    return check_head(method, target, headers, version.removeprefix("HTTP/"))


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
    is_old = request is not None and request.version == "1.0"
    connection = (KEEP_ALIVE_LINE if is_old else b"") if keep_alive else CLOSE_LINE
    length = b""
    if response.events is not None:
        length = b"" if is_old else CHUNKED_LINE
    elif response.status not in NO_LENGTH:
        length = b"content-length: %d\r\n" % len(response.body)
    if request is None:
        # Its fields have an id that does not come again.
        return b"%b%b%b%b\r\n" % (_fixed_head.__wrapped__(response.status, response.headers), length, connection, date)
    request_id = request.caller.request_id
    line = b"x-request-id: %b\r\n" % request_id.encode() if request_id else b""
    return b"%b%b%b%b%b\r\n" % (_fixed_head(response.status, response.headers), length, line, connection, date)


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
def _fixed_head(status: int, fields: Fields) -> bytes:
    lines = [b"HTTP/1.1 %d %s" % (status, HTTPStatus(status).phrase.encode())]
    lines += [name + b": " + value for name, value in fields]
    return END.join(lines) + END
