"""What a peer sends, kept until it is asked for, so that one can wait for a peer to leave and lose nothing."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Final

import msgspec

from signet.kernel.errors import Code, Fault

from .message import SandboxRequest, parse

__all__ = ["MAX_HEAD_BYTES", "RequestReader"]

MAX_HEAD_BYTES: Final = 65_536
"""The most that a request line and its headers may take."""

END: Final = b"\r\n\r\n"
PIECE_BYTES: Final = 65_536


class RequestReader:
    """The reading half of one connection."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._held = bytearray()

    async def request(self) -> SandboxRequest | None:
        """Read one request; None once the peer has no more.

        Raises:
            Fault: what came is no request, or too large a one.
        """
        while (end := self._held.find(END)) < 0:
            if len(self._held) > MAX_HEAD_BYTES:
                break
            if not await self._fill():
                return None
        if not 0 <= end <= MAX_HEAD_BYTES:
            message = f"a request's head may hold {MAX_HEAD_BYTES} bytes"
            raise Fault(Code.INVALID_INPUT, message, status=HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        request = parse(self._take(end + len(END))[: -len(END)])
        while len(self._held) < request.length:
            if not await self._fill():
                return None
        return msgspec.structs.replace(request, body=self._take(request.length))

    async def gone(self) -> None:
        """Return once the peer has left, or floods where it should wait."""
        while len(self._held) <= MAX_HEAD_BYTES and await self._fill():
            pass

    async def discard(self) -> None:
        """Read to the end and keep nothing: closing over unread bytes would reset the connection."""
        while await self._fill():
            self._held.clear()

    async def _fill(self) -> bool:
        piece = await self._reader.read(PIECE_BYTES)
        self._held += piece
        return bool(piece)

    def _take(self, size: int) -> bytes:
        taken = bytes(self._held[:size])
        del self._held[:size]
        return taken
