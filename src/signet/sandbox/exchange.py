"""One request and its response on a client connection: read the request, log it, write the response."""

from __future__ import annotations

import asyncio
import hashlib
import socket
import struct
import sys
from collections.abc import Callable
from http import HTTPStatus
from typing import Final, Literal

import msgspec

from signet.kernel.errors import Code, Fault
from signet.system.secret_names import names_secret

from .message import SandboxRequest, SandboxResponse, parse_head, response_head

__all__ = ["MAX_HEAD_BYTES", "LoggedRequest", "RequestReader", "ResponseWriter", "fingerprint"]

MAX_HEAD_BYTES: Final = 65_536
"""The largest request line with headers that is read."""

HEAD_END: Final = b"\r\n\r\n"
LAST_CHUNK: Final = b"0\r\n\r\n"
READ_BYTES: Final = 65_536
WRITE_BYTES: Final = 8192
"""How many bytes of a body are written and counted at a time."""

NO_LINGER: Final = struct.pack("hh" if sys.platform == "win32" else "ii", 1, 0)
"""A socket option that makes closing send an RST."""


class LoggedRequest(msgspec.Struct):
    """A request and the progress of its response.

    `time_s` counts from the start of the sandbox on a monotonic clock. `body_bytes` counts the body bytes that the
    operating system accepted before the client left, without chunk framing; the client may not have read all of them.
    """

    method: str
    target: str
    headers: dict[str, str]
    time_s: float
    fault: str | None = None
    status: int | None = None
    body_bytes: int = 0
    end: Literal["answered", "gone", "stopped"] | None = None
    """None while the response is under way; "answered" also after a fault was applied."""

    @classmethod
    def of(cls, request: SandboxRequest, time_s: float) -> LoggedRequest:
        """Return the entry of a request that was read now; secrets are stored as fingerprints."""
        headers = {
            name: fingerprint(value) if names_secret(name, "header") else value
            for name, value in request.headers.items()
        }
        return cls(request.method, request.target, headers, round(time_s, 6))


def fingerprint(secret: str) -> str:
    """Replace a secret by a digest that is equal for equal secrets."""
    scheme, _, value = secret.rpartition(" ")
    digest = hashlib.sha256(value.encode("latin-1", "replace")).hexdigest()[:16]
    return f"{scheme} sha256:{digest}".lstrip()


class RequestReader:
    """The reading half of a connection, with a buffer so that waiting for a disconnect loses no bytes."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._buffer = bytearray()

    async def read_request(self) -> SandboxRequest | None:
        """Return the next request, or None if no more is sent; raise Fault if it is malformed or too large."""
        while (end := self._buffer.find(HEAD_END)) < 0 and len(self._buffer) <= MAX_HEAD_BYTES:
            if not await self._fill():
                return None
        if not 0 <= end <= MAX_HEAD_BYTES:
            message = f"a request's head may hold {MAX_HEAD_BYTES} bytes"
            raise Fault(Code.INVALID_INPUT, message, status=HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        request = parse_head(self._take(end + len(HEAD_END))[:end])
        while len(self._buffer) < request.content_length:
            if not await self._fill():
                return None
        return msgspec.structs.replace(request, body=self._take(request.content_length))

    async def wait_disconnected(self) -> None:
        """Return when the client has left, or when it sends more than a request head while it should wait."""
        while len(self._buffer) <= MAX_HEAD_BYTES and await self._fill():
            pass

    async def discard(self) -> None:
        """Read to the end and drop everything: closing with unread bytes would reset the connection."""
        while await self._fill():
            self._buffer.clear()

    async def _fill(self) -> bool:
        data = await self._reader.read(READ_BYTES)
        self._buffer += data
        return bool(data)

    def _take(self, size: int) -> bytes:
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data


class ResponseWriter:
    """The writing half of a connection during one response.

    Every method that writes or waits raises `ConnectionError` when the client has left.
    """

    def __init__(
        self,
        request: SandboxRequest,
        entry: LoggedRequest,
        normal: Callable[[], SandboxResponse],
        reader: RequestReader,
        stream: asyncio.StreamWriter,
    ) -> None:
        self.request = request
        self.normal = normal
        """Returns the response without a fault; faults that send nothing of it do not call this."""
        self.keep_alive = request.keep_alive
        """Whether the connection stays open after this response."""
        self._entry = entry
        self._reader = reader
        self._stream = stream

    async def send(self, response: SandboxResponse, *, chunk_bytes: int = WRITE_BYTES) -> None:
        """Send a complete, valid response."""
        await self.begin(response, len(response.body))
        await self.write(response.body, chunked=response.chunked, chunk_bytes=chunk_bytes)
        if response.chunked:
            await self.write_raw(LAST_CHUNK)

    async def begin(self, response: SandboxResponse, length: int | None) -> None:
        """Send the head of a response; `length` is the content-length to declare."""
        self._entry.status = response.status
        await self._push(response_head(response, length, keep_alive=self.keep_alive))

    async def write(self, body: bytes, *, chunked: bool = False, chunk_bytes: int = WRITE_BYTES) -> None:
        """Send and count bytes of a body; a response to HEAD has none."""
        if self.request.method == "HEAD":
            return
        for start in range(0, len(body), chunk_bytes):
            data = body[start : start + chunk_bytes]
            await self._push(b"%x\r\n%b\r\n" % (len(data), data) if chunked else data)
            self._entry.body_bytes += len(data)

    async def write_raw(self, data: bytes) -> None:
        """Send bytes that are not counted as body: chunk framing or garbage; nothing in response to HEAD."""
        if self.request.method != "HEAD":
            await self._push(data)

    async def pause(self, seconds: float | None) -> None:
        """Wait, without a limit if None, or until the client leaves."""
        try:
            async with asyncio.timeout(seconds):
                await self._reader.wait_disconnected()
        except TimeoutError:
            return
        raise ConnectionAbortedError

    def reset(self) -> None:
        """End the connection with an RST."""
        self.keep_alive = False
        raw: socket.socket = self._stream.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
        self._stream.transport.abort()

    async def _push(self, data: bytes) -> None:
        self._stream.write(data)
        await self._stream.drain()
