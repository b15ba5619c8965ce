"""The bound for HTTP, `echo.py PORT`: a server that only parses enough to echo each body."""

from __future__ import annotations

import asyncio
import re
import sys

import uvloop

LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"


class Echo(asyncio.Protocol):
    """One connection; its requests arrive one after the other."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start with an empty buffer."""
        self.transport = transport
        self.buffer = b""

    def data_received(self, data: bytes) -> None:
        """Reply once the whole body has arrived."""
        self.buffer += data
        end = self.buffer.find(b"\r\n\r\n") + 4
        length = LENGTH.search(self.buffer, 0, end) if end >= len(b"\r\n\r\n") else None
        if length is None or len(self.buffer) < end + int(length[1]):
            return
        body, self.buffer = self.buffer[end:], b""
        self.transport.write(ANSWER % (len(body), body))  # type: ignore[attr-defined]


async def serve(port: int) -> None:
    """Serve until the process is stopped."""
    server = await asyncio.get_running_loop().create_server(Echo, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1])))
