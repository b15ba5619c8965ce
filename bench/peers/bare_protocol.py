"""The bare protocol, `bare_protocol.py PORT`: httptools on uvloop, without ASGI, in front of the bare work."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import httptools
import uvloop

from bench.peers.bare import answer_at

HEAD = b"HTTP/1.1 %b\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"


class Bare(asyncio.Protocol):
    """One connection; its requests arrive one after the other."""

    transport: Any

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start with a parser of its own."""
        self.transport = transport
        self.feed = httptools.HttpRequestParser(self).feed_data
        self.path, self.body = "", b""

    def data_received(self, data: bytes) -> None:
        """Parse; the parser calls the three functions below."""
        self.feed(data)

    def on_url(self, url: bytes) -> None:
        """Keep the path."""
        self.path = url.decode("ascii")

    def on_body(self, body: bytes) -> None:
        """Keep the body, which may come in parts."""
        self.body = self.body + body if self.body else body

    def on_message_complete(self) -> None:
        """Answer the request."""
        body, self.body = self.body, b""
        try:
            status, data = b"200 OK", answer_at(self.path, body)
        except ValueError:
            status, data = b"400 Bad Request", b"{}"
        self.transport.write(HEAD % (status, len(data), data))


async def serve(port: int) -> None:
    """Serve until the process is stopped."""
    server = await asyncio.get_running_loop().create_server(Bare, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1])))
