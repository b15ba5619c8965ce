"""The writer of one connection's responses: whole ones in one write, streams piece by piece."""

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
        """Write a response; for a HEAD request, only its head."""
        head = response_head(request, response, keep_alive=keep_alive, date=self._slots.date)
        body = response.body
        if request is not None and request.method == "HEAD":
            self._transport.write(head)
        elif len(body) <= ONE_WRITE_BYTES:
            self._transport.write(head + body)
        else:
            self._transport.writelines((head, body))

    async def stream(
        self, request: Request, response: Response, events: AsyncGenerator[bytes, None], *, keep_alive: bool
    ) -> None:
        """Write a response in pieces, as they come; in HTTP/1.0, which has no chunks, the connection's end ends it."""
        chunked = request.version != "1.0"
        write = self._transport.write
        write(response_head(request, response, keep_alive=keep_alive, date=self._slots.date))
        self.is_endless = response.is_endless
        async with aclosing(events):
            async for event in events:
                write(b"%x\r\n%b\r\n" % (len(event), event) if chunked else event)
                if self._drained is not None:
                    await self._drained
        self.is_endless = False
        if chunked:
            write(b"0\r\n\r\n")
