"""The reader of one connection's requests: finds their heads and bodies in the bytes, within bounds of size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from httptools import HttpParserCallbackError, HttpParserError, HttpParserUpgrade, HttpRequestParser

from signet.kernel.errors import too_large

from .heads import BadRequestError, read_head
from .messages import BODY_LIMIT_BYTES, Request

__all__ = ["HttpReader"]

MAX_HEAD_BYTES: Final = 65_536
"""The largest request line and headers together."""
MAX_HEADERS: Final = 128
MAX_CHUNKED_BYTES: Final = 8 * BODY_LIMIT_BYTES
"""The size of a chunked body with its framing and trailers: a chunk of one byte has five bytes of framing."""
PIECE_BYTES: Final = 4096
"""The size of the pieces in which a chunked body is parsed: a piece may reach into the requests after the body."""
HEAD_END: Final = b"\r\n\r\n"


class HttpReader:
    """Reads requests; the methods that begin with `on_` are called by the parser."""

    def __init__(
        self, address: str, on_head: Callable[[Request, int | None], None], on_request: Callable[[Request, bool], None]
    ) -> None:
        self._address = address
        self._on_head = on_head
        """Called with a request, and the length of its body: None for a chunked one."""
        self._on_request = on_request
        """Called with a request whose body is whole, and whether its client wants to send another."""
        self._parser = HttpRequestParser(self)
        self.ended = False
        """Whether nothing behind the last request is HTTP: another protocol was asked for."""
        self.request: Request | None = None
        """The request whose body is being read."""
        self._keep_alive = False
        self._target = b""
        self._fields: list[tuple[bytes, bytes]] = []
        self._framed = 0
        """The bytes of the head so far; of a chunked body, its bytes with its framing."""
        self._last = b""
        """The last three bytes of a head that goes on."""
        self._left: int | None = 0
        """The bytes of the body that have not come; None for a chunked body."""
        self._body: bytes | bytearray = b""

    @property
    def has_begun(self) -> bool:
        """Return whether a part of a request has come."""
        return self._framed > 0 or self.request is not None

    def read(self, unread: bytes, at: int) -> int:
        """Parse the rest of a head or of a body, as far as it has come, and return the place where it ends.

        Raises:
            BadRequestError: the bytes are not HTTP, or the head is too large.
            Fault: the body is too large.
        """
        if self.request is None:
            end = self._end_of_head(unread, at)
            self._framed += end - at
            if self._framed > MAX_HEAD_BYTES:
                message = f"The request line and headers have at most {MAX_HEAD_BYTES} bytes"
                raise BadRequestError(message, "HEAD_TOO_LARGE", 431)
        elif self._left is None:
            end = min(at + PIECE_BYTES, len(unread))
            self._framed += end - at
            if self._framed > MAX_CHUNKED_BYTES:
                raise too_large(BODY_LIMIT_BYTES)
        else:
            end = min(at + self._left, len(unread))
        piece = unread[at:end]
        self._last = piece[-3:] if len(piece) > len(HEAD_END) else (self._last + piece)[-3:]
        try:
            self._parser.feed_data(piece)
        except HttpParserUpgrade:
            self.ended = True
        except HttpParserCallbackError as error:
            raise error.__context__ or error from None
        except HttpParserError as error:
            message = f"This is not HTTP: {error}"
            raise BadRequestError(message) from None
        return end

    def _end_of_head(self, unread: bytes, at: int) -> int:
        """Return the place behind the empty line that ends a head, or behind all bytes if it has not come."""
        if self._last:
            seam = (self._last + unread[at : at + 3]).find(HEAD_END)
            if seam >= 0:
                return at + seam + len(HEAD_END) - len(self._last)
        found: int = unread.find(HEAD_END, at)
        return found + len(HEAD_END) if found >= 0 else len(unread)

    def on_url(self, url: bytes) -> None:
        """Keep a part of the request's target."""
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header; a trailer, which comes after the head, changes nothing."""
        if self.request is None:
            self._fields.append((name, value))
            if len(self._fields) > MAX_HEADERS:
                message = f"A request has at most {MAX_HEADERS} headers"
                raise BadRequestError(message, "TOO_MANY_HEADERS", 431)

    def on_headers_complete(self) -> None:
        """Tell of the head."""
        parser = self._parser
        request = read_head(parser.get_method(), self._target, self._fields, parser.get_http_version(), self._address)
        self._keep_alive = parser.should_keep_alive() and not parser.should_upgrade()
        headers = request.headers
        self._left = None if "transfer-encoding" in headers else int(headers.get("content-length", "0"))
        self._framed = 0
        self.request = request
        self._on_head(request, self._left)

    def on_body(self, data: bytes) -> None:
        """Keep a part of the body; what is over the limit is not kept."""
        if self._left is not None:
            self._left -= len(data)
        if not self._body:
            self._body = data
        elif len(self._body) + len(data) <= BODY_LIMIT_BYTES:
            if isinstance(self._body, bytes):
                self._body = bytearray(self._body)
            self._body += data
        elif self._left is None:
            raise too_large(BODY_LIMIT_BYTES)

    def on_message_complete(self) -> None:
        """Tell of the whole request."""
        request = self.request
        if request is not None:
            request.body = bytes(self._body)
            keep_alive = self._keep_alive
            self._clear()
            self._on_request(request, keep_alive)

    def _clear(self) -> None:
        """Forget the last request."""
        self.request = None
        self._framed = self._left = 0
        self._last = self._target = self._body = b""
        self._fields = []
