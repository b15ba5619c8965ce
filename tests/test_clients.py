"""The matrix of real clients: its list, its locks, its page, its judgement; and its run, with the SDK that is here."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import run
from cells import INTRO, Cell, judge, page, worst
from client import Client, node, read_clients
from servers import sandboxes

from pip_lock_files import locked
from processes import ROOT
from signet.kernel.progress import INTERVAL_S

CLIENTS = read_clients()
PROBES = ROOT / "clients"
DASH = "\N{EN DASH}"
"""The cell of a client that has no such feature."""
COLUMNS = ["list", "call", "error", "cancel", "progress"]
A = {"type": "string", "description": "the letter"}
B = {"enum": ["x", None]}
SCHEMA = {"type": "object", "properties": {"a": A, "b": B}, "required": ["a"]}


def named(name: str) -> Client:
    (client,) = [client for client in CLIENTS if client.name == name]
    return client


# --- the page ---------------------------------------------------------------------------------


def rows_of_page() -> list[list[str]]:
    text = (ROOT / "docs/clients.md").read_text(encoding="utf-8")
    assert text.startswith(INTRO)
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_page_has_a_row_for_each_client_with_the_version_that_is_pinned() -> None:
    head, _, *rows = rows_of_page()

    assert head == ["client", "version", "door", *COLUMNS]
    assert [row[:3] for row in rows] == [[client.title, client.version, ", ".join(client.doors)] for client in CLIENTS]


def test_each_cell_of_the_page_is_as_expected_and_each_exception_has_its_note() -> None:
    text = (ROOT / "docs/clients.md").read_text(encoding="utf-8")
    notes = re.findall(r"(?m)^(\d+)\. (.+)\.$", text)
    seen = set()

    for client, row in zip(CLIENTS, rows_of_page()[2:], strict=True):
        for column, cell in zip(COLUMNS, row[3:], strict=True):
            match = re.fullmatch(rf"(yes|at close|in part|{DASH})(?: \((\d+)\))?", cell)
            assert match, (client.name, column, cell)
            assert not run.is_worse(client, column, Cell(match[1])), (client.name, column, cell)
            assert (match[1] == "yes") is (match[2] is None), (client.name, column, cell)
            seen.add(match[2])

    assert seen - {None} == {number for number, _ in notes}


def test_the_list_has_the_clients_that_were_asked_for() -> None:
    packages = {re.split("==|@(?!m|a)", client.packages[0])[0].partition("[")[0] for client in CLIENTS}

    assert packages == {
        "mcp", "@modelcontextprotocol/sdk", "@modelcontextprotocol/client", "fastmcp", "langchain-mcp-adapters",
        "openai-agents", "pydantic-ai-slim", "llama-index-tools-mcp", "google-genai", "@ai-sdk/mcp",
        "@modelcontextprotocol/inspector", "mcp-proxy", "supergateway", "mcpo",
    }  # fmt: skip
    assert len([client for client in CLIENTS if client.packages[0].startswith("mcp==")]) == 4


# --- the locks and the probes -----------------------------------------------------------------


@pytest.mark.parametrize("client", [it for it in CLIENTS if it.is_python], ids=lambda it: it.name)
def test_a_lock_of_python_packages_has_the_pins_with_hashes_and_no_host(client: Client) -> None:
    requirements = locked(client.lock)

    pins = {requirement.name: requirement.version for requirement in requirements}
    wanted = dict(package.split("==") for package in client.packages if "==" in package)
    assert {name.partition("[")[0]: version for name, version in wanted.items()}.items() <= pins.items()
    assert [it.name for it in requirements if not it.hashes] == []
    assert "://" not in client.lock.read_text(encoding="utf-8")


@pytest.mark.parametrize("client", [it for it in CLIENTS if not it.is_python], ids=lambda it: it.name)
def test_a_lock_of_npm_packages_has_the_pins_with_their_integrity_and_no_host(client: Client) -> None:
    packages = json.loads(client.lock.read_text(encoding="utf-8"))["packages"]

    root = packages.pop("")
    assert root["dependencies"] == dict(package.rsplit("@", 1) for package in client.packages)
    assert {f"{name}@{packages[f'node_modules/{name}']['version']}" for name in root["dependencies"]} == set(
        client.packages
    )
    wrong = [
        path for path, entry in packages.items() if "resolved" in entry or not entry["integrity"].startswith("sha512-")
    ]
    assert wrong == []


def test_there_is_no_lock_without_its_client() -> None:
    assert sorted(PROBES.glob("*/locks/*")) == sorted(client.lock for client in CLIENTS)


@pytest.mark.parametrize("path", sorted(PROBES.glob("python/*.py")), ids=lambda path: path.name)
def test_a_probe_in_python_compiles(path: Path) -> None:
    compile(path.read_text(encoding="utf-8"), str(path), "exec")


@pytest.mark.parametrize("path", sorted(PROBES.glob("node/*.mjs")), ids=lambda path: path.name)
def test_a_probe_in_javascript_compiles(path: Path) -> None:
    done = subprocess.run([node(), "--check", path], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr


# --- the judgement ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seen", "word"),
    [
        ({"column": "list", "tools": {"t": SCHEMA}}, "yes"),
        ({"column": "list", "tools": {}}, "no"),
        ({"column": "list", "tools": {"t": {**SCHEMA, "properties": {"a": A}}}}, "no"),
        ({"column": "list", "tools": {"t": {**SCHEMA, "properties": {"a": {"type": "string"}, "b": B}}}}, "no"),
        (
            {"column": "list", "tools": {"t": {**SCHEMA, "properties": {"a": {"description": "the letter"}, "b": B}}}},
            "no",
        ),
        ({"column": "list", "tools": {"t": {**SCHEMA, "properties": {"a": A, "b": {"type": "string"}}}}}, "in part"),
        ({"column": "list", "tools": {"t": {**SCHEMA, "required": []}}}, "no"),
        ({"column": "call", "text": "163.52"}, "yes"),
        ({"column": "call", "text": ""}, "no"),
        ({"column": "call", "failed": "no"}, "no"),
        ({"column": "error", "code": "look it up with boj_get_metadata", "order": "1 comes after 2"}, "yes"),
        ({"column": "error", "code": "an error occurred", "order": "1 comes after 2"}, "no"),
        ({"column": "error", "code": "look it up with boj_get_metadata", "order": "an error occurred"}, "no"),
        ({"column": "error", "code": "boj_get_metadata", "order": "comes after", "text": "the run ended"}, "no"),
        ({"column": "cancel", "text": "163.52"}, "at close"),
        ({"column": "cancel", "text": "the next call failed"}, "no"),
        ({"column": "progress", "text": "20250701", "progress": 2}, "yes"),
        ({"column": "progress", "text": "20250701", "progress": 0}, "no"),
        ({"column": "progress", "text": "it timed out", "progress": 2}, "no"),
        ({"column": "progress", "lacks": "it has none"}, DASH),
    ],
    ids=str,
)
def test_what_a_probe_saw_is_judged(seen: dict[str, object], word: str) -> None:
    assert judge(seen, {"t": SCHEMA}, "at close").word == word


def test_a_client_is_as_good_as_on_its_worst_door() -> None:
    assert worst([Cell("yes"), Cell("no", "why"), Cell("at close")]) == Cell("no", "why")


def test_a_cell_is_worse_than_expected_when_the_client_can_do_better() -> None:
    old, new = named("python-sdk-1"), named("python-sdk-2")

    assert [run.is_worse(old, "cancel", Cell(word)) for word in ("yes", "at close", "no")] == [False, False, True]
    assert [run.is_worse(new, "cancel", Cell(word)) for word in ("yes", "at close", "no")] == [False, True, True]


def test_the_page_shows_a_failure_and_numbers_its_notes() -> None:
    client = named("mcpo")
    cells = {**dict.fromkeys(COLUMNS, Cell("yes")), "call": Cell("no", "why"), "progress": Cell(DASH, "it has none")}

    text = page([(client, cells)])

    assert f"| mcpo | 0.0.20 | http | yes | **no** | yes | yes | {DASH} (1) |\n\n1. It has none.\n" in text


# --- the run ----------------------------------------------------------------------------------


def test_the_official_client_of_this_environment_passes_every_column_on_both_doors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With less patience than slow frameworks need; a slow call still takes longer than the timeout, and that longer
    than a heartbeat.
    """
    slow, hang = run.FAULTS
    monkeypatch.setattr(run, "PATIENCE_S", 3)
    monkeypatch.setattr(run, "RESET_S", INTERVAL_S + 2.5)
    faults = ({**slow, "delay_s": INTERVAL_S + 5}, hang)
    client = named("python-sdk-2")
    command = (sys.executable, str(PROBES / "python" / client.probe))

    with sandboxes(str(tmp_path), faults) as world, ThreadPoolExecutor(2) as pool:
        doors = list(pool.map(lambda door: run.try_door(client, door, world, command), client.doors))

    assert doors == [dict.fromkeys(COLUMNS, Cell("yes"))] * 2


def test_a_call_that_its_client_does_not_give_up_is_not_taken_for_one_that_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journal decides, not what the probe says; nothing comes into it here, however long one looks."""
    monkeypatch.setattr(run, "LOOK_S", 0.2)
    says = 'import json; print(json.dumps({"column": "cancel", "text": "163.52"}))'

    with sandboxes(str(tmp_path), run.FAULTS) as world:
        cells = run.try_door(named("python-sdk-2"), "http", world, (sys.executable, "-c", says))

    assert cells["cancel"].word == "no"
    assert cells["call"] == Cell("no", "the probe said nothing")
