"""The MCP Inspector's command line lists and calls our tool through both MCP doors, in both eras."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from processes import SIGNET, Server, serving
from real.witness import SOURCE, TOOL, inspected, source_of


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """One HTTP server for the whole file."""
    with serving("--toolsets", "plantuml") as running:
        yield running


@pytest.fixture
def target(request: pytest.FixtureRequest, server: Server) -> tuple[str, ...]:
    """What the Inspector is pointed at."""
    if request.param == "http":
        return ("--transport", "http", "--server-url", f"{server.url}/mcp")
    return ("--", SIGNET, "stdio", "--toolsets", "plantuml")


@pytest.mark.parametrize(("target", "era"), [("stdio", "legacy"), ("http", "modern")], indirect=["target"])
def test_the_inspector_lists_the_tool_without_a_complaint(target: tuple[str, ...], era: str, tmp_path: Path) -> None:
    """`--strict` makes it exit non-zero when a schema would not travel to every client."""
    listed = inspected(target, era, tmp_path, "--method", "tools/list", "--strict")

    assert [tool["name"] for tool in listed["tools"]] == [TOOL]
    assert {"title", "description", "inputSchema", "outputSchema", "annotations"} <= set(listed["tools"][0])


@pytest.mark.parametrize(("target", "era"), [("stdio", "modern"), ("http", "legacy")], indirect=["target"])
def test_the_inspector_calls_the_tool(target: tuple[str, ...], era: str, tmp_path: Path) -> None:
    """Structure and text hold the same address, and it leads back to the source."""
    arguments = json.dumps({"plantumlCode": SOURCE})

    result = inspected(
        target, era, tmp_path, "--method", "tools/call", "--tool-name", TOOL, "--tool-args-json", arguments
    )

    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    assert source_of(result["structuredContent"]["url"]) == SOURCE
