"""The tool on FastMCP: `fastmcp_server.py stdio` or `fastmcp_server.py http PORT`."""

from __future__ import annotations

import sys

from fastmcp import FastMCP

from bench.peers.plantuml import DESCRIPTION, NAME, VIEWER, Encoded, encode

mcp = FastMCP("plantuml", version="1.0.0")


# A coroutine, because FastMCP sends a plain function to a worker thread and that costs it time.
@mcp.tool(name=NAME, description=DESCRIPTION)
async def encode_plantuml(plantumlCode: str) -> Encoded:  # noqa: N803 - the argument's name on the wire
    """Run the one tool."""
    encoded = encode(plantumlCode)
    return Encoded(url=VIEWER + encoded, encoded=encoded, format="svg")


def serve_http(port: int) -> None:
    """Serve stateless Streamable HTTP with JSON answers as an ASGI app, so that uvloop drives it."""
    import uvicorn

    app = mcp.http_app(stateless_http=True, json_response=True)
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=port,
        loop="uvloop",
        http="httptools",
        log_level="warning",
        access_log=False,
    )


if __name__ == "__main__":
    if sys.argv[1] == "http":
        serve_http(int(sys.argv[2]))
    else:
        # The banner asks a package index for news; a benchmark stays on this machine.
        mcp.run(show_banner=False)
