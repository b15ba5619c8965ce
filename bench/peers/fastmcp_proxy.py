"""FastMCP's proxy in front of a command: `fastmcp_proxy.py stdio COMMAND…` or `fastmcp_proxy.py http PORT COMMAND…`.

The client is connected before the proxy is made, so that one session serves all calls: the fastest way that it has.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import uvloop
from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.server import create_proxy


async def serve(command: Sequence[str], port: int | None) -> None:
    """Serve the tools of a command, on stdio or on a port."""
    transport = StdioTransport(command[0], list(command[1:]), env=dict(os.environ))
    async with Client(transport) as client:
        proxy = create_proxy(client, name="proxy")
        if port is None:
            # The banner asks a package index for news; a benchmark stays on this machine.
            await proxy.run_async("stdio", show_banner=False)
            return
        import uvicorn

        app = proxy.http_app(stateless_http=True, json_response=True)
        settings = {"http": "httptools", "log_level": "warning", "access_log": False}
        await uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, **settings)).serve()


if __name__ == "__main__":
    words = sys.argv[2:]
    over_http = sys.argv[1] == "http"
    uvloop.run(serve(words[1:] if over_http else words, int(words[0]) if over_http else None))
