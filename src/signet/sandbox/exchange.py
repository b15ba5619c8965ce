"""One request and its response on a client connection: log the request, write the response."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Literal

import msgspec

from signet.system.secret_patterns import names_secret
from signet.transports.raw_connection import RawConnection

from .message import SandboxRequest, SandboxResponse, response_head

__all__ = ["LoggedRequest", "ResponseWriter", "fingerprint"]

LAST_CHUNK: Final = b"0\r\n\r\n"
WRITE_BYTES: Final = 8192
"""How many bytes of a body are written and counted at a time."""


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


class ResponseWriter:
    """The writing half of a connection during one response.

    Every method that writes or waits is cancelled when the client has left.
    """

    def __init__(
        self,
        request: SandboxRequest,
        entry: LoggedRequest,
        normal: Callable[[], SandboxResponse],
        connection: RawConnection,
    ) -> None:
        self.request = request
        self.normal = normal
        """Returns the response without a fault; faults that send nothing of it do not call this."""
        self.keep_alive = request.keep_alive
        """Whether the connection stays open after this response."""
        self._entry = entry
        self._connection = connection

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
        """Wait, without a limit if None."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await asyncio.Event().wait()

    def reset(self) -> None:
        """End the connection with an RST."""
        self.keep_alive = False
        self._connection.reset()

    async def _push(self, data: bytes) -> None:
        await self._connection.send(data)
