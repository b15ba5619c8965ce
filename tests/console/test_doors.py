"""The same call through every door, side by side: they agree, and where one does not, it is shown."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from processes import Server, run, serving, serving_limited
from signet.app import build_server
from signet.console.doors import CallWanted, Doors
from signet.console.parts import ConsoleContext
from signet.console.spool import Spool
from signet.console.twin import Visit
from signet.kernel.tools import Tool
from signet.kernel.wire import Headers
from signet.settings.catalogue import TOOLSETS, find_toolset
from signet.settings.model import Settings
from signet.transports.messages import Request

from .call_house import House, checked, drawing, opened
from .journal_calls import wait_until

DOORS = [
    "MCP over HTTP, 2025-11-25", "MCP over HTTP, 2026-07-28", "REST", "Envelope over HTTP",
    "MCP on stdio, 2025-11-25", "MCP on stdio, 2026-07-28", "Envelope on stdio",
]  # fmt: skip
EXAMPLES = {
    tool.name: dict(tool.example) for name in TOOLSETS for tool in find_toolset(name).tools() if tool.has_example
}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server of all toolsets on sample data, with a PlantUML server that draws at once."""
    with drawing() as url, serving("--sandbox", "--plantuml-server", url, "--no-journal") as running:
        yield running


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with opened(tmp_path_factory.mktemp("doors")) as running:
        yield running


def test_all_doors_agree_on_every_example(server: Server) -> None:
    for tool, arguments in EXAMPLES.items():
        reply = server.post("/-/doors", {"tool": tool, "arguments": arguments})
        found = checked(server, "/-/doors", reply)
        assert [door["name"] for door in found["doors"]] == DOORS, tool
        assert found["agrees"], (tool, found["differences"])
        assert [one for one in found["differences"] if one["cause"] == "door"] == []
        assert {door["outcome"] for door in found["doors"]} == {"OK"}, tool


def test_all_doors_agree_on_a_refusal_each_in_its_own_form(house: House) -> None:
    found = house.doors("get_problem", source=5)

    assert found["agrees"]
    assert found["outcome"] == "INVALID_INPUT"
    assert [door["status"] for door in found["doors"]] == [200, 200, 400, 400, None, None, None]
    assert json.loads(found["doors"][2]["wire"])["error"]["code"] == "INVALID_INPUT"
    assert json.loads(found["doors"][6]["wire"])["error"]["data"] == {"canonical_code": "INVALID_INPUT"}


def test_an_answer_of_another_time_is_not_laid_at_a_doors_feet(house: House) -> None:
    house.oj.order("status", status=500, match="/problems/leetcode/4", times=1)

    found = house.doors("get_problem", source="leetcode", id="4")

    assert found["agrees"]
    assert {one["cause"] for one in found["differences"]} <= {"call"}
    assert found["doors"][0]["outcome"] == "INTERNAL_ERROR"


def compare(variant: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    settings = Settings.read({}, {"toolsets": "plantuml", "journal": False})
    built = build_server(settings, variant=variant)
    doors = Doors(ConsoleContext(settings, built, Spool()))
    body = msgspec.json.encode({"tool": tool, "arguments": arguments})
    request = Request("POST", "/-/doors", Headers((), ()), body=body)

    async def run() -> Any:
        response = await doors.compare(Visit(request, {}, msgspec.json.decode(body, type=CallWanted)))
        await built.close()
        return json.loads(response.body)

    found = asyncio.run(run())
    assert isinstance(found, dict)
    return found


def test_a_door_that_tells_something_else_is_found_out() -> None:
    def seeded(tool: Tool) -> Tool:
        return msgspec.structs.replace(tool, to_content=lambda _: [{"type": "text", "text": "another answer"}])

    found = compare(seeded, "encodePlantUML", plantumlCode="A -> B")

    assert not found["agrees"]
    assert [door["name"] for door in found["doors"] if not door["agrees"]] == [name for name in DOORS if "MCP" in name]
    told = next(one for one in found["differences"] if one["path"] == "result.markdown")
    assert (told["expected"], told["found"], told["cause"]) == ("null", '"another answer"', "door")


WAYS = ["http mcp", "http mcp", "rest", "http envelope", "stdio mcp", "stdio mcp", "stdio envelope"]
ENCODE = {"tool": "encodePlantUML", "arguments": {"plantumlCode": "A -> B"}}


def audited(path: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [line for line in lines if line["kind"] == "request"]


def test_each_call_through_a_door_is_audited_with_its_caller_and_its_door(tmp_path: Path) -> None:
    tokens, audit = str(tmp_path / "tokens"), tmp_path / "audit"
    made = run("token", "new", "ada", "--scopes", "tools:call", "--tokens-file", tokens).stdout.decode().split()[-1]
    flags = ("--toolsets", "plantuml", "--no-journal", "--tokens-file", tokens, "--audit-log", str(audit))
    with serving(*flags, "--access-log") as server:
        headers = {"authorization": f"Bearer {made}", "x-request-id": "0123456789abcdef0123456789abcdef"}
        assert server.post("/-/doors", ENCODE, headers).status == 200
        bad = {"tool": "encodePlantUML", "arguments": {"plantumlCode": 5}}
        assert server.post("/-/doors", bad, headers).status == 200
        written = server.stderr()

    lines = audited(audit)
    calls = [line for line in lines if line["tool"] is not None]
    assert [line["door"] for line in calls] == [f"{name} (console)" for name in WAYS] * 2
    assert [line["door"] for line in lines if line not in calls] == ["console"] * 2
    assert {line["tool"] for line in calls} == {"plantuml.encode"}
    assert {line["principal"] for line in lines} == {"ada"}
    assert [line["code"] for line in calls] == ["OK"] * 7 + ["INVALID_INPUT"] * 7
    assert [line["status"] for line in calls] == [200] * 7 + [200, 200, 400, 400, 200, 200, 400]
    assert len({line["requestId"] for line in lines[:8]}) == 1
    assert lines[-1]["calls"] == 14
    assert written.count("(console)") == 14, "the access log has them too"


def test_a_refused_call_ends_the_run_with_its_fault_and_has_one_line(tmp_path: Path) -> None:
    tokens, audit = str(tmp_path / "tokens"), tmp_path / "audit"
    made = {
        name: run("token", "new", name, "--scopes", scopes, "--tokens-file", tokens).stdout.decode().split()[-1]
        for name, scopes in {"ada": "tools:call", "reader": "tools:read"}.items()
    }
    flags = ("--toolsets", "plantuml", "--no-journal", "--tokens-file", tokens, "--audit-log", str(audit))
    with serving(*flags, "--rate-limit", "1/h") as server:
        replies = [
            server.post("/-/doors", ENCODE, {"authorization": f"Bearer {made[name]}"})
            for name in ("reader", "ada", "ada")
        ]

    lines = audited(audit)
    assert [reply.status for reply in replies] == [403, 200, 429]
    assert int(replies[2].headers["retry-after"]) > 0
    refused = [lines[0], lines[-1]]
    assert [(line["door"], line["tool"], line["status"]) for line in refused] == [
        ("console", "plantuml.encode", 403),
        ("console", "plantuml.encode", 429),
    ]
    assert [line["refusal"] for line in refused] == ["INSUFFICIENT_SCOPE", "RATE_LIMITED"]
    assert len(lines) == 1 + 8 + 1
    assert [line["refusal"] for line in lines[1:8]] == [None] + ["RATE_LIMITED"] * 6


def latest(server: Server) -> list[dict[str, Any]]:
    """Return the last eight records of a tool."""
    records: list[dict[str, Any]] = server.post("/-/journal", {"tool": "encodePlantUML"}).json()["records"][:8]
    return records


def test_calls_that_try_a_door_are_told_apart_from_those_of_its_clients(server: Server) -> None:
    server.post("/api/tools/encodePlantUML", ENCODE["arguments"])
    server.post("/-/doors", ENCODE)

    newest = [*(f"{name} (console)" for name in reversed(WAYS)), "rest"]
    # The server has records of other tests too, so their number tells nothing.
    wait_until(lambda: [record["door"] for record in latest(server)] == newest)

    tried = latest(server)[:7]
    assert {record["route"] for record in tried if record["transport"] == "stdio"} == {"tools/call", "mcp.tool.invoke"}
    rows = {(row["tool"], row["door"]) for row in server.ask("GET", "/-/health").json()["rows"]}
    assert {("encodePlantUML", f"{name} (console)") for name in WAYS} <= rows


def test_a_client_that_leaves_is_audited_with_the_call_that_it_did_not_wait_for(tmp_path: Path) -> None:
    audit = tmp_path / "audit"
    with serving_limited("--toolsets", "waiting", "--no-journal", "--audit-log", str(audit)) as server:
        with server.connect() as client:
            body = json.dumps({"tool": "waiting_forever", "arguments": {}}).encode()
            head = b"POST /-/doors HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            client.sendall(head + b"content-length: %d\r\n\r\n" % len(body) + body)
            wait_until(lambda: server.ask("GET", "/-/health").json()["inFlight"] == 1)
        wait_until(lambda: any(line["left"] for line in audited(audit)))

    left = [line for line in audited(audit) if line["left"]]
    assert [(line["door"], line["tool"] is None, line["status"]) for line in left] == [("console", False, 499)]
