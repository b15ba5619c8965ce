"""The writer of one connection's responses: those of a turn of the loop in one write, streams piece by piece."""

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
"""The number of unsent bytes above which the client has to read before it gets more."""
ONE_WRITE_BYTES: Final = 16_384
"""The size up to which a body is copied behind its head."""


class HttpWriter:
    """Writes responses."""

    def __init__(self, transport: asyncio.Transport, slots: Slots) -> None:
        transport.set_write_buffer_limits(MAX_UNSENT_BYTES)
        self._transport = transport
        self._slots = slots
        self._drained: asyncio.Future[None] | None = None
        self._unsent: list[bytes] = []
        """The short responses of this turn of the loop."""
        self._unsent_bytes = 0
        self.is_full = False
        """Whether the client does not take what was sent to it."""
        self.is_endless = False
        """Whether a stream is being sent whose end nobody waits for."""

    def pause(self) -> None:
        """Write no more until `resume`."""
        self.is_full = True
        self._drained = self._slots.loop.create_future()

    def resume(self) -> None:
        """Write on."""
        self.is_full = False
        drained, self._drained = self._drained, None
        if drained is not None and not drained.done():
            drained.set_result(None)

    def write(self, request: Request | None, response: Response, *, keep_alive: bool) -> None:
        """Write a response, a short one at the end of the loop's turn; for a HEAD request, only its head."""
        head = response_head(request, response, keep_alive=keep_alive, date=self._slots.date)
        body = b"" if request is not None and request.method == "HEAD" else response.body
        if len(body) > ONE_WRITE_BYTES:
            self.flush()
            self._transport.writelines((head, body))
            return
        if not self._unsent:
            self._slots.flush_later(self.flush)
        self._unsent.append(head + body)
        self._unsent_bytes += len(head) + len(body)
        if self._unsent_bytes > MAX_UNSENT_BYTES:
            self.flush()

    def write_now(self, data: bytes) -> None:
        """Write bytes at once, behind what was written before them."""
        self.flush()
        self._transport.write(data)

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
        write = self._transport.write
        self.write_now(response_head(request, response, keep_alive=keep_alive, date=self._slots.date))
        self.is_endless = response.is_endless
        async with aclosing(events):
            async for event in events:
                write(b"%x\r\n%b\r\n" % (len(event), event) if chunked else event)
                if self._drained is not None:
                    await self._drained
        self.is_endless = False
        if chunked:
            write(b"0\r\n\r\n")
