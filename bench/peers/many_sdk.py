"""Many tools on the official SDK's low-level server, on stdio: `many_sdk.py COUNT`."""

from __future__ import annotations

import json
import sys

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from bench.peers.lengths import DESCRIPTION, PARAMETERS, length, name

TOOLS = [
    types.Tool(
        name=name(number),
        description=DESCRIPTION,
        input_schema={
            "type": "object",
            "properties": {
                parameter: {"type": kind, "description": words} for parameter, (kind, words) in PARAMETERS.items()
            },
            "required": ["text"],
        },
        output_schema={"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]},
    )
    for number in range(int(sys.argv[1]))
]
NAMES = {tool.name for tool in TOOLS}


async def list_tools(_ctx: ServerRequestContext, _params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    """List the tools."""
    return types.ListToolsResult(tools=TOOLS)


async def call_tool(_ctx: ServerRequestContext, params: types.CallToolRequestParams) -> types.CallToolResult:
    """Run a tool; the low-level server leaves the arguments unchecked, and so does this."""
    if params.name not in NAMES:
        raise ValueError(params.name)
    answer = {"result": length(**(params.arguments or {}))}
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=json.dumps(answer))], structured_content=answer
    )


async def serve() -> None:
    """Serve on standard input and output until the client closes them."""
    server = Server("lengths", version="1.0.0", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read_stream, write_stream):
        await server.run(read_stream, write_stream, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(serve)
