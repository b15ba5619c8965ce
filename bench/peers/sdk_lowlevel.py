"""The tool on the official SDK's low-level server: `sdk_lowlevel.py stdio` or `sdk_lowlevel.py http PORT`."""

from __future__ import annotations

import json
import sys

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from bench.peers.plantuml import DESCRIPTION, NAME, VIEWER, encode

TOOL = types.Tool(
    name=NAME,
    description=DESCRIPTION,
    input_schema={
        "type": "object",
        "properties": {"plantumlCode": {"type": "string"}},
        "required": ["plantumlCode"],
    },
    output_schema={
        "type": "object",
        "properties": {
            "url": {"type": "string"},
            "encoded": {"type": "string"},
            "format": {"type": "string"},
        },
        "required": ["url", "encoded", "format"],
    },
)


async def list_tools(_ctx: ServerRequestContext, _params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    """List the one tool."""
    return types.ListToolsResult(tools=[TOOL])


async def call_tool(_ctx: ServerRequestContext, params: types.CallToolRequestParams) -> types.CallToolResult:
    """Run the one tool; the low-level server leaves the arguments unchecked, and so does this."""
    encoded = encode((params.arguments or {})["plantumlCode"])
    answer = {"url": VIEWER + encoded, "encoded": encoded, "format": "svg"}
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=json.dumps(answer))], structured_content=answer
    )


server = Server("plantuml", version="1.0.0", on_list_tools=list_tools, on_call_tool=call_tool)


async def serve_stdio() -> None:
    """Serve on standard input and output until the client closes them."""
    async with stdio_server() as (read_stream, write_stream):
        await server.run(read_stream, write_stream, server.create_initialization_options())


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
        anyio.run(serve_stdio)
