"""How one call is made from outside: with curl through each door, and from Python. Pure."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from signet.kernel.tools import Tool
from signet.kernel.wire import encode
from signet.transports.path_names import escaped

from .python_literal import depth_within, python_literal
from .twin import Shown

__all__ = ["MAX_BYTES", "MAX_DEPTH", "CallSite", "CallWay", "can_be_written", "ways_to_call"]

TOKEN: Final = "SIGNET_TOKEN"  # noqa: S105 - the name of a variable
MAX_BYTES: Final = 4_096
"""The largest arguments, as JSON, that are written into a text: one goes into a command line."""
MAX_DEPTH: Final = 20


class CallWay(Shown, frozen=True):
    """One way to make a call."""

    name: str
    """A short name: `rest`, `mcp`, `envelope`, `python-sdk` or `python`."""
    title: str
    language: str
    """`sh` or `python`."""
    text: str
    """A whole program, ready to run; where the server wants a token, it reads `SIGNET_TOKEN`."""


class CallSite(msgspec.Struct, frozen=True):
    """Where a server is reached, and whether it wants a token."""

    url: str
    secured: bool


def can_be_written(arguments: Mapping[str, Any]) -> bool:
    """Return whether arguments are small and flat enough for a text that people copy."""
    return depth_within(arguments, MAX_DEPTH) and len(encode(arguments)) <= MAX_BYTES


def ways_to_call(tool: Tool, arguments: Mapping[str, Any], site: CallSite) -> list[CallWay]:
    """Return how a tool is called with some arguments, which can be written."""
    rest = f"{site.url}/api/tools/{escaped(tool.name)}"
    mcp = _rpc("tools/call", {"name": tool.name, "arguments": arguments})
    envelope = _rpc("mcp.tool.invoke", {"tool": tool.id, "input": arguments})
    both = "Accept: application/json, text/event-stream"
    return [
        CallWay("rest", "REST", "sh", _curl(rest, arguments, site)),
        CallWay("mcp", "MCP", "sh", _curl(f"{site.url}/mcp", mcp, site, both)),
        CallWay("envelope", "Envelope", "sh", _curl(f"{site.url}/mcp/tool/{escaped(tool.slug)}", envelope, site)),
        CallWay("python-sdk", "Python, with the official MCP SDK", "python", _with_sdk(tool, arguments, site)),
        CallWay("python", "Python, with its standard library", "python", _with_urllib(rest, arguments, site)),
    ]


def _rpc(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def _curl(url: str, body: Any, site: CallSite, *headers: str) -> str:
    """Return a command for a POSIX shell; only the token is left for the shell to fill in."""
    parts = [
        f"curl -s {shlex.quote(url)}",
        *(f"-H {shlex.quote(h)}" for h in ("Content-Type: application/json", *headers)),
    ]
    if site.secured:
        parts.append(f'-H "Authorization: Bearer ${TOKEN}"')
    parts.append(f"-d {shlex.quote(json.dumps(body, ensure_ascii=False))}")
    return " \\\n  ".join(parts) + "\n"


def _with_urllib(url: str, arguments: Any, site: CallSite) -> str:
    token = f', "Authorization": "Bearer " + os.environ["{TOKEN}"]' if site.secured else ""
    return "\n".join(
        [
            "import json",
            *(["import os"] if site.secured else []),
            "import urllib.request",
            "",
            _assigned("arguments", arguments),
            f'headers = {{"Content-Type": "application/json"{token}}}',
            f"request = urllib.request.Request({_text(url)}, json.dumps(arguments).encode(), headers)",
            "with urllib.request.urlopen(request) as response:",
            '    print(json.dumps(json.load(response)["result"], indent=2))',
            "",
        ]
    )


def _with_sdk(tool: Tool, arguments: Any, site: CallSite) -> str:
    url, call = _text(f"{site.url}/mcp"), f"await client.call_tool({_text(tool.name)}, arguments)"
    if not site.secured:
        imports, opened = ["import asyncio", "", "from mcp import Client"], [f"async with Client({url}) as client:"]
    else:
        imports = ["import asyncio", "import os", "", "import httpx2", "from mcp import Client"]
        imports.append("from mcp.client.streamable_http import streamable_http_client")
        opened = [
            f'headers = {{"Authorization": "Bearer " + os.environ["{TOKEN}"]}}',
            "async with (",
            "    httpx2.AsyncClient(headers=headers) as http,",
            f"    Client(streamable_http_client({url}, http_client=http)) as client,",
            "):",
        ]
    body = [
        *opened,
        f"    result = {call}",
        "    print(result.model_dump_json(by_alias=True, exclude_none=True, indent=2))",
    ]
    inner = ["async def main() -> None:", *(f"    {line}" for line in body)]
    lines = [*imports, "", _assigned("arguments", arguments), "", "", *inner, "", "", "asyncio.run(main())", ""]
    return "\n".join(lines)


def _assigned(name: str, value: Any) -> str:
    """Return an assignment of a JSON value."""
    return f"{name} = {python_literal(value)}"


def _text(text: str) -> str:
    """Return a text as Python writes it, in double quotes."""
    return json.dumps(text)
