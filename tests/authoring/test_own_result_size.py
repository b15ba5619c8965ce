"""The size of a result: a tool of one's own may give 2 MiB, or what its author says; more is told with both numbers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import signet
from door_calls import rpc
from processes import SIGNET, Server, piping, serving

TOOLS = '''
import signet


@signet.tool(example={"n": 1})
def many(n: int) -> str:
    """Give back so many characters."""
    return "x" * n


@signet.tool(example={"n": 1}, max_result_bytes=4_000_000)
def more(n: int) -> str:
    """Give back so many characters."""
    return "x" * n


@signet.tool(example={"n": 1}, max_result_bytes=20)
def little(n: int) -> str:
    """Give back so many characters."""
    return "x" * n
'''
SIZE = len(json.dumps({"result": ""}, separators=(",", ":")))
TOLD = "many gave a result of 3,000,013 bytes, and may give 2,097,152 at most: ask for less"


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("sizes") / "tools.py"
    path.write_text(TOOLS)
    return str(path)


@pytest.fixture(scope="module")
def server(tools: str) -> Iterator[Server]:
    with serving(tools) as running:
        yield running


def call_of(name: str, n: int) -> dict[str, Any]:
    return rpc("tools/call", {"name": name, "arguments": {"n": n}})


def test_over_rest_and_in_the_log(server: Server) -> None:
    reply = server.post("/api/tools/many", {"n": 3_000_000})

    assert (reply.status, reply.json()["error"]) == (502, {"code": "INVALID_OUTPUT", "message": TOLD})
    server.wait_for("result_bytes=3000013 max_result_bytes=2097152")


def test_over_mcp(server: Server, tools: str) -> None:
    over_http = server.post("/mcp", call_of("many", 3_000_000)).json()["error"]
    with piping(SIGNET, "stdio", tools) as pipe:
        on_stdio = pipe.ask(call_of("many", 3_000_000))["error"]

    assert over_http == on_stdio
    assert over_http["message"] == TOLD
    assert over_http["data"] == {
        "canonical_code": "INVALID_OUTPUT",
        "result_bytes": 3_000_013,
        "max_result_bytes": 2_097_152,
    }


def test_the_envelope_keeps_the_words_of_its_spec(server: Server) -> None:
    params = {"tool": "mcp.tool:tools.many", "input": {"n": 3_000_000}}

    reply = server.post("/mcp/tool/tools.many", rpc("mcp.tool.invoke", params))

    assert reply.json()["error"] == {
        "code": -32002,
        "message": "Invalid tool output",
        "data": {"canonical_code": "INVALID_OUTPUT"},
    }


def test_development_mode_says_it_once(tools: str) -> None:
    with serving(tools, "--dev") as running:
        reply = running.post("/api/tools/many", {"n": 3_000_000})

    assert reply.json()["error"]["message"] == TOLD


@pytest.mark.parametrize(("n", "status"), [(4_000_000 - SIZE, 200), (4_000_000 - SIZE + 1, 502)])
def test_an_author_may_raise_the_limit(server: Server, n: int, status: int) -> None:
    assert server.post("/api/tools/more", {"n": n}).status == status


def test_a_limit_may_be_lower_too(server: Server) -> None:
    assert server.post("/api/tools/little", {"n": 7}).status == 200
    assert server.post("/api/tools/little", {"n": 8}).json()["error"]["message"] == (
        "little gave a result of 21 bytes, and may give 20 at most: ask for less"
    )


@pytest.mark.parametrize(
    ("limit", "inline", "words"),
    [
        (0, False, "takes a number from 1 to 16_777_216"),
        (True, False, "takes a number from 1 to 16_777_216"),
        ("4 MiB", False, "takes a number from 1 to 16_777_216"),
        (16_777_217, False, "takes a number from 1 to 16_777_216"),
        (2_097_153, True, "takes a number from 1 to 2_097_152 beside inline=True"),
    ],
)
def test_a_limit_that_cannot_be_held_is_refused(limit: Any, inline: bool, words: str) -> None:
    decorate: Callable[..., Any] = signet.tool(max_result_bytes=limit, inline=inline)

    with pytest.raises(TypeError, match=words):
        decorate(lambda: "")
