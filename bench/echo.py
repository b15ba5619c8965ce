"""The bound for HTTP: a server that parses just enough to send each body back, `echo.py PORT`."""

from __future__ import annotations

import asyncio
import re
import sys

import uvloop

LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"


class Echo(asyncio.Protocol):
    """One connection; requests come one after the other."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start with nothing read."""
        self.transport = transport
        self.buffer = b""

    def data_received(self, data: bytes) -> None:
        """Answer once the whole body is here."""
        self.buffer += data
        end = self.buffer.find(b"\r\n\r\n") + 4
        found = LENGTH.search(self.buffer, 0, end) if end >= len(b"\r\n\r\n") else None
        if found is None or len(self.buffer) < end + int(found[1]):
            return
        body, self.buffer = self.buffer[end:], b""
        self.transport.write(ANSWER % (len(body), body))  # type: ignore[attr-defined]


async def serve(port: int) -> None:
    """Serve until stopped."""
    server = await asyncio.get_running_loop().create_server(Echo, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1])))
