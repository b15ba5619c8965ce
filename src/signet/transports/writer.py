"""The writer of one connection's responses: what is short of a turn of the loop in one write, large pieces alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

from .heads import response_head
from .messages import Request, Response
from .slots import Slots

__all__ = ["HttpWriter"]

MAX_UNSENT_BYTES: Final = 65_536
"""The size of the short responses of one turn that are kept for its end."""
PIECE_BYTES: Final = 65_536
"""The part of a body that is encrypted at a time: what lies below the encryption can be neither seen nor counted."""
ONE_WRITE_BYTES: Final = 16_384
"""The size up to which a body is copied behind its head."""


class HttpWriter:
    """Writes responses."""

    def __init__(self, transport: asyncio.Transport, slots: Slots) -> None:
        # Whatever the client does not take at once is counted (`Connection.pause_writing`), and has to be read first.
        transport.set_write_buffer_limits(1, 0)
        self._transport = transport
        self._is_encrypted = transport.get_extra_info("sslcontext") is not None
        self._slots = slots
        self._drained: asyncio.Future[None] | None = None
        self._unsent: list[bytes] = []
        """The short responses of this turn of the loop."""
        self._unsent_bytes = 0
        self.is_full = False
        """Whether the client does not take what was sent to it."""
        self._rest = memoryview(b"")
        """The part of a response that has not been handed over to the transport."""
        self.goes_on = False
        """Whether more of a response is being handed over, for which the client has had some of its time."""
        self.is_endless = False
        """Whether a stream is being sent whose end nobody waits for."""

    @property
    def unread_bytes(self) -> int:
        """The number of bytes that the client has not taken, while it does not take them."""
        below = PIECE_BYTES if self._is_encrypted else 0
        return self._transport.get_write_buffer_size() + len(self._rest) + below

    @property
    def has_rest(self) -> bool:
        """Whether a part of a response has not been handed over to the transport."""
        return bool(self._rest)

    def pause(self) -> None:
        """Write no more until `resume`."""
        self.is_full = True
        if self._drained is None:
            self._drained = self._slots.loop.create_future()

    def resume(self) -> bool:
        """Write on; return whether everything is written."""
        self.is_full, self.goes_on = False, True
        self._write_rest()
        self.goes_on = False
        if self.is_full:
            return False
        drained, self._drained = self._drained, None
        if drained is not None and not drained.done():
            drained.set_result(None)
        return True

    def forget(self) -> None:
        """Drop what has not been handed over to the transport: the connection is closed."""
        self._rest = memoryview(b"")

    def write(self, request: Request | None, response: Response, *, keep_alive: bool) -> None:
        """Write a response, a short one at the end of the loop's turn; for a HEAD request, only its head."""
        head = response_head(request, response, keep_alive=keep_alive, date=self._slots.date)
        body = b"" if request is not None and request.method == "HEAD" else response.body
        if len(body) > ONE_WRITE_BYTES:
            self.flush()
            if self._is_encrypted:
                self._transport.write(head)
                self._write_in_pieces(body)
            else:
                self._transport.writelines((head, body))
            return
        self._write_later(head + body)

    def write_now(self, data: bytes) -> None:
        """Write bytes at once, behind what was written before them."""
        self.flush()
        self._transport.write(data)

    async def drain(self) -> None:
        """Return when the client has taken what was written."""
        if self._drained is not None:
            await self._drained

    def _write_later(self, data: bytes) -> None:
        """Write a short piece, together with all others of this turn of the loop."""
        if not self._unsent:
            self._slots.flush_later(self.flush)
        self._unsent.append(data)
        self._unsent_bytes += len(data)
        if self._unsent_bytes > MAX_UNSENT_BYTES:
            self.flush()

    def flush(self) -> None:
        """Hand over to the transport what was written in this turn, unless the connection is closed."""
        if self._unsent:
            unsent, self._unsent, self._unsent_bytes = self._unsent, [], 0
            if not self._transport.is_closing():
                self._transport.write(unsent[0] if len(unsent) == 1 else b"".join(unsent))

    def close(self) -> None:
        """Close the connection, behind what was written."""
        self.flush()
        self._transport.close()

    async def stream(
        self, request: Request, response: Response, events: AsyncGenerator[bytes, None], *, keep_alive: bool
    ) -> None:
        """Write a response in pieces, as they come; in HTTP/1.0, which has no chunks, the connection's end ends it."""
        chunked = request.version != "1.0"
        self._write_later(response_head(request, response, keep_alive=keep_alive, date=self._slots.date))
        self.is_endless = response.is_endless
        async with aclosing(events):
            async for event in events:
                if self._drained is not None:
                    await self._drained
                if len(event) > ONE_WRITE_BYTES:
                    await self._send_large(event, chunked=chunked)
                else:
                    self._write_later(b"%x\r\n%b\r\n" % (len(event), event) if chunked else event)
        self.is_endless = False
        if chunked:
            self._write_later(b"0\r\n\r\n")

    async def _send_large(self, event: bytes, *, chunked: bool) -> None:
        """Write one event without a copy of it, and wait until the client has taken it."""
        self.flush()
        if chunked:
            self._transport.write(b"%x\r\n" % len(event))
        self._write_in_pieces(event)
        if self._drained is not None:
            await self._drained
        if chunked:
            self._transport.write(b"\r\n")

    def _write_in_pieces(self, body: bytes) -> None:
        """Hand a body over to the transport: as a whole where what is not sent can be counted, else piece by piece."""
        if not self._is_encrypted:
            self._transport.write(body)
            return
        self._rest = memoryview(body)
        if self._drained is None:
            self._write_rest()

    def _write_rest(self) -> None:
        while self._rest and not self.is_full:
            piece, self._rest = self._rest[:PIECE_BYTES], self._rest[PIECE_BYTES:]
            self._transport.write(piece)
