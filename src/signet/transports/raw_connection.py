"""A connection on which the application writes the bytes of its responses itself, for faults that HTTP does not know.

request ── Application.answer ── request.route is the connection: send, reset ── Response(0): nothing more to write
"""

from __future__ import annotations

import socket
import struct
import sys
from typing import Final

from .connection import Connection
from .messages import Request, Response
from .unread import Holding, UnreadAnswers

__all__ = ["WRITTEN", "WRITTEN_LAST", "RawConnection"]

WRITTEN: Final = Response(0)
"""The answer of an application that has written the response."""
WRITTEN_LAST: Final = Response(0, headers=())
"""The same where the connection ends behind it."""
NO_LINGER: Final = struct.pack("hh" if sys.platform == "win32" else "ii", 1, 0)
"""A socket option that makes closing send an RST."""


class _Uncounted(UnreadAnswers):
    """Counts nothing: the connections of a played upstream may run beside a server, in a thread of their own."""

    def hold(self, holding: Holding, holder: str, amount: int) -> None:
        """Count nothing."""


class RawConnection(Connection):
    """One connection; `Request.path` is the target as it was sent, with its query."""

    unread_answers = _Uncounted()

    def data_received(self, data: bytes) -> None:
        """Answer the requests in the bytes; a client that sends much more while it should wait is hung up on."""
        super().data_received(data)
        if not self._reads:
            self.abort()

    async def send(self, data: bytes) -> None:
        """Write bytes, and return when the client's system has taken them."""
        self._writer.write_now(data)
        await self._writer.drain()
        if self._transport.is_closing():
            # The client is gone: the task that writes is about to be cancelled.
            await self._loop.create_future()

    def reset(self) -> None:
        """End the connection with an RST."""
        raw: socket.socket = self._transport.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
        self.abort()

    def _take(self, request: Request) -> None:
        request.path = self._reader.head.split(maxsplit=2)[1].decode("latin-1")
        request.route = self
        super()._take(request)

    def _respond(self, request: Request | None, response: Response, *, keep_alive: bool) -> None:
        if response.status:
            super()._respond(request, response, keep_alive=keep_alive)
        else:
            self._rest(keep_alive=keep_alive and response is WRITTEN)
