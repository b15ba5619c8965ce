"""The reader of one connection's requests: finds their heads and bodies in the bytes, within bounds of size.

A request is read to its end and no further: to the end of its head, of a body of known length, or of a line of a
chunked body, so that no byte of the next request is read before it is wanted.
"""

from __future__ import annotations

from typing import Final

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser

from signet.kernel.errors import too_large

from .heads import HeadParser, check_size, not_http, parse_head
from .messages import BODY_LIMIT_BYTES, Request

__all__ = ["HttpReader"]

MAX_CHUNKED_BYTES: Final = 8 * BODY_LIMIT_BYTES
"""The size of a chunked body with its framing and trailers: a chunk of one byte has five bytes of framing."""
LINE_END: Final = b"\r\n"
HEAD_END: Final = b"\r\n\r\n"


class HttpReader:
    """Reads one request after the other; the methods that begin with `on_` are called by the parser."""

    def __init__(self, address: str, network: str = "") -> None:
        self._address = address
        self._network = network
        self._pieces: HeadParser | None = None
        """The parser of a head that comes in pieces."""
        self._parser: HttpRequestParser | None = None
        """The parser of a chunked body."""
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
        self._body = bytearray()
        """The body of the request, where it comes in pieces."""

    def read(self, unread: bytes, at: int) -> int:
        """Read the rest of a head, or some of a body, as far as it has come, and return the place where it ends.

        Raises:
            BadRequestError: the bytes are not HTTP, or the head is too large.
            Fault: the body is too large.
        """
        if self.request is not None:
            return self._read_line(unread, at) if self.left is None else self._read_body(unread, at)
        end = unread.find(HEAD_END, at) + len(HEAD_END)
        if self.head or end < len(HEAD_END) or unread.startswith(LINE_END, at):
            return self._read_piece(unread, at)
        return self._begin(unread[at:end], unread, end)

    def clear(self) -> None:
        """Forget the last request."""
        self.request = None
        self.is_whole = False
        self.head = b""
        if self._body:
            self._body = bytearray()
        if self._parser is not None:
            self._parser = None
            self.left = self._framed = 0
            self._last = b""

    def _begin(self, head: bytes, unread: bytes, end: int) -> int:
        """Make a request of a head, and of its body if that has come too; return the place where it ends."""
        parsed = parse_head(head)
        self.head, self.keep_alive, self.left = head, parsed.keep_alive, parsed.length
        request = Request(parsed.method, parsed.path, parsed.headers, parsed.version, self._address)
        self.request = request
        if self._network:
            request.network = self._network
        left = parsed.length
        if left is None:
            self._parser = HttpRequestParser(self)
            self._feed(head)
        elif end + left <= len(unread):
            request.body = unread[end : end + left]
            self.left, self.is_whole = 0, True
            return end + left
        return end

    def _read_piece(self, unread: bytes, at: int) -> int:
        """Read a piece of a head, which may be its last, and check it: what is not HTTP is refused as it comes."""
        if self._pieces is None:
            self._pieces = HeadParser()
        end = self._end_of_head(unread, at)
        piece = unread[at:end]
        self.head = head = self.head + piece
        check_size(head)
        if not self._pieces.feed(piece):
            return end
        self._pieces = None
        return self._begin(head, unread, end)

    def _end_of_head(self, unread: bytes, at: int) -> int:
        """Return the place behind the empty line that ends a head, or behind all bytes if it has not come."""
        last = self.head[-3:]
        seam = (last + unread[at : at + 3]).find(HEAD_END)
        if seam >= 0:
            return at + seam + len(HEAD_END) - len(last)
        found = unread.find(HEAD_END, at)
        return found + len(HEAD_END) if found >= 0 else len(unread)

    def _read_body(self, unread: bytes, at: int) -> int:
        """Read some of a body of known length; what is over the limit is not kept."""
        left = self.left or 0
        piece = unread[at : at + left]
        self.left = left = left - len(piece)
        if len(self._body) + len(piece) <= BODY_LIMIT_BYTES:
            self._body += piece
        if not left:
            self.on_message_complete()
        return at + len(piece)

    def _read_line(self, unread: bytes, at: int) -> int:
        """Read a line of a chunked body: where the body ends, a line ends."""
        if self._last == b"\r" and unread[at : at + 1] == b"\n":
            end = at + 1
        else:
            found = unread.find(LINE_END, at)
            end = found + len(LINE_END) if found >= 0 else len(unread)
        self._last = unread[end - 1 : end]
        self._framed += end - at
        if self._framed > MAX_CHUNKED_BYTES:
            raise too_large(BODY_LIMIT_BYTES)
        self._feed(unread[at:end])
        return end

    def _feed(self, piece: bytes) -> None:
        """Give the parser of a chunked body some of its request; raise what it or its callbacks find wrong."""
        if self._parser is None:
            return
        try:
            self._parser.feed_data(piece)
        except HttpParserUpgrade:
            # Another protocol is asked for. The request is answered in this one, and is the last.
            self.keep_alive = False
        except HttpParserError as error:
            if error.__context__ is not None:
                raise error.__context__ from None
            raise not_http(error) from None

    def on_body(self, data: bytes) -> None:
        """Keep a part of a chunked body."""
        if len(self._body) + len(data) > BODY_LIMIT_BYTES:
            raise too_large(BODY_LIMIT_BYTES)
        self._body += data

    def on_message_complete(self) -> None:
        """Note that the request is whole."""
        if self.request is not None:
            self.request.body = bytes(self._body)
            self.is_whole = True
