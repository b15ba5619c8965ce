"""Calls of the console: one pipeline, one journal, the visitor's rights, and the result as people want it."""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from boj_harness import SPOT
from journals import records_in
from processes import PATIENCE_S, SIGNET, clean_env, serving

from .call_house import House, opened


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("calls")


@pytest.fixture(scope="module")
def house(folder: Path) -> Iterator[House]:
    with opened(folder) as running:
        yield running


def written(folder: Path, count: int) -> list[dict[str, Any]]:
    """Return the records of a journal, as soon as there are so many."""
    deadline = time.monotonic() + PATIENCE_S
    records: list[dict[str, Any]] = []
    while len(records) < count:
        assert time.monotonic() < deadline, records
        with contextlib.suppress(FileNotFoundError):
            records = records_in(folder)
    return records


def test_a_call_is_answered_as_through_rest_and_stands_in_the_journal(house: House, folder: Path) -> None:
    answer = house.call("encodePlantUML", plantumlCode="A -> B")
    rest = house.server.post("/api/tools/encodePlantUML", {"plantumlCode": "A -> B"}).json()

    assert answer["ok"]
    assert answer["result"] == rest["result"]
    assert answer["resultBytes"] == len(json.dumps(rest["result"], separators=(",", ":")))
    record = next(record for record in written(folder / "runs", 2) if record["route"] == "/-/call")
    assert (record["transport"], record["route"], record["status"]) == ("http", "/-/call", "ok")


def test_tools_are_found_by_their_names_alone(house: House) -> None:
    assert house.call("plantuml.encode", plantumlCode="A -> B")["error"]["name"] == "TOOL_NOT_FOUND"


def test_what_is_posted_has_to_be_a_call(house: House) -> None:
    for wrong in ({}, {"tool": 1}, {"tool": "x", "arguments": []}, {"tool": "x", "more": 1}):
        assert house.server.post("/-/call", wrong).status == 400


def test_series_are_told_as_points_in_time(house: House) -> None:
    view = house.call("boj_get_data_code", **SPOT)["view"]

    [series] = view["series"]
    assert view["kind"] == "series"
    assert series["code"] == "FXERD01"
    day = 86_400_000
    times = [time for time, _ in series["points"]]
    assert times[0] == 1_790_812_800_000  # 2026-10-01 by UTC
    # The Bank's days are those of the week: a weekend is no gap.
    assert {after - before for before, after in pairwise(times)} == {day, 3 * day}
    assert {type(value) for _, value in series["points"]} == {float, type(None)}


def test_a_principal_who_may_only_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "tokens.jsonl"
    new = [SIGNET, "token", "new", "reader", "--tokens-file", str(file), "--scopes", "tools:call:oj.get_problem"]
    made = subprocess.run(new, capture_output=True, text=True, check=True, env=clean_env())
    token = made.stdout.split()[-1]
    with serving("--toolsets", "plantuml", env={"SIGNET_TOKENS_FILE": str(file)}) as server:
        sent = {"tool": "encodePlantUML", "arguments": {"plantumlCode": "A -> B"}}
        for path in ("/-/call", "/-/doors"):
            refused = server.post(path, sent, {"authorization": f"Bearer {token}"})
            assert refused.status == 403
            assert refused.json()["error"]["code"] == "INSUFFICIENT_SCOPE"
            assert server.post(path, sent).status == 401


def test_a_text_beyond_the_limit_is_json_and_the_page_is_told_why(house: House) -> None:
    def view(length: int) -> dict[str, str]:
        call = {"tool": "page", "arguments": {"text": "a" * length}}
        shown: dict[str, str] = house.server.post("/-/call", call).json()["view"]
        return shown

    assert view(100_000)["kind"] == "markdown"
    assert view(100_001)["kind"] == "json"
    assert "100,000 characters" in view(100_001)["note"]
