"""`signet contract learn`: output schemas from recorded results, as bundles that `signet contract diff` reads."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from commands_in_process import run_here
from recorded_links import Client, record


async def used(client: Client) -> None:
    await client.greet()
    await client.ask("tools/list")
    await client.ask("tools/list", {"cursor": "more"})
    await client.call("count")
    await client.call("count")
    await client.call("echo", text="a", n=1)
    await client.call("echo", n=2)
    await client.call("no/such", text="a")


def learn(*args: Any, status: int = 0) -> str:
    done = run_here("contract", "learn", *map(str, args))
    assert done.returncode == status, done
    return (done.stderr if status else done.stdout).decode()


ECHO = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "text": {"type": "string"}},
    "required": ["n"],
    "x-inferred": True,
    "x-inferred-from": "text",
    "$schema": "https://json-schema.org/draft/2020-12/schema",
}


def test_a_tool_without_an_output_schema_gets_one_from_its_results(tmp_path: Path) -> None:
    record(tmp_path / "tape", used)

    bundles = {bundle["tool"]: bundle for bundle in json.loads(learn(tmp_path / "tape"))}

    assert set(bundles) == {"echo", "no/such"}
    comment = bundles["echo"]["output"].pop("$comment")
    assert re.fullmatch(r"inferred from 2 results on \d{4}-\d\d-\d\d", comment)
    assert bundles["echo"]["output"] == ECHO
    assert bundles["echo"]["input"]["properties"]["token"] == {"type": "string"}


def test_all_tools_are_learned_where_that_is_asked(tmp_path: Path) -> None:
    record(tmp_path / "tape", used)

    bundles = {bundle["tool"]: bundle["output"] for bundle in json.loads(learn(tmp_path / "tape", "--all"))}

    assert bundles["count"]["x-inferred-from"] == "structuredContent"
    assert bundles["count"]["properties"] == {"n": {"type": "integer"}, "ratio": {"type": "number"}}


def test_bundles_are_files_that_can_be_compared(tmp_path: Path) -> None:
    record(tmp_path / "tape", used)

    told = learn(tmp_path / "tape", "--all", "--out", tmp_path / "learned")

    names = sorted(path.name for path in (tmp_path / "learned/tools").iterdir())
    assert names == ["count.json", "echo.json", "no%2Fsuch.json"]
    assert "[servers.played]\ncontracts = " in told
    assert run_here("contract", "diff", str(tmp_path / "learned"), str(tmp_path / "learned")).returncode == 0


def test_a_tool_that_answers_in_words_is_not_learned(tmp_path: Path) -> None:
    async def said(client: Client) -> None:
        await client.call("echo", n=1)
        await client.call("say")

    record(tmp_path / "tape", said)

    told = learn(tmp_path / "tape", "--out", tmp_path / "learned")

    assert [path.name for path in (tmp_path / "learned/tools").iterdir()] == ["echo.json"]
    assert re.search(r"say +0 +not every result is JSON", told)
    assert "contracts = " not in told  # nothing but structured content can be enforced


def test_a_recording_without_results_teaches_nothing(tmp_path: Path) -> None:
    async def greeted(client: Client) -> None:
        await client.greet()

    record(tmp_path / "tape", greeted)

    told = learn(tmp_path / "tape", status=1)

    assert "no results of which a schema could be inferred" in told


def test_a_folder_without_a_recording_is_a_sentence(tmp_path: Path) -> None:
    assert "there is no recording in" in learn(tmp_path, status=2)
