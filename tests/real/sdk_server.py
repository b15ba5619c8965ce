"""The official SDK's low-level server over the PlantUML tool: `sdk_server.py stdio` or `sdk_server.py serve`.

The tool is the product's own function, so that whatever differs on the wire is the engines' doing. The
low-level server checks no arguments, and neither does this.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from inspect import isawaitable

import anyio
import mcp_types as types
import msgspec
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from signet.app import SCHEMA_ROOT
from signet.kernel.errors import Fault
from signet.kernel.schemas import SchemaRegistry, schema_of
from signet.kernel.server import QUIET_CONTEXT
from signet.toolsets.plantuml.tools import EncodeIn, encode_plantuml

CONTRACT = SchemaRegistry(schema_root=SCHEMA_ROOT).load_bundle(encode_plantuml.slug)
TOOL = types.Tool(
    name=encode_plantuml.name,
    description=encode_plantuml.description,
    input_schema=schema_of(CONTRACT.input),
    output_schema=schema_of(CONTRACT.output),
)


async def list_tools(_: ServerRequestContext, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[TOOL])


async def call_tool(_: ServerRequestContext, params: types.CallToolRequestParams) -> types.CallToolResult:
    if params.name != TOOL.name:
        raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
    args = EncodeIn((params.arguments or {})["plantumlCode"])
    try:
        made = encode_plantuml.run(args, QUIET_CONTEXT)
        structured = msgspec.to_builtins(await made if isawaitable(made) else made)
    except Fault as fault:
        return types.CallToolResult(content=[_text(fault.message)], is_error=True)
    return types.CallToolResult(
        content=[_text(msgspec.json.encode(structured).decode())], structured_content=structured
    )


def _text(text: str) -> types.TextContent:
    return types.TextContent(type="text", text=text)


server = Server("plantuml", version="1", on_list_tools=list_tools, on_call_tool=call_tool)


async def serve_stdio() -> None:
    async with stdio_server() as (read_stream, write_stream):
        await server.run(read_stream, write_stream, server.create_initialization_options())


def serve_http() -> None:
    """Serve stateless, answers as JSON: the mode that is nearest to ours."""
    import uvicorn

    listener = socket.create_server(("127.0.0.1", 0))
    print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}", file=sys.stderr, flush=True)
    app = server.streamable_http_app(stateless_http=True, json_response=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run(sockets=[listener])


def serve_forks() -> None:
    """Serve on the named pipes of each line of stdin, each pair in a process of its own: to load the SDK is slow."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while names := sys.stdin.buffer.readline().split():
        if os.fork() == 0:
            for number, flag in enumerate((os.O_RDONLY, os.O_WRONLY)):
                os.dup2(os.open(names[number], flag), number)
            anyio.run(serve_stdio)
            os._exit(0)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve_http()
    elif sys.argv[1] == "forks":
        serve_forks()
    else:
        anyio.run(serve_stdio)
