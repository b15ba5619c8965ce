"""The same call through every door, side by side: they agree, and where one does not, it is shown."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from processes import Server, serving
from signet.app import build_server
from signet.catalogue import TOOLSETS, find_toolset
from signet.console.doors import Doors, DoorsWanted
from signet.console.parts import Parts
from signet.console.spool import Spool
from signet.console.twin import Visit
from signet.console.watch import Watch
from signet.kernel.tools import Tool
from signet.kernel.wire import Headers
from signet.settings import Settings
from signet.transports.messages import Request

from .call_house import House, checked, drawing, opened

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
    doors = Doors(Parts(settings, built, Watch(), Spool()))
    body = msgspec.json.encode({"tool": tool, "arguments": arguments})
    request = Request("POST", "/-/doors", Headers((), ()), body=body)

    async def run() -> Any:
        response = await doors.compare(Visit(request, {}, msgspec.json.decode(body, type=DoorsWanted)))
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
