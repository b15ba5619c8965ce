"""The heads of HTTP/1.1 messages: a request's as a value, a response's as bytes."""

from __future__ import annotations

from functools import lru_cache
from http import HTTPStatus
from typing import Final

from signet.kernel.errors import Code, Fault
from signet.kernel.wire import Headers

from .messages import Fields, Request, Response

__all__ = ["NO_LENGTH", "BadRequestError", "read_head", "response_head"]

SINGLE: Final = frozenset({"host", "origin", "authorization", "content-length", "transfer-encoding"})
"""The headers that decide who may call and where a request ends: two of one kind may be read in two ways."""
NO_LENGTH: Final = frozenset({204, 304})
"""The statuses whose responses do not state a length, because they have no body."""

VERSIONS: Final = ("1.1", "1.0")
CHUNKED: Final = "chunked"
KEEP_ALIVE_LINE: Final = b"connection: keep-alive\r\n"
CLOSE_LINE: Final = b"connection: close\r\n"
CHUNKED_LINE: Final = b"transfer-encoding: chunked\r\n"
END: Final = b"\r\n"


class BadRequestError(Exception):
    """A request that cannot be read."""

    def __init__(self, message: str, name: str = "BAD_REQUEST", status: int = 400) -> None:
        super().__init__(message)
        self.fault = Fault(Code.INVALID_INPUT, message, name=name, status=status)


def read_head(
    method: bytes, target: bytes, fields: list[tuple[bytes, bytes]], version: str, address: str = ""
) -> Request:
    """Return the request that a head begins.

    Raises:
        BadRequestError: the head can be read in two ways.
    """
    headers = Headers([(n.lower().decode("latin-1"), v.decode("latin-1").strip(" \t")) for n, v in fields])
    if headers.repeated and not headers.repeated.isdisjoint(SINGLE):
        message = f"{min(headers.repeated & SINGLE)} is sent more than once"
        raise BadRequestError(message)
    if version not in VERSIONS:
        raise BadRequestError("Only HTTP/1.1 and HTTP/1.0 are served", "VERSION_NOT_SUPPORTED", 505)
    if headers.get("transfer-encoding", CHUNKED).lower() != CHUNKED or (
        version == "1.0" and "transfer-encoding" in headers
    ):
        raise BadRequestError("The only transfer-encoding is chunked, in HTTP/1.1")
    path = target.decode("latin-1")
    if path[:1] != "/" or "?" in path or "#" in path:
        path = _path_of(path, headers)
    return Request(method.decode(), path, headers, address, version)


def response_head(request: Request | None, response: Response, *, keep_alive: bool, date: bytes) -> bytes:
    """Return the head of a response, with the line between head and body."""
    head = _fixed_head(response.status, response.headers)
    if response.events is not None:
        head += CHUNKED_LINE if request is None or request.version != "1.0" else b""
    elif response.status not in NO_LENGTH:
        head += b"content-length: %d\r\n" % len(response.body)
    if not keep_alive:
        head += CLOSE_LINE
    elif request is not None and request.version == "1.0":
        head += KEEP_ALIVE_LINE
    return head + date + END


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
