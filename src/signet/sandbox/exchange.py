"""One request on its way to its answer: all that an answer, or a fault, may do with the connection."""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
from collections.abc import Callable
from typing import Final

from .message import SandboxRequest, SandboxResponse, head_of
from .reader import RequestReader
from .request_log import LoggedRequest

__all__ = ["ResponseWriter"]

PIECE_BYTES: Final = 8192
"""Written and counted at a time."""

LINGER_NONE: Final = struct.pack("hh" if sys.platform == "win32" else "ii", 1, 0)


class ResponseWriter:
    """The writing half of one connection, for the length of one answer.

    Whatever writes or waits raises `ConnectionError` once the peer has left.
    """

    def __init__(
        self,
        request: SandboxRequest,
        seen: LoggedRequest,
        real: Callable[[], SandboxResponse],
        inlet: RequestReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self.request = request
        self.real = real
        """Gives the answer that no fault has touched; not to be asked by a fault that lets none through."""
        self.stays = request.stays
        self._seen = seen
        self._inlet = inlet
        self._writer = writer

    async def send(self, response: SandboxResponse) -> None:
        """Send an answer as it should be."""
        await self.begin(response, len(response.body))
        await self.write(response.body, chunked=response.chunked)
        if response.chunked:
            await self.frame(b"0\r\n\r\n")

    async def begin(self, response: SandboxResponse, length: int | None) -> None:
        """Send the head of an answer with the length that it shall promise."""
        self._seen.status = response.status
        await self._push(head_of(response, length, stays=self.stays))

    async def write(self, body: bytes, *, chunked: bool = False, piece: int = PIECE_BYTES) -> None:
        """Send some of a body, counted; nothing of it in answer to HEAD."""
        if self.request.method == "HEAD":
            return
        for start in range(0, len(body), piece):
            part = body[start : start + piece]
            await self._push(b"%x\r\n%b\r\n" % (len(part), part) if chunked else part)
            self._seen.body_bytes += len(part)

    async def frame(self, data: bytes) -> None:
        """Send bytes that are no body, or none that would be: chunk sizes, noise."""
        if self.request.method != "HEAD":
            await self._push(data)

    async def pause(self, seconds: float | None) -> None:
        """Wait, for ever when None; a peer that leaves ends it."""
        try:
            async with asyncio.timeout(seconds):
                await self._inlet.gone()
        except TimeoutError:
            return
        raise ConnectionAbortedError

    def drop(self) -> None:
        """Let the connection be closed after this."""
        self.stays = False

    def reset(self) -> None:
        """End the connection with an RST."""
        self.drop()
        raw: socket.socket = self._writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_NONE)
        self._writer.transport.abort()

    async def _push(self, data: bytes) -> None:
        """Hand bytes to the system and wait until it has taken them all."""
        self._writer.write(data)
        await self._writer.drain()
