"""Tools of one's own, and of an OpenAPI document, whose schemas are over their budget: told by name, and not served."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from processes import SIGNET, serving_command

TOOLS = '''
from typing import Annotated

import msgspec
import signet

One = Annotated[str, msgspec.Meta(pattern="^(a{200}){0,250}$")]
Two = Annotated[str, msgspec.Meta(pattern="^(b{200}){0,250}$")]
Three = Annotated[str, msgspec.Meta(pattern="^(c{200}){0,250}$")]


@signet.tool
def dear(text: One, other: Two = "", third: Three = "") -> int:
    """Take texts that are dear to check."""
    return len(text)


@signet.tool
def fine(text: str) -> int:
    """Take any text."""
    return len(text)
'''
DEAR = "it takes more than 32 MiB when it is compiled"
OFTEN = "its references make it look at a value more than 50,000 times"


def document() -> dict[str, Any]:
    """Return a document with an operation whose parameter is dear to check, one whose answer is, and one of neither."""
    parts: dict[str, Any] = {f"d{n}": {"allOf": [{"$ref": f"#/components/schemas/d{n + 1}"}] * 2} for n in range(26)}
    dear = [
        {"name": name, "in": "query", "schema": {"type": "string", "pattern": f"^({name}{{200}}){{0,250}}$"}}
        for name in "abc"
    ]
    twice = {"description": "ok", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/d0"}}}}
    plain = {"200": {"description": "ok"}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Odd", "version": "1"},
        "servers": [{"url": "http://127.0.0.1:1"}],
        "paths": {
            "/dear": {"get": {"operationId": "dear", "parameters": dear, "responses": plain}},
            "/twice": {"get": {"operationId": "twice", "responses": {"200": twice}}},
            "/fine": {"get": {"operationId": "fine", "responses": plain}},
        },
        "components": {"schemas": {**parts, "d26": {"type": "object"}}},
    }


def names(server: Any) -> set[str]:
    return {tool["name"] for tool in server.ask("GET", "/api/tools").json()["tools"]}


@pytest.mark.parametrize(
    ("mode", "served"), [("enforce", {"fine"}), ("shadow", {"dear", "fine"}), ("off", {"dear", "fine"})]
)
def test_an_own_tool_over_its_budget_is_served_unchecked_or_not_at_all(
    tmp_path: Path, mode: str, served: set[str]
) -> None:
    (tmp_path / "tools.py").write_text(TOOLS, encoding="utf-8")
    flags = ("--port", "0", "--no-journal", "--validation", mode)
    with serving_command(SIGNET, "serve", str(tmp_path / "tools.py"), *flags) as server:
        assert names(server) == served
        server.wait_for(f'contract.over_budget tool=dear why="its input schema is over the budget of a schema: {DEAR}')
        assert server.ask("GET", "/readyz").status == 200
        assert server.post("/api/tools/fine", {"text": "abc"}).status == 200
        assert server.post("/api/tools/dear", {"text": ""}).status == (200 if "dear" in served else 404)


@pytest.mark.parametrize(
    ("flags", "served"),
    [
        ((), {"twice", "fine"}),
        (("--validation=dear=off",), {"dear", "twice", "fine"}),
        (("--validation=enforce",), {"fine"}),
    ],
)
def test_an_operation_over_its_budget_is_served_unchecked_or_not_at_all(
    tmp_path: Path, flags: tuple[str, ...], served: set[str]
) -> None:
    """What an operation answers is only noted unless the operator says otherwise: it is served without that check."""
    path = tmp_path / "odd.json"
    path.write_text(json.dumps(document()), encoding="utf-8")
    words = ("wrap", "--serve", "--port", "0", "--no-journal", "--openapi", str(path), *flags)
    with serving_command(SIGNET, *words) as server:
        assert names(server) == served
        server.wait_for("contract.over_budget tool=dear")
        server.wait_for("contract.over_budget tool=twice")
        assert server.ask("GET", "/readyz").status == 200


FILTERS = '''
from __future__ import annotations

import msgspec
import signet


class And(msgspec.Struct, tag="and", forbid_unknown_fields=True):
    all: list[Filter]


class Or(msgspec.Struct, tag="or", forbid_unknown_fields=True):
    all: list[Filter]


class Is(msgspec.Struct, tag="is", forbid_unknown_fields=True):
    value: str


Filter = And | Or | Is


@signet.tool
def find(filter: Filter) -> int:
    """Find what a filter lets through."""
    return 1
'''


def filtered(levels: int, value: object) -> dict[str, Any]:
    """Return arguments with a filter of so many levels."""
    found: dict[str, Any] = {"type": "is", "value": value}
    for level in range(levels):
        found = {"type": ("and", "or")[level % 2], "all": [found]}
    return {"filter": found}


def test_a_filter_of_many_levels_is_checked_and_its_neighbours_are_answered(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(FILTERS, encoding="utf-8")
    with serving_command(SIGNET, "serve", str(tmp_path / "tools.py"), "--port", "0", "--no-journal") as server:
        for levels in (0, 8, 20, 50):
            assert server.post("/api/tools/find", filtered(levels, "a text")).status == 200
            assert server.post("/api/tools/find", filtered(levels, 1)).status == 400
            assert server.ask("GET", "/healthz").status == 200
        status = Path(f"/proc/{server.process.pid}/status").read_text(encoding="ascii")
        most_kb = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
        assert most_kb < 200 * 1024
