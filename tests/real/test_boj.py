"""Official clients list and call the Bank of Japan's three tools, and every door of `signet` gives the same of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError, StdioServerParameters

import signet
from boj_harness import BOJ, CALLS, CODE, DATE, DIRECT, LAYER, METADATA, SPOT, TOOLS, BojHarness, call, published
from boj_messages import order_of
from channels import doors, invocation, rpc
from processes import SIGNET, Pipe, Server, piping, run, serving
from real.witness import inspected

pytestmark = pytest.mark.usefixtures("bank")

MODES = {"legacy": "2025-11-25", "auto": "2026-07-28", "2026-07-28": "2026-07-28"}
"""The client's modes, and the protocol version that each ends up with."""
SLUGS = {CODE: "boj.get_data_code", LAYER: "boj.get_data_layer", METADATA: "boj.get_metadata"}


@pytest.fixture(scope="module")
def environ(the_bank: BojHarness) -> dict[str, str]:
    return {**DIRECT, "BOJ_BASE_URL": the_bank.url, "BOJ_RETRY_BACKOFF_MS": "0"}


@pytest.fixture(scope="module")
def server(environ: dict[str, str]) -> Iterator[Server]:
    """The toolset over HTTP."""
    with serving("--toolsets", "boj", env=environ) as running:
        yield running


@pytest.fixture(scope="module")
def stdio(environ: dict[str, str]) -> Iterator[Pipe]:
    """The toolset on the stdio of `signet`."""
    with piping(SIGNET, "stdio", "--toolsets", "boj", env=environ) as pipe:
        yield pipe


@pytest.fixture(params=["boj-mcp-server", "signet serve"])
def door(request: pytest.FixtureRequest, the_bank: BojHarness, server: Server) -> str | StdioServerParameters:
    """The way in: the drop-in command to start, or an address to call."""
    if request.param == "signet serve":
        return f"{server.url}/mcp"
    return StdioServerParameters(command=BOJ, args=["--base-url", the_bank.url, "--retry-backoff-ms", "0"], env=DIRECT)


def talk(door: str | StdioServerParameters, mode: str, act: Callable[[Client], Awaitable[Any]]) -> Any:
    async def session() -> Any:
        async with Client(door, mode=mode) as client:
            return await act(client)

    return asyncio.run(session())


@pytest.fixture(scope="module")
def results(the_bank: BojHarness) -> dict[str, Any]:
    """What each tool says, by the drop-in server on plain pipes."""
    with piping(BOJ, "--base-url", the_bank.url, env=DIRECT) as pipe:
        return {name: call(pipe, name, **arguments) for name, arguments in CALLS.items()}


# --- the official client


@pytest.mark.spec("3.goal", "3.transport.stdio", "3.tools.three", "3.output.structured")
@pytest.mark.parametrize("mode", MODES)
def test_the_official_client_lists_and_calls_all_three_tools(
    results: dict[str, Any], door: str | StdioServerParameters, mode: str
) -> None:
    """It holds results to the published schemas itself."""

    async def act(client: Client) -> tuple[str, list[Any], dict[str, Any]]:
        listed = await client.list_tools()
        answers = {name: await client.call_tool(name, arguments) for name, arguments in CALLS.items()}
        return client.protocol_version, listed.tools, answers

    version, tools, answers = talk(door, mode, act)

    assert version == MODES[mode]
    assert [tool.name for tool in tools] == TOOLS
    assert [tool.output_schema for tool in tools] == [published()[name]["outputSchema"] for name in TOOLS]
    for name, answer in answers.items():
        [block] = answer.content
        assert answer.is_error is False
        assert json.loads(block.text) == answer.structured_content == results[name]


@pytest.mark.spec("3.tools.identity")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_official_client_is_told_who_it_talks_to(the_bank: BojHarness, mode: str) -> None:
    command = StdioServerParameters(command=BOJ, args=["--base-url", the_bank.url], env=DIRECT)

    async def act(client: Client) -> tuple[Any, Any]:
        return client.server_info, client.server_capabilities.model_dump(exclude_none=True)

    info, capabilities = talk(command, mode, act)

    assert (info.name, info.version) == ("boj-mcp-server", signet.__version__)
    assert capabilities == {"tools": {"list_changed": False}}


@pytest.mark.spec(
    "3.errors.validation", "3.errors.api-400", "3.errors.api-other", "3.errors.transport", "3.errors.decode"
)
@pytest.mark.parametrize("mode", MODES)
def test_the_official_client_has_every_kind_of_error_with_its_data(
    bank: BojHarness, door: str | StdioServerParameters, mode: str
) -> None:
    bank.order("close", match="db=PR01")
    bank.order("not_json", match="db=PR02")
    wrong = {
        "": (-32602, "VALIDATION_ERROR", None),
        "NONE": (-32602, "API_ERROR", "M181005E"),
        "FAIL503": (-32603, "API_ERROR", "M181091S"),
        "PR01": (-32603, "TRANSPORT_ERROR", None),
        "PR02": (-32603, "DECODE_ERROR", None),
    }

    async def act(client: Client) -> dict[str, tuple[int, str, str | None]]:
        told = {}
        for db in wrong:
            with pytest.raises(MCPError) as caught:
                await client.call_tool(METADATA, {"db": db})
            error = caught.value.error
            told[db] = (error.code, error.data["error_type"], error.data.get("message_id"))
        return told

    assert talk(door, mode, act) == wrong


# --- the Inspector


def inspect(upstream: BojHarness, era: str, home: Path, *options: str) -> Any:
    """Run the Inspector's command line on `boj-mcp-server`."""
    return inspected(("--", BOJ, "--base-url", upstream.url), era, home, *options)


@pytest.mark.spec("3.tools.three")
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_lists_the_three_tools_without_a_complaint(bank: BojHarness, era: str, tmp_path: Path) -> None:
    """`--strict` makes it exit non-zero when a schema would not travel to every client."""
    listed = inspect(bank, era, tmp_path, "--method", "tools/list", "--strict")

    assert [tool["name"] for tool in listed["tools"]] == TOOLS


@pytest.mark.spec("3.output.structured")
@pytest.mark.parametrize("name", TOOLS)
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_calls_each_tool(
    bank: BojHarness, results: dict[str, Any], era: str, name: str, tmp_path: Path
) -> None:
    options = ("--method", "tools/call", "--tool-name", name, "--tool-args-json", json.dumps(CALLS[name]))

    result = inspect(bank, era, tmp_path, *options)

    assert result["isError"] is False
    assert result["structuredContent"] == results[name]


# --- the doors of signet


@pytest.mark.spec("3.doors.same", "3.output.structured")
@pytest.mark.parametrize("name", TOOLS)
def test_every_door_gives_the_same_result(results: dict[str, Any], server: Server, stdio: Pipe, name: str) -> None:
    said = {door: ask(name, SLUGS[name], CALLS[name]) for door, ask in doors(server, stdio).items()}

    assert said == dict.fromkeys(said, ("result", results[name]))


@pytest.mark.spec("3.doors.same", "3.polite.kept")
def test_the_doors_of_one_process_share_what_is_kept(bank: BojHarness, server: Server, stdio: Pipe) -> None:
    for ask in doors(server, stdio).values():
        ask(METADATA, SLUGS[METADATA], {"db": "OT"})

    assert bank.targets() == ["/api/v1/getMetadata?db=OT"] * 2


FAULTS: dict[str, tuple[dict[str, Any], str, int, int]] = {
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
}
"""What is ordered; its canonical code, its HTTP status at REST and envelope, its JSON-RPC code everywhere."""


@pytest.mark.spec("3.errors.canonical")
@pytest.mark.parametrize("row", FAULTS)
def test_an_error_of_the_bank_has_its_place_in_the_canonical_table(
    bank: BojHarness, server: Server, stdio: Pipe, row: str
) -> None:
    order, code, status, rpc_code = FAULTS[row]
    bank.order(**order)

    mcp = server.post("/mcp", rpc("tools/call", {"name": CODE, "arguments": SPOT})).json()["error"]
    rest = server.post(f"/api/tools/{CODE}", SPOT)
    envelope = server.post(f"/mcp/tool/{SLUGS[CODE]}", invocation(SLUGS[CODE], SPOT))
    piped = stdio.ask(invocation(SLUGS[CODE], SPOT))

    assert (mcp["code"], mcp["data"]["canonical_code"]) == (rpc_code, code)
    assert rest.status == status
    assert rest.json()["success"] is False
    assert rest.json()["error"] == {"code": code, "message": mcp["message"]}
    assert (envelope.status, envelope.json()["error"]["code"]) == (status, rpc_code)
    assert envelope.json()["error"]["data"] == {"canonical_code": code}
    assert piped == envelope.json()


@pytest.mark.spec("3.errors.canonical")
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        (METADATA, {"db": ""}),
        (METADATA, {}),
        (METADATA, {"db": "FM01", "language": "en"}),
        (METADATA, {"db": "NONE"}),
        (CODE, {"db": "CO", "codes": []}),
        (CODE, {"db": "CO", "codes": "A"}),
        (CODE, {"db": "CO", "codes": ["NONE"]}),
        (LAYER, {"db": "CO", "frequency": "Q", "layers": ["0"]}),
        (LAYER, {"db": "CO", "layers": ["1"]}),
        (LAYER, {"db": "CO", "frequency": "Q", "layers": ["*"]}),
    ],
    ids=str,
)
def test_a_call_that_is_refused_means_the_same_through_every_door(
    server: Server, stdio: Pipe, name: str, arguments: dict[str, Any]
) -> None:
    said = {door: ask(name, SLUGS[name], arguments) for door, ask in doors(server, stdio).items()}

    assert said == dict.fromkeys(said, ("error", "INVALID_INPUT"))


@pytest.mark.spec("3.errors.canonical")
@pytest.mark.parametrize("row", FAULTS)
def test_what_rest_answers_stands_in_the_openapi_page(bank: BojHarness, server: Server, row: str) -> None:
    bank.order(**FAULTS[row][0])
    documented = server.ask("GET", "/openapi.json").json()["paths"][f"/api/tools/{CODE}"]["post"]["responses"]

    answer = server.post(f"/api/tools/{CODE}", SPOT)

    assert str(answer.status) in documented
    assert answer.json()["error"]["code"] in documented[str(answer.status)]["description"].split(" or ")


@pytest.mark.spec("3.doors.same")
def test_the_toolset_is_there_without_being_asked_for(environ: dict[str, str]) -> None:
    done = run("tools", "--json", env=environ)

    names = [tool["name"] for tool in json.loads(done.stdout)]
    assert [name for name in names if name.startswith("boj_")] == TOOLS


@pytest.mark.spec("3.doors.same")
@pytest.mark.parametrize("name", TOOLS)
def test_a_person_calls_each_tool_by_command(results: dict[str, Any], environ: dict[str, str], name: str) -> None:
    done = run("call", name, "--json", json.dumps(CALLS[name]), env=environ)

    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout) == results[name]


@pytest.mark.spec("3.doors.same")
def test_the_embedded_sample_serves_the_tools_without_any_network() -> None:
    nowhere = {"BOJ_BASE_URL": "http://127.0.0.1:1"}

    with serving("--toolsets", "boj", "--sandbox", env={**DIRECT, **nowhere}) as server:
        answer = server.post(f"/api/tools/{METADATA}", {"db": "FM01", "lang": "en"}).json()

    assert (answer["success"], answer["result"]["entries_count"]) == (True, 5)


@pytest.mark.spec("3.doors.same", "3.config.base-url")
@pytest.mark.parametrize("command", ["serve", "stdio"])
def test_the_base_url_is_a_flag_of_signet_too(bank: BojHarness, command: str) -> None:
    flags = ("--toolsets", "boj", "--boj-base-url", bank.url)
    asked = {"name": CODE, "arguments": SPOT}

    if command == "serve":
        with serving(*flags, env=DIRECT) as server:
            result = server.post("/mcp", rpc("tools/call", asked)).json()["result"]
    else:
        with piping(SIGNET, "stdio", *flags, env=DIRECT) as pipe:
            result = pipe.ask(rpc("tools/call", asked))["result"]

    assert result["structuredContent"]["meta"]["date"] == DATE


@pytest.mark.spec("3.config.precedence")
@pytest.mark.parametrize(
    "variable", [{"BOJ_BASE_URL": "not a url"}, {"BOJ_TIMEOUT_MS": "soon"}, {"BOJ_RETRY_MAX": "-1"}], ids=str
)
def test_signet_does_not_start_the_toolset_with_a_setting_that_is_none(variable: dict[str, str]) -> None:
    done = run("stdio", "--toolsets", "boj", env=variable)

    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"signet: ")
    assert done.stderr.count(b"\n") == 1
