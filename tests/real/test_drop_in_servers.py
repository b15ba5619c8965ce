"""Official clients list and call the tools of both drop-in servers, and every door of `signet` answers the same."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError, StdioServerParameters

from boj_harness import DATE
from boj_messages import order_of
from commands_in_process import run_here
from door_calls import doors, invocation, rpc, run_on_one_message
from drop_in_servers import BOJ_SERVER, OJ_SERVER, SERVERS, TOKEN, VERSION, DropInServer
from processes import SIGNET, Pipe, Server, piping, run, serving
from real.witness import inspected
from upstream_harness import DIRECT, UpstreamHarness

MODES = {"legacy": "2025-11-25", "auto": "2026-07-28", "2026-07-28": "2026-07-28"}
"""The client's modes, and the protocol version that each ends up with."""

BEGINNINGS = {
    "get_daily_challenge": "# ",
    "get_problem": "# Lantern Pairs\n",
    "find_similar_problems": "# Similar Problems\n",
    "resolve_problem": "# Lantern Pairs\n",
    "get_platform_status": "# OJ Platform Status (v",
    "boj_get_data_code": '{"meta":',
    "boj_get_data_layer": '{"meta":',
    "boj_get_metadata": '{"meta":',
}
"""How the text of each tool begins."""

OF_THE_JUDGE = pytest.mark.parametrize("drop_in", [OJ_SERVER.name], indirect=True)
OF_THE_BANK = pytest.mark.parametrize("drop_in", [BOJ_SERVER.name], indirect=True)
TOOLS = [pytest.param(server.name, tool, id=tool) for server in SERVERS.values() for tool in server.tools]
IN_TURN = [
    pytest.param(server.name, tool, ["legacy", "modern"][place % 2], id=tool)
    for server in SERVERS.values()
    for place, tool in enumerate(server.tools[:2])
]
"""A tool of each server in each era."""


@pytest.fixture(scope="module", params=SERVERS)
def drop_in(request: pytest.FixtureRequest) -> DropInServer:
    return SERVERS[request.param]


@pytest.fixture(scope="module")
def upstream(drop_in: DropInServer) -> Iterator[UpstreamHarness]:
    with drop_in.play() as harness:
        yield harness


@pytest.fixture(scope="module")
def server(drop_in: DropInServer, upstream: UpstreamHarness) -> Iterator[Server]:
    """The toolset over HTTP."""
    with serving("--toolsets", drop_in.toolset, env=drop_in.environ(upstream)) as running:
        yield running


@pytest.fixture(scope="module")
def stdio(drop_in: DropInServer, upstream: UpstreamHarness) -> Iterator[Pipe]:
    """The toolset on the stdio of `signet`."""
    with piping(SIGNET, "stdio", "--toolsets", drop_in.toolset, env=drop_in.environ(upstream)) as pipe:
        yield pipe


@pytest.fixture(params=["drop-in", "signet serve"])
def door(
    request: pytest.FixtureRequest, drop_in: DropInServer, upstream: UpstreamHarness, server: Server
) -> str | StdioServerParameters:
    """The way in: the drop-in command to start, or an address to call."""
    if request.param == "signet serve":
        return f"{server.url}/mcp"
    return command(drop_in, upstream)


def command(drop_in: DropInServer, upstream: UpstreamHarness) -> StdioServerParameters:
    return StdioServerParameters(command=drop_in.command, args=list(drop_in.flags(upstream)), env=DIRECT)


def talk(door: str | StdioServerParameters, mode: str, act: Callable[[Client], Awaitable[Any]]) -> Any:
    async def session() -> Any:
        async with Client(door, mode=mode) as client:
            return await act(client)

    return asyncio.run(session())


@pytest.fixture(scope="module")
def results(drop_in: DropInServer, upstream: UpstreamHarness) -> dict[str, dict[str, Any]]:
    """The result of each tool, by the drop-in server on plain pipes."""
    with drop_in.piping(upstream) as pipe:
        calls = [{"name": tool, "arguments": arguments} for tool, arguments in drop_in.calls.items()]
        answers = {call["name"]: pipe.ask(rpc("tools/call", call))["result"] for call in calls}
    for tool, result in answers.items():
        assert (result["isError"], len(result["content"])) == (False, 1)
        assert result["content"][0]["text"].startswith(BEGINNINGS[tool])
        assert ("structuredContent" in result) == drop_in.structured
    return answers


@pytest.fixture(scope="module")
def published(drop_in: DropInServer) -> list[dict[str, Any]]:
    """The tools as the drop-in server itself lists them."""
    _, out, _ = run_on_one_message(drop_in.command, *drop_in.start_flags, stdin=rpc("tools/list", {}))
    tools: list[dict[str, Any]] = json.loads(out)["result"]["tools"]
    return tools


# --- the official client


def by_signet(tool: str, text: str) -> str:
    """Return a drop-in server's text as `signet` has it: with what the template has no place for."""
    if tool != "get_daily_challenge":
        return text
    return re.sub(r"(\n- AC Rate: [^\n]*\n)", r"\1- Daily challenge: 2024-01-01 (leetcode.cn)\n", text, count=1)


@pytest.mark.spec(
    "1.S3.tools-list", "1.S3.3.stdio", "2.common.markdown",
    "3.goal", "3.transport.stdio", "3.tools.three", "3.output.structured",
)  # fmt: skip
@pytest.mark.parametrize("mode", MODES)
def test_the_official_client_lists_and_calls_every_tool(
    drop_in: DropInServer,
    results: dict[str, dict[str, Any]],
    published: list[dict[str, Any]],
    door: str | StdioServerParameters,
    mode: str,
) -> None:
    """It holds structured results to the published schemas itself."""

    async def act(client: Client) -> tuple[str, list[Any], dict[str, Any]]:
        listed = await client.list_tools()
        answers = {name: await client.call_tool(name, arguments) for name, arguments in drop_in.calls.items()}
        return client.protocol_version, listed.tools, answers

    version, tools, answers = talk(door, mode, act)

    assert version == MODES[mode]
    assert [tool.name for tool in tools] == drop_in.tools
    assert [tool.output_schema for tool in tools] == [tool.get("outputSchema") for tool in published]
    for name, answer in answers.items():
        [block] = answer.content
        assert answer.is_error is False
        text = results[name]["content"][0]["text"]
        assert block.text == (by_signet(name, text) if isinstance(door, str) else text)
        assert answer.structured_content == results[name].get("structuredContent")


@pytest.mark.spec("1.S3.1.name", "1.S3.1.version", "1.S3.2.tools", "1.S3.2.nothing-else", "3.tools.identity")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_official_client_is_told_who_it_talks_to(
    drop_in: DropInServer, upstream: UpstreamHarness, mode: str
) -> None:
    async def act(client: Client) -> tuple[Any, Any]:
        return client.server_info, client.server_capabilities.model_dump(exclude_none=True)

    info, capabilities = talk(command(drop_in, upstream), mode, act)

    assert (info.name, info.version) == (drop_in.name, VERSION)
    assert capabilities == {"tools": {"list_changed": False}}


@pytest.mark.spec("1.S4.2.4xx", "1.S4.1.broken", "1.S4.2.parameters", "2.T2.blank")
@OF_THE_JUDGE
@pytest.mark.parametrize("mode", MODES)
def test_the_official_client_tells_results_that_are_errors_from_errors(
    upstream: UpstreamHarness, door: str | StdioServerParameters, mode: str
) -> None:
    source = OJ_SERVER.calls["get_problem"]["source"]
    upstream.order("close", match="/problems/broken/")

    async def act(client: Client) -> None:
        missing = await client.call_tool("get_problem", {"source": source, "id": "0"})
        blank = await client.call_tool("get_problem", {"source": " ", "id": "0"})
        told = "[404] Not Found: problem not found"
        assert missing.is_error
        assert (
            missing.content[0].text.startswith(f"{told}. The judges and ")
            if isinstance(door, str)
            else (missing.content[0].text == told)
        )
        assert blank.is_error
        with pytest.raises(MCPError) as caught:
            await client.call_tool("get_problem", {"source": "broken", "id": "1"})
        assert caught.value.code == -32603

    talk(door, mode, act)
    assert upstream.targets() == [f"/api/v1/problems/{source}/0", "/api/v1/problems/broken/1"]


@pytest.mark.spec(
    "3.errors.validation", "3.errors.api-400", "3.errors.api-other", "3.errors.transport", "3.errors.decode"
)
@OF_THE_BANK
@pytest.mark.parametrize("mode", MODES)
def test_the_official_client_has_every_kind_of_error_with_its_data(
    upstream: UpstreamHarness, door: str | StdioServerParameters, mode: str
) -> None:
    upstream.order("close", match="db=PR01")
    upstream.order("not_json", match="db=PR02")
    expected = {
        "": (-32602, "VALIDATION_ERROR", None),
        "NONE": (-32602, "API_ERROR", "M181005E"),
        "FAIL503": (-32603, "API_ERROR", "M181091S"),
        "PR01": (-32603, "TRANSPORT_ERROR", None),
        "PR02": (-32603, "DECODE_ERROR", None),
    }

    codes = {-32602: "INVALID_INPUT", -32603: "INTERNAL_ERROR"}

    async def act(client: Client) -> dict[str, tuple[Any, str, str | None]]:
        errors = {}
        for db in expected:
            try:
                result = await client.call_tool("boj_get_metadata", {"db": db})
                data, code = result.meta, result.meta["canonical_code"]
            except MCPError as caught:
                data, code = caught.error.data, caught.error.code
            errors[db] = (code, data["error_type"], data.get("message_id"))
        return errors

    # `signet` tells the model with a result, the drop-in server its client with an error.
    told = {db: (codes[code], *rest) for db, (code, *rest) in expected.items()} if isinstance(door, str) else expected
    assert talk(door, mode, act) == told


# --- the Inspector


def inspect(drop_in: DropInServer, upstream: UpstreamHarness, era: str, home: Path, *options: str) -> Any:
    """Run the Inspector's command line on a drop-in server."""
    return inspected(("--", drop_in.command, *drop_in.flags(upstream)), era, home, *options)


@pytest.mark.spec("1.S3.tools-list", "3.tools.three")
def test_the_inspector_lists_the_tools_without_a_complaint(
    drop_in: DropInServer, upstream: UpstreamHarness, tmp_path: Path
) -> None:
    """`--strict` makes it exit non-zero when a schema would not travel to every client; the eras are called below."""
    listed = inspect(drop_in, upstream, "legacy", tmp_path, "--method", "tools/list", "--strict")

    assert [tool["name"] for tool in listed["tools"]] == drop_in.tools


@pytest.mark.spec("2.common.markdown", "3.output.structured")
@pytest.mark.parametrize(("drop_in", "tool", "era"), IN_TURN, indirect=["drop_in"], scope="module")
def test_the_inspector_calls_a_tool_in_each_era(
    drop_in: DropInServer, upstream: UpstreamHarness, results: dict[str, Any], era: str, tool: str, tmp_path: Path
) -> None:
    options = ("--method", "tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(drop_in.calls[tool]))

    result = inspect(drop_in, upstream, era, tmp_path, *options)

    assert result["isError"] is False
    assert result["content"][0]["text"] == results[tool]["content"][0]["text"]
    assert result.get("structuredContent") == results[tool].get("structuredContent")


# --- the doors of signet


@pytest.mark.spec("2.common.markdown", "3.doors.same", "3.output.structured")
@pytest.mark.parametrize(("drop_in", "tool"), TOOLS, indirect=["drop_in"], scope="module")
def test_every_door_gives_the_same_result(
    drop_in: DropInServer, results: dict[str, Any], server: Server, stdio: Pipe, tool: str
) -> None:
    expected = results[tool].get("structuredContent") or {
        "markdown": by_signet(tool, results[tool]["content"][0]["text"])
    }

    said = {door: ask(tool, drop_in.slug(tool), drop_in.calls[tool]) for door, ask in doors(server, stdio).items()}

    assert said == dict.fromkeys(said, ("result", expected))


FAULTS: dict[str, dict[str, tuple[dict[str, Any], str, int, int]]] = {
    OJ_SERVER.name: {
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
    },
    BOJ_SERVER.name: {
        "STATUS 400": (order_of("M181013E"), "INVALID_INPUT", 400, -32602),
        "STATUS 400 under HTTP 200": ({**order_of("M181013E"), "status": 200}, "INVALID_INPUT", 400, -32602),
        "STATUS 404": ({"fault": "answer", "body": '{"STATUS":404}'}, "INTERNAL_ERROR", 500, -32603),
        "STATUS 500": (order_of("M181090S"), "INTERNAL_ERROR", 500, -32603),
        "STATUS 503": (order_of("M181091S"), "INTERNAL_ERROR", 500, -32603),
        "a page": ({"fault": "html", "status": 502}, "INTERNAL_ERROR", 500, -32603),
        "no answer": ({"fault": "close"}, "INTERNAL_ERROR", 500, -32603),
        "a body cut short": ({"fault": "cut"}, "INTERNAL_ERROR", 500, -32603),
        "broken JSON": ({"fault": "not_json"}, "INTERNAL_ERROR", 500, -32603),
        "too large an answer": ({"fault": "huge", "size": 20_000_000}, "INTERNAL_ERROR", 500, -32603),
    },
}
"""For each fault: the order, its canonical code, its HTTP status at REST and envelope, its JSON-RPC code."""

RESULTS_WITH_ERRORS = {
    OJ_SERVER.name: {"400", "422", "401", "403", "404", "429", "500", "503", "a page"},
    BOJ_SERVER.name: set(FAULTS[BOJ_SERVER.name]),
}
"""The faults that MCP answers with a result whose `isError` is true, instead of a JSON-RPC error."""

REST_CODES = {
    OJ_SERVER.name: {
        "no answer": "UPSTREAM_FAILED",
        "a reset": "UPSTREAM_FAILED",
        "a loop": "UPSTREAM_FAILED",
        "broken JSON": "UPSTREAM_BROKEN",
    }
}
"""The faults that REST calls by another name than the canonical code."""

FAULT_ROWS = [pytest.param(name, row, id=f"{name}: {row}") for name in SERVERS for row in FAULTS[name]]
FAULT_TOOLS = {OJ_SERVER.name: "get_problem", BOJ_SERVER.name: "boj_get_data_code"}


@pytest.mark.spec("1.S4.2.canonical", "1.S4.2.4xx", "1.S4.2.5xx", "1.S4.1.broken", "3.errors.canonical")
@pytest.mark.parametrize(("drop_in", "row"), FAULT_ROWS, indirect=["drop_in"], scope="module")
def test_an_error_of_the_upstream_has_its_place_in_the_canonical_table(
    drop_in: DropInServer, upstream: UpstreamHarness, server: Server, stdio: Pipe, row: str
) -> None:
    order, code, status, rpc_code = FAULTS[drop_in.name][row]
    tool = FAULT_TOOLS[drop_in.name]
    slug, arguments = drop_in.slug(tool), drop_in.calls[tool]
    upstream.order(**order)

    mcp = server.post("/mcp", rpc("tools/call", {"name": tool, "arguments": arguments})).json()
    rest = server.post(f"/api/tools/{tool}", arguments)
    envelope = server.post(f"/mcp/tool/{slug}", invocation(slug, arguments))
    piped = stdio.ask(invocation(slug, arguments))

    if row in RESULTS_WITH_ERRORS.get(drop_in.name, ()):
        assert (mcp["result"]["isError"], mcp["result"]["_meta"]["canonical_code"]) == (True, code)
        message = mcp["result"]["content"][0]["text"]
    else:
        assert (mcp["error"]["code"], mcp["error"]["data"]["canonical_code"]) == (rpc_code, code)
        message = mcp["error"]["message"]
    assert rest.status == status
    assert rest.json()["success"] is False
    assert rest.json()["error"] == {
        "code": REST_CODES.get(drop_in.name, {}).get(row, code),
        "message": message,
    }
    assert (envelope.status, envelope.json()["error"]["code"]) == (status, rpc_code)
    assert envelope.json()["error"]["data"] == {"canonical_code": code}
    assert piped == envelope.json()


@pytest.mark.spec("1.S4.2.canonical", "3.errors.canonical")
@pytest.mark.parametrize(("drop_in", "row"), FAULT_ROWS, indirect=["drop_in"], scope="module")
def test_what_rest_answers_stands_in_the_openapi_page(
    drop_in: DropInServer, upstream: UpstreamHarness, server: Server, row: str
) -> None:
    upstream.order(**FAULTS[drop_in.name][row][0])
    path = f"/api/tools/{FAULT_TOOLS[drop_in.name]}"
    documented = server.ask("GET", "/openapi.json").json()["paths"][path]["post"]["responses"]

    answer = server.post(path, drop_in.calls[FAULT_TOOLS[drop_in.name]])

    assert str(answer.status) in documented
    assert answer.json()["error"]["code"] in documented[str(answer.status)]["description"].split(" or ")


REFUSED: dict[str, list[tuple[str, dict[str, Any], str]]] = {
    OJ_SERVER.name: [
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
    BOJ_SERVER.name: [
        ("boj_get_metadata", {"db": ""}, "INVALID_INPUT"),
        ("boj_get_metadata", {}, "INVALID_INPUT"),
        ("boj_get_metadata", {"db": "FM01", "langs": "en"}, "INVALID_INPUT"),
        ("boj_get_metadata", {"db": "NONE"}, "INVALID_INPUT"),
        ("boj_get_data_code", {"db": "CO", "codes": []}, "INVALID_INPUT"),
        ("boj_get_data_code", {"db": "CO", "codes": "A"}, "INVALID_INPUT"),
        ("boj_get_data_code", {"db": "CO", "codes": ["NONE"]}, "INVALID_INPUT"),
        ("boj_get_data_layer", {"db": "CO", "frequency": "Q", "layers": ["0"]}, "INVALID_INPUT"),
        ("boj_get_data_layer", {"db": "CO", "layers": ["1"]}, "INVALID_INPUT"),
        ("boj_get_data_layer", {"db": "CO", "frequency": "Q", "layers": ["*"]}, "INVALID_INPUT"),
    ],
}


@pytest.mark.spec("1.S4.2.canonical", "1.S4.2.parameters", "3.errors.canonical")
@pytest.mark.usefixtures("upstream")
@pytest.mark.parametrize(
    ("drop_in", "tool", "arguments", "code"),
    [pytest.param(name, *row, id=f"{row[0]} {row[1]}") for name in SERVERS for row in REFUSED[name]],
    indirect=["drop_in"],
    scope="module",
)
def test_a_call_that_is_refused_means_the_same_through_every_door(
    drop_in: DropInServer, server: Server, stdio: Pipe, tool: str, arguments: dict[str, Any], code: str
) -> None:
    said = {door: ask(tool, drop_in.slug(tool), arguments) for door, ask in doors(server, stdio).items()}

    assert said == dict.fromkeys(said, ("error", code))


@pytest.mark.spec("3.doors.same", "2.common.markdown")
@pytest.mark.parametrize(("drop_in", "tool"), TOOLS, indirect=["drop_in"], scope="module")
def test_a_person_calls_each_tool_by_command(
    drop_in: DropInServer, upstream: UpstreamHarness, results: dict[str, Any], tool: str
) -> None:
    done = run_here("call", tool, "--json", json.dumps(drop_in.calls[tool]), env=drop_in.environ(upstream))

    assert (done.returncode, done.stderr) == (0, b"")
    expected = results[tool].get("structuredContent") or {
        "markdown": by_signet(tool, results[tool]["content"][0]["text"])
    }
    assert json.loads(done.stdout) == expected


@pytest.mark.spec("1.S1.1.required", "1.base-url.reject", "1.S1.1.path", "1.S1.1.no-url", "3.config.precedence")
@pytest.mark.parametrize(
    ("toolset", "flags", "env"),
    [
        ("oj", [], {}),
        ("oj", ["--oj-base-url", "https://example.com/api"], {}),
        ("oj", ["--oj-base-url", "not a url"], {}),
        ("boj", [], {"BOJ_BASE_URL": "not a url"}),
        ("boj", [], {"BOJ_TIMEOUT_MS": "soon"}),
        ("boj", [], {"BOJ_RETRY_MAX": "-1"}),
    ],
    ids=str,
)
def test_signet_does_not_start_a_toolset_whose_settings_are_wrong(
    toolset: str, flags: list[str], env: dict[str, str]
) -> None:
    done = run("stdio", "--toolsets", toolset, *flags, env=env)

    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"signet: ")
    assert done.stderr.count(b"\n") == 1


# --- the judge alone


@pytest.mark.spec("2.common.markdown")
@OF_THE_JUDGE
def test_a_problem_is_the_same_however_it_is_found(results: dict[str, dict[str, Any]]) -> None:
    assert results["get_problem"] == results["resolve_problem"]


@pytest.mark.spec("1.S4.2.canonical", "1.S4.2.token", "2.T5.before-request")
@OF_THE_JUDGE
def test_without_a_token_the_platforms_are_unauthorized_at_every_door(upstream: UpstreamHarness) -> None:
    address = ("--toolsets", "oj", "--oj-base-url", upstream.url)

    with serving(*address, env=DIRECT) as server, piping(SIGNET, "stdio", *address, env=DIRECT) as pipe:
        said = {
            door: ask("get_platform_status", "oj.get_platform_status", {}) for door, ask in doors(server, pipe).items()
        }

    assert said == dict.fromkeys(said, ("error", "UNAUTHORIZED"))
    assert upstream.targets() == []


@pytest.mark.spec("1.S6.3.never")
@OF_THE_JUDGE
def test_the_token_is_never_said_at_the_doors_of_signet_either(upstream: UpstreamHarness) -> None:
    flags = ("--toolsets", "oj", "--oj-base-url", upstream.url, "--log", "trace")
    replies = []

    with serving(*flags, env={**DIRECT, "OJ_TOKEN": TOKEN}) as server:
        for order, *_ in FAULTS[OJ_SERVER.name].values():
            upstream.clear()
            upstream.order(**order)
            replies.append(server.post("/api/tools/get_problem", OJ_SERVER.calls["get_problem"]).body)
            replies.append(server.post("/mcp", rpc("tools/call", {"name": "get_platform_status"})).body)
        replies += [server.ask("GET", path).body for path in ("/", "/openapi.json", "/readyz", "/api/tools")]
        log = server.stderr()

    assert TOKEN.encode() not in b"".join(replies)
    assert TOKEN not in log


# --- the Bank alone


@pytest.mark.spec("3.doors.same", "3.polite.kept")
@OF_THE_BANK
def test_the_doors_of_one_process_share_what_is_kept(upstream: UpstreamHarness, server: Server, stdio: Pipe) -> None:
    for ask in doors(server, stdio).values():
        ask("boj_get_metadata", "boj.get_metadata", {"db": "OT"})

    assert upstream.targets() == ["/api/v1/getMetadata?db=OT"] * 2


@pytest.mark.spec("3.doors.same")
@OF_THE_BANK
def test_the_toolset_is_there_without_being_asked_for(drop_in: DropInServer, upstream: UpstreamHarness) -> None:
    done = run("tools", "--json", env=drop_in.environ(upstream))

    names = [tool["name"] for tool in json.loads(done.stdout)]
    more = ["boj_search", "boj_list_databases", "boj_get_series"]
    assert [name for name in names if name.startswith("boj_")] == [*drop_in.tools, *more]


@pytest.mark.spec("3.doors.same")
def test_the_embedded_sample_serves_the_tools_without_any_network() -> None:
    nowhere = {"BOJ_BASE_URL": "http://127.0.0.1:1"}

    with serving("--toolsets", "boj", "--sandbox", env={**DIRECT, **nowhere}) as server:
        answer = server.post("/api/tools/boj_get_metadata", {"db": "FM01", "lang": "en"}).json()

    assert (answer["success"], answer["result"]["entries_count"]) == (True, 5)


@pytest.mark.spec("3.doors.same", "3.config.base-url")
@OF_THE_BANK
@pytest.mark.parametrize("command", ["serve", "stdio"])
def test_the_base_url_is_a_flag_of_signet_too(drop_in: DropInServer, upstream: UpstreamHarness, command: str) -> None:
    flags = ("--toolsets", "boj", "--boj-base-url", upstream.url)
    call = rpc("tools/call", {"name": "boj_get_data_code", "arguments": drop_in.calls["boj_get_data_code"]})

    if command == "serve":
        with serving(*flags, env=DIRECT) as server:
            result = server.post("/mcp", call).json()["result"]
    else:
        with piping(SIGNET, "stdio", *flags, env=DIRECT) as pipe:
            result = pipe.ask(call)["result"]

    assert result["structuredContent"]["meta"]["date"] == DATE
