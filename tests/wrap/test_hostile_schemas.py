"""Schemas of a wrapped server that are dear to compile or to check: who calls another tool notices nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from processes import ROOT, SIGNET, Server, serving_command
from wrap.hostile_schema_server import nested

COMMAND = (sys.executable, str(ROOT / "tests/wrap/hostile_schema_server.py"))
FLAGS = ("--serve", "--port", "0", "--no-journal", "--name", "odd")
TOO_MUCH = "is too large or nested too deeply to be checked: send less, or nest it less deeply"
DEAR = "it takes more than 32 MiB when it is compiled"
OFTEN = "its references make it look at a value more than 50,000 times"
MEMORY_KB = 200 * 1024


def served(*flags: str) -> Any:
    return serving_command(SIGNET, "wrap", *FLAGS, *flags, "--", *COMMAND)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with served() as running:
        yield running


def names(server: Server) -> list[str]:
    return [tool["name"] for tool in server.ask("GET", "/api/tools").json()["tools"]]


def most_memory_kb(server: Server) -> int:
    with open(f"/proc/{server.process.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))


def test_a_tool_over_its_budget_is_told_by_name_and_the_others_are_served(server: Server) -> None:
    assert names(server) == ["filter", "nested", "dynamic", "fine", "cells", "lists", "read"]
    assert server.ask("GET", "/readyz").status == 200
    for tool, side, why in (
        ("doubling", "input", OFTEN),
        ("patterns", "input", DEAR),
        ("twins", "input", OFTEN),
        ("bundle", "input", DEAR),
        ("back-and-forth", "input", OFTEN),
        ("promises", "output", OFTEN),
    ):
        way = f"--validation {tool}=off of wrap, or validation in signet.toml, serves it"
        then = f"the tool is not served; {way}"
        server.wait_for(f'WARN signet::server: server.tool_over_budget tool={tool} side={side} why="{why}: {then}"')
        assert server.post(f"/api/tools/{tool}", {}).status == 404
        assert server.ask("GET", f"/-/tools/{tool}").status == 404
    assert server.post("/api/tools/fine", {}).status == 200


def test_a_large_honest_value_is_checked_in_a_thread_to_its_end(server: Server) -> None:
    rows: list[list[Any]] = [[{}] * 200] * 100

    assert server.post("/api/tools/cells", {"rows": rows}).status == 200
    assert server.post("/api/tools/cells", {"rows": [*rows, [{"s8": []}]]}).status == 400


def test_items_that_share_a_hash_are_compared_in_steps(server: Server) -> None:
    """The validator would compare each with each other: minutes for a list that a request has room for."""
    ids = [2**70 + number for number in range(30_000)]

    assert server.post("/api/tools/lists", {"ids": ids}).status == 200
    assert server.post("/api/tools/lists", {"ids": [*ids, 2**70]}).status == 400
    assert server.ask("GET", "/healthz").status == 200


def test_a_text_that_takes_much_memory_to_be_read_is_refused(server: Server) -> None:
    assert server.post("/api/tools/read", {"text": '{"a": [1]}'}).status == 200
    assert server.post("/api/tools/read", {"text": "{"}).status == 400
    assert server.post("/api/tools/read", {"text": "[" + "[{}]," * 170_000 + "0]"}).status == 400
    assert most_memory_kb(server) < MEMORY_KB


@pytest.mark.parametrize("levels", [12, 26, 150])
def test_a_nested_value_is_refused_and_its_neighbours_are_answered(server: Server, levels: int) -> None:
    refused = server.post("/api/tools/filter", nested(levels))

    assert refused.status == 400
    assert "f" in refused.json()["error"]["message"]
    assert server.ask("GET", "/healthz").status == 200
    assert most_memory_kb(server) < MEMORY_KB


@pytest.mark.parametrize("levels", [3, 26, 150])
def test_a_value_whose_references_are_dynamic_is_refused_and_its_neighbours_are_answered(
    server: Server, levels: int
) -> None:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"x": value}

    assert server.post("/api/tools/dynamic", value).status == 400
    assert server.ask("GET", "/healthz").status == 200
    assert most_memory_kb(server) < MEMORY_KB


@pytest.mark.parametrize("levels", [8, 20, 150])
def test_a_nested_result_breaks_its_contract_and_nothing_else(server: Server, levels: int) -> None:
    broken = server.post("/api/tools/nested", {"levels": levels})

    assert (broken.status, broken.json()["error"]["code"]) == (502, "INVALID_OUTPUT")
    assert server.ask("GET", "/healthz").status == 200
    assert most_memory_kb(server) < MEMORY_KB


@pytest.mark.parametrize("levels", [0, 8, 12])
def test_an_honest_value_of_many_levels_is_checked_as_it_was(server: Server, levels: int) -> None:
    value = nested(levels)
    leaf = value["f"]
    while "and" in leaf:
        leaf["x"] = 1
        leaf = leaf["and"][0]
    leaf["eq"] = "a text"

    assert server.post("/api/tools/filter", value).status == 200
    leaf["eq"] = 1
    assert server.post("/api/tools/filter", value).status == 400


@pytest.mark.parametrize("mode", ["off", "shadow", "relax"])
def test_the_operator_may_have_it_served_unchecked(mode: str) -> None:
    with served(f"--validation=patterns={mode}", f"--validation=promises={mode}") as running:
        assert names(running) == [
            "filter",
            "nested",
            "patterns",
            "dynamic",
            "promises",
            "fine",
            "cells",
            "lists",
            "read",
        ]
        assert running.post("/api/tools/patterns", {"p1": "anything"}).status == 200
        assert running.post("/api/tools/promises", {}).status == 200
        assert running.post("/api/tools/doubling", {}).status == 404
        running.wait_for(f'tool=patterns side=input why="{DEAR}: nothing is checked by it"')
