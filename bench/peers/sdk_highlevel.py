"""The tool on the official SDK's high-level server: `sdk_highlevel.py stdio` or `sdk_highlevel.py http PORT`."""

from __future__ import annotations

import sys

from mcp.server.mcpserver import MCPServer

from bench.peers.plantuml import DESCRIPTION, NAME, VIEWER, Encoded, encode

server = MCPServer("plantuml", version="1.0.0", log_level="WARNING")


# A coroutine, because the SDK sends a plain function to a worker thread and that costs it time.
@server.tool(name=NAME, description=DESCRIPTION)
async def encode_plantuml(plantumlCode: str) -> Encoded:  # noqa: N803 - the argument's name on the wire
    """Run the one tool."""
    encoded = encode(plantumlCode)
    return Encoded(url=VIEWER + encoded, encoded=encoded, format="svg")


def serve_http(port: int) -> None:
    """Serve stateless Streamable HTTP with JSON answers, the SDK's fastest documented mode."""
    import uvicorn

    app = server.streamable_http_app(stateless_http=True, json_response=True)
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
        server.run("stdio")
