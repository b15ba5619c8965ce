"""Official clients list and call the judge's five tools, and every door of `signet serve` gives the same of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError, StdioServerParameters

import signet
from channels import doors, invocation, modern_headers, rpc
from oj_harness import DIRECT, OJ, SAMPLE, TOOLS, OjHarness, oj_sandbox
from processes import SIGNET, Pipe, Server, piping, serving
from real.witness import inspected, run_outside

TOKEN = "a-token-for-the-clients"
MODES = {"legacy": "2025-11-25", "auto": "2026-07-28", "2026-07-28": "2026-07-28"}
"""The client's modes, and the protocol version that each ends up with."""

SOURCE, ID = SAMPLE
CALLS: dict[str, tuple[dict[str, Any], str]] = {
    "get_daily_challenge": ({"domain": "cn", "date": "2024-01-01"}, "# "),
    "get_problem": ({"source": SOURCE, "id": ID}, "# Lantern Pairs\n"),
    "find_similar_problems": ({"query": "pairs in an array", "limit": 3, "threshold": 0.0}, "# Similar Problems\n"),
    "resolve_problem": ({"query": f"{SOURCE}:{ID}"}, "# Lantern Pairs\n"),
    "get_platform_status": ({}, "# OJ Platform Status (v"),
}
"""Arguments for each tool, and how its answer begins."""


@pytest.fixture(scope="module")
def upstream() -> Iterator[OjHarness]:
    with oj_sandbox(token=TOKEN) as judge:
        yield judge


@pytest.fixture
def judge(upstream: OjHarness) -> OjHarness:
    upstream.clear()
    return upstream


@pytest.fixture(scope="module")
def server(upstream: OjHarness) -> Iterator[Server]:
    """The toolset over HTTP."""
    with serving("--toolsets", "oj", "--oj-base-url", upstream.url, env={**DIRECT, "OJ_TOKEN": TOKEN}) as running:
        yield running


@pytest.fixture(scope="module")
def stdio(upstream: OjHarness) -> Iterator[Pipe]:
    """The toolset on the stdio of `signet`, told of its upstream by the environment."""
    env = {**DIRECT, "OJ_TOKEN": TOKEN, "OJ_BASE_URL": upstream.url}
    with piping(SIGNET, "stdio", "--toolsets", "oj", env=env) as pipe:
        yield pipe


@pytest.fixture(params=["oj-mcp-rs", "signet serve"])
def door(request: pytest.FixtureRequest, upstream: OjHarness, server: Server) -> str | StdioServerParameters:
    """The way in: the drop-in command to start, or an address to call."""
    if request.param == "signet serve":
        return f"{server.url}/mcp"
    return StdioServerParameters(command=OJ, args=["--base-url", upstream.url, "--token", TOKEN], env=DIRECT)


def talk(door: str | StdioServerParameters, mode: str, act: Callable[[Client], Awaitable[Any]]) -> Any:
    async def session() -> Any:
        async with Client(door, mode=mode) as client:
            return await act(client)

    return asyncio.run(session())


@pytest.mark.spec("1.S3.tools-list", "2.common.markdown", "1.S3.3.stdio")
@pytest.mark.parametrize("mode", MODES)
def test_the_official_client_lists_and_calls_all_five_tools(
    judge: OjHarness, door: str | StdioServerParameters, mode: str
) -> None:
    async def act(client: Client) -> tuple[str, list[str], dict[str, Any]]:
        listed = await client.list_tools()
        answers = {name: await client.call_tool(name, arguments) for name, (arguments, _) in CALLS.items()}
        return client.protocol_version, [tool.name for tool in listed.tools], answers

    version, names, answers = talk(door, mode, act)

    assert version == MODES[mode]
    assert names == TOOLS
    for name, (_, beginning) in CALLS.items():
        [block] = answers[name].content
        assert (answers[name].is_error, answers[name].structured_content) == (False, None)
        assert block.text.startswith(beginning)
    assert answers["get_problem"].content == answers["resolve_problem"].content


@pytest.mark.spec("1.S3.1.name", "1.S3.1.version", "1.S3.2.tools", "1.S3.2.nothing-else")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_official_client_is_told_who_it_talks_to(upstream: OjHarness, mode: str) -> None:
    command = StdioServerParameters(command=OJ, args=["--base-url", upstream.url], env=DIRECT)

    async def act(client: Client) -> tuple[Any, Any]:
        return client.server_info, client.server_capabilities.model_dump(exclude_none=True)

    info, capabilities = talk(command, mode, act)

    assert (info.name, info.version) == ("oj-mcp-rs", signet.__version__)
    assert capabilities == {"tools": {"list_changed": False}}


@pytest.mark.spec("1.S4.2.4xx", "1.S4.1.broken", "1.S4.2.parameters")
@pytest.mark.parametrize("mode", MODES)
def test_the_official_client_tells_results_that_are_errors_from_errors(
    judge: OjHarness, door: str | StdioServerParameters, mode: str
) -> None:
    judge.order("close", match="/problems/broken/")

    async def act(client: Client) -> None:
        missing = await client.call_tool("get_problem", {"source": SOURCE, "id": "0"})
        blank = await client.call_tool("get_problem", {"source": " ", "id": "0"})
        assert (missing.is_error, missing.content[0].text) == (True, "[404] Not Found: problem not found")
        assert blank.is_error
        with pytest.raises(MCPError) as caught:
            await client.call_tool("get_problem", {"source": "broken", "id": "1"})
        assert caught.value.code == -32603

    talk(door, mode, act)


def inspect(upstream: OjHarness, era: str, home: Path, *options: str) -> Any:
    """Run the Inspector's command line on `oj-mcp-rs`."""
    return inspected(("--", OJ, "--base-url", upstream.url, "--token", TOKEN), era, home, *options)


@pytest.mark.spec("1.S3.tools-list")
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_lists_the_five_tools_without_a_complaint(judge: OjHarness, era: str, tmp_path: Path) -> None:
    """`--strict` makes it exit non-zero when a schema would not travel to every client."""
    listed = inspect(judge, era, tmp_path, "--method", "tools/list", "--strict")

    assert [tool["name"] for tool in listed["tools"]] == TOOLS


@pytest.mark.spec("2.common.markdown")
@pytest.mark.parametrize("name", TOOLS)
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_calls_each_tool(judge: OjHarness, era: str, name: str, tmp_path: Path) -> None:
    arguments, beginning = CALLS[name]
    options = ("--method", "tools/call", "--tool-name", name, "--tool-args-json", json.dumps(arguments))

    result = inspect(judge, era, tmp_path, *options)

    assert result["isError"] is False
    assert result["content"][0]["text"].startswith(beginning)


@pytest.mark.spec("2.common.markdown")
@pytest.mark.parametrize("name", TOOLS)
def test_every_door_gives_the_same_text(judge: OjHarness, server: Server, stdio: Pipe, name: str) -> None:
    arguments, beginning = CALLS[name]
    called = {"name": name, "arguments": arguments}
    slug = f"oj.{name}"

    texts = {
        "stdio": stdio.ask(rpc("tools/call", called))["result"]["content"][0]["text"],
        "stdio, modern": stdio.ask(rpc("tools/call", called, modern=True))["result"]["content"][0]["text"],
        "http": server.post("/mcp", rpc("tools/call", called)).json()["result"]["content"][0]["text"],
        "http, modern": server.post(
            "/mcp", rpc("tools/call", called, modern=True), modern_headers("tools/call", name)
        ).json()["result"]["content"][0]["text"],
        "rest": server.post(f"/api/tools/{name}", arguments).json()["result"]["markdown"],
        "envelope, stdio": stdio.ask(invocation(slug, arguments))["result"]["markdown"],
        "envelope, http": server.post(f"/mcp/tool/{slug}", invocation(slug, arguments)).json()["result"]["markdown"],
    }

    assert texts["stdio"].startswith(beginning)
    assert texts == dict.fromkeys(texts, texts["stdio"])


FAULTS: dict[str, tuple[dict[str, Any], str, int, int]] = {
    "400": ({"fault": "status", "status": 400}, "INVALID_INPUT", 400, -32602),
    "422": ({"fault": "status", "status": 422}, "INVALID_INPUT", 400, -32602),
    "401": ({"fault": "status", "status": 401}, "UNAUTHORIZED", 401, -32001),
    "403": ({"fault": "status", "status": 403}, "UNAUTHORIZED", 401, -32001),
    "404": ({"fault": "status", "status": 404}, "NOT_FOUND", 404, -32004),
    "429": ({"fault": "status", "status": 429}, "INTERNAL_ERROR", 500, -32603),
    "500": ({"fault": "status", "status": 500}, "INTERNAL_ERROR", 500, -32603),
    "503": ({"fault": "status", "status": 503}, "INTERNAL_ERROR", 500, -32603),
    "a page": ({"fault": "html", "status": 200}, "INTERNAL_ERROR", 500, -32603),
    "no answer": ({"fault": "close"}, "INTERNAL_ERROR", 500, -32603),
    "a reset": ({"fault": "reset"}, "INTERNAL_ERROR", 500, -32603),
    "a loop": ({"fault": "redirect_loop"}, "INTERNAL_ERROR", 500, -32603),
    "broken JSON": ({"fault": "not_json"}, "INTERNAL_ERROR", 500, -32603),
}
"""What is ordered; its canonical code, its HTTP status at REST and envelope, its JSON-RPC code at the envelope."""
NOT_TOLD = ("no answer", "a reset", "a loop", "broken JSON")


@pytest.mark.spec("1.S4.2.canonical", "1.S4.2.4xx", "1.S4.2.5xx", "1.S4.1.broken")
@pytest.mark.parametrize("row", FAULTS)
def test_an_error_of_the_upstream_has_its_place_in_the_canonical_table(
    judge: OjHarness, server: Server, stdio: Pipe, row: str
) -> None:
    order, code, status, rpc_code = FAULTS[row]
    arguments, _ = CALLS["get_problem"]
    judge.order(**order)

    mcp = server.post("/mcp", rpc("tools/call", {"name": "get_problem", "arguments": arguments})).json()
    rest = server.post("/api/tools/get_problem", arguments)
    envelope = server.post("/mcp/tool/oj.get_problem", invocation("oj.get_problem", arguments))
    piped = stdio.ask(invocation("oj.get_problem", arguments))

    if row in NOT_TOLD:
        assert mcp["error"]["code"] == -32603
        assert mcp["error"]["data"]["canonical_code"] == code
    else:
        assert mcp["result"]["isError"] is True
        assert mcp["result"]["_meta"]["canonical_code"] == code
        assert rest.json()["error"] == {"code": code, "message": mcp["result"]["content"][0]["text"]}
    assert rest.status == status
    assert rest.json()["success"] is False
    assert (envelope.status, envelope.json()["error"]["code"]) == (status, rpc_code)
    assert envelope.json()["error"]["data"] == {"canonical_code": code}
    assert piped == envelope.json()


@pytest.mark.spec("1.S4.2.canonical", "1.S4.2.parameters")
@pytest.mark.usefixtures("judge")
@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("get_problem", {"source": "", "id": "1"}, "INVALID_INPUT"),
        ("get_problem", {"source": "leetcode"}, "INVALID_INPUT"),
        ("get_daily_challenge", {"date": "today"}, "INVALID_INPUT"),
        ("get_daily_challenge", {"domain": "COM"}, "INVALID_INPUT"),
        ("find_similar_problems", {"query": "ab"}, "INVALID_INPUT"),
        ("find_similar_problems", {"query": "abc", "limit": 0}, "INVALID_INPUT"),
        ("resolve_problem", {"query": "https://example.com/nothing"}, "NOT_FOUND"),
        ("resolve_problem", {"query": "no-such-slug"}, "NOT_FOUND"),
        ("get_problem", {"source": "nobody", "id": "1"}, "INVALID_INPUT"),
    ],
)
def test_a_call_that_is_refused_means_the_same_through_every_door(
    server: Server, stdio: Pipe, name: str, arguments: dict[str, Any], code: str
) -> None:
    said = {door: ask(name, f"oj.{name}", arguments) for door, ask in doors(server, stdio).items()}

    assert said == dict.fromkeys(said, ("error", code))


@pytest.mark.spec("1.S4.2.canonical", "1.S4.2.token")
def test_without_a_token_the_platforms_are_unauthorized_at_every_door(judge: OjHarness) -> None:
    address = ("--toolsets", "oj", "--oj-base-url", judge.url)
    with serving(*address, env=DIRECT) as server, piping(SIGNET, "stdio", *address, env=DIRECT) as pipe:
        said = {
            door: ask("get_platform_status", "oj.get_platform_status", {}) for door, ask in doors(server, pipe).items()
        }

    assert said == dict.fromkeys(said, ("error", "UNAUTHORIZED"))
    assert judge.targets() == []


@pytest.mark.spec("1.S4.2.canonical")
@pytest.mark.parametrize("row", FAULTS)
def test_what_rest_answers_stands_in_the_openapi_page(judge: OjHarness, server: Server, row: str) -> None:
    judge.order(**FAULTS[row][0])
    documented = server.ask("GET", "/openapi.json").json()["paths"]["/api/tools/get_problem"]["post"]["responses"]

    answer = server.post("/api/tools/get_problem", CALLS["get_problem"][0])

    assert str(answer.status) in documented
    assert answer.json()["error"]["code"] in documented[str(answer.status)]["description"].split(" or ")


@pytest.mark.spec("1.S6.3.never")
def test_the_token_is_never_said_at_the_doors_of_signet_either(judge: OjHarness) -> None:
    with serving("--toolsets", "oj", "--oj-base-url", judge.url, "--log", "trace",
                 env={**DIRECT, "OJ_TOKEN": TOKEN}) as server:  # fmt: skip
        said = []
        for row in FAULTS.values():
            judge.control("DELETE", "/faults")
            judge.order(**row[0])
            said.append(server.post("/api/tools/get_problem", CALLS["get_problem"][0]).body)
            said.append(server.post("/mcp", rpc("tools/call", {"name": "get_platform_status"})).body)
        said += [server.ask("GET", path).body for path in ("/", "/openapi.json", "/readyz", "/api/tools")]
        log = server.stderr()

    assert TOKEN.encode() not in b"".join(said)
    assert TOKEN not in log


@pytest.mark.spec("1.S1.1.required", "1.base-url.reject")
@pytest.mark.parametrize("flags", [[], ["--oj-base-url", "https://example.com/api"], ["--oj-base-url", "not a url"]])
def test_signet_does_not_start_the_toolset_without_an_origin(flags: list[str]) -> None:
    done = run_outside(SIGNET, "stdio", "--toolsets", "oj", *flags)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("signet: ")
    assert done.stderr.count("\n") == 1
