"""The official SDK's client is satisfied with both MCP doors, in each of its modes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import mcp_types
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp_types import version

import signet
from processes import EXTENDED, SIGNET, Server, serving, serving_extended
from real.witness import SOURCE, TOOL, URL_PREFIX, source_of
from signet.kernel import errors, protocol

MODES = {"legacy": "2025-11-25", "auto": "2026-07-28", "2026-07-28": "2026-07-28"}
"""The client's modes, and the protocol version that each ends up with."""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """One HTTP server for the whole file."""
    with serving("--toolsets", "plantuml") as running:
        yield running


@pytest.fixture(params=["stdio", "http"])
def door(request: pytest.FixtureRequest, server: Server) -> str | StdioServerParameters:
    """The way in: a command to start, or an address to call."""
    if request.param == "http":
        return f"{server.url}/mcp"
    return StdioServerParameters(command=SIGNET, args=["stdio", "--toolsets", "plantuml"])


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    """How the client agrees on a protocol version."""
    return str(request.param)


def _talk(door: str | StdioServerParameters, mode: str, act: Callable[[Client], Awaitable[Any]]) -> Any:
    async def session() -> Any:
        async with Client(door, mode=mode) as client:
            return await act(client)

    return asyncio.run(session())


def test_each_mode_agrees_on_its_protocol_version(door: str | StdioServerParameters, mode: str) -> None:
    """The client's `legacy` shakes hands, `auto` discovers, a version is taken at its word."""

    async def act(client: Client) -> str:
        return client.protocol_version

    assert _talk(door, mode, act) == MODES[mode]


@pytest.mark.parametrize("greeting", ["legacy", "auto"])
def test_the_server_introduces_itself_and_declares_tools_alone(
    door: str | StdioServerParameters, greeting: str
) -> None:
    """Both greetings, `initialize` and `server/discover`, tell name, version and capabilities."""

    async def act(client: Client) -> tuple[Any, Any]:
        return client.server_info, client.server_capabilities.model_dump(exclude_none=True)

    info, capabilities = _talk(door, greeting, act)

    assert (info.name, info.version) == ("signet", signet.__version__)
    assert capabilities == {"tools": {"list_changed": False}}


def test_the_one_tool_is_listed_with_both_its_contracts(door: str | StdioServerParameters, mode: str) -> None:
    """The client reads input and output schema; it would refuse a root that is not an object."""

    async def act(client: Client) -> Any:
        return await client.list_tools()

    listed = _talk(door, mode, act)

    assert [tool.name for tool in listed.tools] == [TOOL]
    assert listed.tools[0].input_schema["required"] == ["plantumlCode"]
    assert set(listed.tools[0].output_schema["required"]) == {"url", "encoded", "format"}
    assert listed.next_cursor is None


def test_a_call_returns_the_result_as_structure_and_as_the_same_json_text(
    door: str | StdioServerParameters, mode: str
) -> None:
    """The client checks the structure against the published output schema by itself."""

    async def act(client: Client) -> Any:
        await client.list_tools()
        return await client.call_tool(TOOL, {"plantumlCode": SOURCE})

    result = _talk(door, mode, act)

    assert not result.is_error
    assert [block.type for block in result.content] == ["text"]
    assert json.loads(result.content[0].text) == result.structured_content
    assert result.structured_content["url"] == URL_PREFIX + result.structured_content["encoded"]
    assert result.structured_content["format"] == "svg"
    assert source_of(result.structured_content["url"]) == SOURCE


def test_wrong_arguments_come_back_as_a_tool_error_that_a_model_can_read(
    door: str | StdioServerParameters, mode: str
) -> None:
    """SEP-1303: what a model can mend is a result, not a protocol error."""
    wrong: list[dict[str, Any]] = [{}, {"plantumlCode": 5}, {"plantumlCode": "  "}]

    async def act(client: Client) -> list[Any]:
        return [await client.call_tool(TOOL, arguments) for arguments in wrong]

    results = _talk(door, mode, act)

    assert [result.is_error for result in results] == [True] * 3
    assert ["plantumlCode" in result.content[0].text for result in results] == [True] * 3


def test_an_unknown_tool_is_a_protocol_error(door: str | StdioServerParameters, mode: str) -> None:
    """The client asked for what `tools/list` never offered: -32602."""

    async def act(client: Client) -> None:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("noSuchTool", {})
        assert caught.value.code == mcp_types.INVALID_PARAMS

    _talk(door, mode, act)


@pytest.mark.parametrize("over", ["stdio", "http"])
def test_progress_reaches_the_clients_callback_before_the_result(over: str, mode: str) -> None:
    """On HTTP this is the moment the answer turns into a stream."""
    seen: list[tuple[float, float | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        del message
        seen.append((progress, total))

    async def act(client: Client) -> Any:
        return await client.call_tool("test_tool_with_progress", {}, progress_callback=note)

    if over == "stdio":
        command = StdioServerParameters(command=EXTENDED[0], args=[EXTENDED[1], "stdio", "--toolsets", "conformance"])
        result = _talk(command, mode, act)
    else:
        with serving_extended("--toolsets", "conformance") as server:
            result = _talk(f"{server.url}/mcp", mode, act)

    assert not result.is_error
    assert seen == [(0, 100), (50, 100), (100, 100)]


def test_our_protocol_constants_are_the_officials() -> None:
    """One table of versions, codes and keys on both sides of the wire."""
    ours = (protocol.HANDSHAKE_VERSIONS, protocol.MODERN_VERSIONS)
    codes = {
        errors.PARSE_ERROR: mcp_types.PARSE_ERROR,
        errors.INVALID_REQUEST: mcp_types.INVALID_REQUEST,
        errors.METHOD_NOT_FOUND: mcp_types.METHOD_NOT_FOUND,
        errors.INVALID_PARAMS: mcp_types.INVALID_PARAMS,
        errors.INTERNAL: mcp_types.INTERNAL_ERROR,
        errors.HEADER_MISMATCH: mcp_types.HEADER_MISMATCH,
        errors.MISSING_CAPABILITY: mcp_types.MISSING_REQUIRED_CLIENT_CAPABILITY,
        errors.UNSUPPORTED_VERSION: mcp_types.UNSUPPORTED_PROTOCOL_VERSION,
    }
    keys = {
        protocol.VERSION_KEY: mcp_types.PROTOCOL_VERSION_META_KEY,
        protocol.CAPABILITIES_KEY: mcp_types.CLIENT_CAPABILITIES_META_KEY,
        protocol.SERVER_INFO_KEY: mcp_types.SERVER_INFO_META_KEY,
    }

    assert ours == (version.HANDSHAKE_PROTOCOL_VERSIONS, version.MODERN_PROTOCOL_VERSIONS)
    assert list(codes) == list(codes.values())
    assert list(keys) == list(keys.values())
