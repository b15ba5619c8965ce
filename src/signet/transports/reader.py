"""The reader of one connection's requests: finds their heads and bodies in the bytes, within bounds of size.

Bytes are given to the parser up to the end of a head, of a body, or of a line of a chunked body, so that no byte of the
next request is read before it is wanted.
"""

from __future__ import annotations

from typing import Final

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser

from signet.kernel.errors import too_large

from .heads import BadRequestError, parse_head
from .messages import BODY_LIMIT_BYTES, Request

__all__ = ["HttpReader"]

MAX_HEAD_BYTES: Final = 65_536
"""The largest request line and headers together."""
MAX_HEADERS: Final = 128
MAX_CHUNKED_BYTES: Final = 8 * BODY_LIMIT_BYTES
"""The size of a chunked body with its framing and trailers: a chunk of one byte has five bytes of framing."""
LINE_END: Final = b"\r\n"
HEAD_END: Final = b"\r\n\r\n"


class HttpReader:
    """Reads one request after the other; the methods that begin with `on_` are called by the parser."""

    def __init__(self, address: str, network: str = "") -> None:
        self._address = address
        self._network = network
        self._parser = HttpRequestParser(self)
        self.request: Request | None = None
        """The request whose head is known."""
        self.is_whole = False
        """Whether its body is known too."""
        self.keep_alive = False
        """Whether its client wants to send another request."""
        self.left: int | None = 0
        """The bytes of its body that have not come; None for a chunked body."""
        self.head = b""
        """The head of the request, as far as it has come."""
        self._framed = 0
        """The bytes of a chunked body with its framing."""
        self._last = b""
        """The last byte of a line of a chunked body that goes on."""
        self._body: bytes | bytearray = b""

    def read(self, unread: bytes, at: int) -> int:
        """Read the rest of a head, or some of a body, as far as it has come, and return the place where it ends.

        Raises:
            BadRequestError: the bytes are not HTTP, or the head is too large.
            Fault: the body is too large.
        """
        if self.request is None:
            end = self._end_of_head(unread, at)
            piece = unread[at:end]
            self.head = head = self.head + piece if self.head else piece
            if len(head) > MAX_HEAD_BYTES or head.count(LINE_END) > MAX_HEADERS + 2:
                raise _too_large(head)
        elif self.left is None:
            end = self._end_of_line(unread, at)
            piece = unread[at:end]
        else:
            end = at + self.left
            piece = unread[at:end]
        feed = self._parser.feed_data
        try:
            feed(piece)
            if self.left and not self._body and end + self.left <= len(unread):
                # The body is there too.
                start, end = end, end + self.left
                feed(unread[start:end])
        except HttpParserUpgrade:
            # Another protocol is asked for. The request is answered in this one, and is the last.
            self.keep_alive = False
        except HttpParserError as error:
            if error.__context__ is not None:
                raise error.__context__ from None
            raise BadRequestError(f"This is not HTTP: {error}") from None
        return min(end, len(unread))

    def clear(self) -> None:
        """Forget the last request."""
        self.request = None
        self.is_whole = False
        self.head = self._body = b""
        if self.left is None:
            self.left = self._framed = 0
            self._last = b""

    def _end_of_head(self, unread: bytes, at: int) -> int:
        """Return the place behind the empty line that ends a head, or behind all bytes if it has not come."""
        if self.head:
            last = self.head[-3:]
            seam = (last + unread[at : at + 3]).find(HEAD_END)
            if seam >= 0:
                return at + seam + len(HEAD_END) - len(last)
        found: int = unread.find(HEAD_END, at)
        return found + len(HEAD_END) if found >= 0 else len(unread)

    def _end_of_line(self, unread: bytes, at: int) -> int:
        """Return the place behind a line of a chunked body: where the body ends, a line ends."""
        if self._last == b"\r" and unread[at : at + 1] == b"\n":
            end = at + 1
        else:
            found = unread.find(LINE_END, at)
            end = found + len(LINE_END) if found >= 0 else len(unread)
        self._last = unread[end - 1 : end]
        self._framed += end - at
        if self._framed > MAX_CHUNKED_BYTES:
            raise too_large(BODY_LIMIT_BYTES)
        return end

    def on_headers_complete(self) -> None:
        """Make a request of the head, which the parser has found to be well formed."""
        parser = self._parser
        self.request = request = parse_head(self.head, self._address)
        if self._network:
            request.network = self._network
        self.keep_alive = parser.should_keep_alive() and not parser.should_upgrade()
        headers = request.headers
        self.left = None if "transfer-encoding" in headers else int(headers.get("content-length", "0"))

    def on_body(self, data: bytes) -> None:
        """Keep a part of the body; what is over the limit is not kept."""
        if self.left is not None:
            self.left -= len(data)
        if not self._body:
            self._body = data
        elif len(self._body) + len(data) <= BODY_LIMIT_BYTES:
            if isinstance(self._body, bytes):
                self._body = bytearray(self._body)
            self._body += data
        elif self.left is None:
            raise too_large(BODY_LIMIT_BYTES)

    def on_message_complete(self) -> None:
        """Note that the request is whole."""
        if self.request is not None:
            self.request.body = bytes(self._body)
            self.is_whole = True


def _too_large(head: bytes) -> BadRequestError:
    """Return the error for a head that is not even parsed."""
    if len(head) > MAX_HEAD_BYTES:
        message = f"The request line and headers have at most {MAX_HEAD_BYTES} bytes"
        return BadRequestError(message, "HEAD_TOO_LARGE", 431)
    return BadRequestError(f"A request has at most {MAX_HEADERS} headers", "TOO_MANY_HEADERS", 431)
