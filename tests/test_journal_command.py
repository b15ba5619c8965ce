"""`signet journal` and `signet top`: what people see of the calls of real servers."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from commands_in_process import signet_here
from journal.test_reading import journal, record
from processes import PATIENCE_S, SIGNET, clean_env, serving
from terminals import run_on_terminal

DOORS = {"http rest": 6, "http mcp": 3}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the journals of two workers, of nine good calls and three bad ones."""
    folder = tmp_path_factory.mktemp("served")
    with serving("--toolsets", "plantuml", "--workers", "2", "--log-dir", str(folder / "runs")) as server:
        for _ in range(3):
            server.post("/api/tools/encodePlantUML", {"plantumlCode": "A"})
            server.post("/api/tools/encodePlantUML", {"plantumlCode": 7})
            server.post("/mcp", _call())
    return folder


def _call() -> dict[str, object]:
    params = {"name": "encodePlantUML", "arguments": {"plantumlCode": "A"}}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def records(output: bytes) -> list[dict[str, object]]:
    """Return the records that were printed."""
    return [json.loads(line) for line in output.splitlines()]


def test_all_calls_are_shown_in_the_order_of_time(served: Path) -> None:
    shown = records(signet_here(served, "journal").stdout)

    times = [str(one["ts"]) for one in shown]
    assert len(shown) == 9
    assert times == sorted(times)


@pytest.mark.parametrize(
    ("flags", "count"),
    [
        (["-n", "2"], 2),
        (["--code", "INVALID_INPUT"], 3),
        (["--code", "ok"], 6),
        (["--door", "mcp"], 3),
        (["--tool", "PLANTUML"], 9),
        (["--tool", "boj"], 0),
        (["--since", "1h"], 9),
        (["--text", "/mcp"], 3),
        (["--code", "INVALID_INPUT", "-n", "1"], 1),
    ],
)
def test_records_are_filtered(served: Path, flags: list[str], count: int) -> None:
    ended = signet_here(served, "journal", *flags)

    assert ended.returncode == 0
    assert len(records(ended.stdout)) == count


def test_the_journal_is_asked_in_sql(served: Path) -> None:
    query = "SELECT code, count(*) AS calls FROM journal WHERE tool = 'plantuml.encode' GROUP BY code ORDER BY code"

    assert records(signet_here(served, "journal", "--sql", query).stdout) == [
        {"code": "INVALID_INPUT", "calls": 3},
        {"code": "OK", "calls": 6},
    ]


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (["--sql", "SELEC"], 'DuckDB: Parser Error: syntax error at or near "SELEC"'),
        (["--sql", "SELECT 1", "--code", "OK"], "--sql takes no other filter: write a WHERE and a LIMIT"),
        (["nowhere"], "there is no journal in nowhere: a server writes one with its first call"),
        (["--since", "soon"], "argument --since: write a number and a unit: 90s, 10m, 2h, 7d"),
        (["-n", "0"], "argument -n/--last: write a number, such as 100"),
    ],
)
def test_what_cannot_be_shown_is_a_sentence(served: Path, args: list[str], why: str) -> None:
    ended = signet_here(served, "journal", *args)

    assert ended.returncode == 2
    assert why in " ".join(ended.stderr.decode().split())


def test_records_are_followed_as_they_come(tmp_path: Path) -> None:
    path = journal(tmp_path / "runs", "a", 1, record(1))
    command = [SIGNET, "journal", "--follow", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=tmp_path, env=clean_env()) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["requestId"] == "id-1"
        with path.open("ab") as file:
            file.write(record(2))
        assert json.loads(process.stdout.readline())["requestId"] == "id-2"
        process.terminate()
        process.wait(PATIENCE_S)


def test_on_a_terminal_records_are_a_table_and_what_callers_wrote_moves_no_cursor(tmp_path: Path) -> None:
    journal(tmp_path / "runs", "a", 1, record(1, tool="\x1b[2Jevil\u202e", code="NOT_FOUND"))
    status, text = run_on_terminal("journal", str(tmp_path / "runs"), columns=120)

    assert status == 0
    assert "2026-01-01 00:00:01.000" in text
    assert "NOT_FOUND" in text
    assert "\x1b[2J" not in text
    assert "\u202e" not in text


def test_top_shows_the_calls_of_the_last_minute_by_tool_and_door(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    stamps = [(now - timedelta(seconds=age)).isoformat(timespec="milliseconds")[:-6] + "Z" for age in (300, 3, 2, 1)]
    lines = [
        record(second, ts=ts, durationMs=ms) for second, (ts, ms) in enumerate(zip(stamps, (9, 1, 2, 30), strict=True))
    ]
    lines.append(record(9, tool="boj.search", code="INVALID_INPUT", ts=stamps[-1], durationMs=4))
    journal(tmp_path / "runs", "a", 1, b"".join(lines))
    audit = [{"time": stamps[-1], "principal": "alice"}, {"time": stamps[-1], "principal": None, "address": "10.0.0.1"}]
    (tmp_path / "audit").write_text("".join(json.dumps(line) + "\n" for line in audit) + "half")

    shown = signet_here(tmp_path, "top", "--audit-log", "audit").stdout.decode()

    assert "4 calls in 60 s" in shown
    assert [line.split() for line in shown.splitlines() if "plantuml" in line] == [
        ["plantuml.encode", "http", "mcp", "3", "0", "2.0", "30.0", "30.0"]
    ]
    assert [line.split() for line in shown.splitlines() if line.startswith(("OK", "INVALID", "alice", "10."))] == [
        ["OK", "3"],
        ["INVALID_INPUT", "1"],
        ["alice", "1"],
        ["10.0.0.1", "1"],
    ]


def test_the_folder_of_the_environment_is_read(served: Path, tmp_path: Path) -> None:
    ended = signet_here(tmp_path, "journal", environ=clean_env({"SIGNET_LOG_DIR": os.fspath(served / "runs")}))

    assert len(records(ended.stdout)) == 9


def test_what_is_no_record_is_no_call_in_sql_and_every_column_can_be_shown(tmp_path: Path) -> None:
    lines = record(1, code="NOT_FOUND") + b'garbage\n{"ts":1}\n[]\n' + record(2)[:-20]
    journal(tmp_path / "runs", "a", 1, lines)

    counted = records(
        signet_here(tmp_path, "journal", "--sql", "SELECT code, count(*) AS n FROM journal GROUP BY code").stdout
    )
    whole = signet_here(tmp_path, "journal", "--sql", "SELECT * FROM journal")
    twice = records(signet_here(tmp_path, "journal", "--sql", "SELECT 1 AS n, 2 AS n").stdout)

    assert counted == [{"code": "NOT_FOUND", "n": 1}]
    assert (whole.returncode, records(whole.stdout)[0]["ts"]) == (0, "2026-01-01T00:00:01")
    assert twice == [{"n": 1, "n_2": 2}]


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (["journal", "--sql", " "], "--sql is empty: write a query"),
        (["top", "--over", "0s"], "write more than nothing"),
        (["top", "--once", "nowhere"], "there is no folder nowhere"),
        (["top", "--once", "--audit-log", "nowhere"], "cannot read nowhere (No such file or directory)"),
    ],
)
def test_nothing_to_read_is_said(served: Path, args: list[str], why: str) -> None:
    ended = signet_here(served, *args)

    assert ended.returncode == 2
    assert why in " ".join(ended.stderr.decode().split())


def test_top_reads_the_end_of_a_long_audit_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("signet.commands.journal.top.LAST_BYTES", 1000)
    journal(tmp_path / "runs", "a", 1, record(1))
    now = datetime.now(UTC).isoformat(timespec="milliseconds")[:-6] + "Z"
    old = json.dumps({"time": "2020-01-01T00:00:00.000Z", "principal": "old"}) + "\n"
    (tmp_path / "audit").write_text(old * 100 + json.dumps({"time": now, "principal": "ci"}) + "\n")

    shown = signet_here(tmp_path, "top", "--audit-log", "audit").stdout.decode()

    assert [line.split() for line in shown.splitlines() if line.startswith(("ci", "old"))] == [["ci", "1"]]
