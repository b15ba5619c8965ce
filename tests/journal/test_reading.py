"""Journals as they are read: several files as one, their ends alone, and as they grow."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from signet.journal import reading
from signet.journal.reading import JournalFollower, JournalLine, find_files, last_lines, merged

FOLDER = "mcp_server/envelope_validation"


def record(second: int, tool: str = "plantuml.encode", code: str = "", **more: object) -> bytes:
    """Return a line of a journal, as spec 5 has it."""
    error = {"code": code, "message": "no"} if code else None
    fields = {
        "ts": f"2026-01-01T00:{second // 60:02}:{second % 60:02}.000Z",
        "status": "error" if code else "ok",
        "transport": "http",
        "route": "/mcp",
        "durationMs": float(second),
        "metadata": {"toolId": tool},
        "error": error,
        "requestId": f"id-{second}",
        **more,
    }
    return json.dumps(fields).encode() + b"\n"


def journal(folder: Path, run: str, number: int, lines: bytes) -> Path:
    """Write a journal of a run and a process."""
    path = folder / FOLDER / f"envelope_validation.20260101T000000Z.{run}.{number}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lines)
    return path


def seconds(lines: list[JournalLine]) -> list[float]:
    """Return which records these are."""
    return [line.duration_ms for line in lines]


def test_the_files_of_all_workers_are_one_in_the_order_of_time(tmp_path: Path) -> None:
    journal(tmp_path, "a", 1, record(1) + record(4))
    journal(tmp_path, "a", 2, record(2) + record(3))

    assert seconds(list(merged(find_files(str(tmp_path))))) == [1, 2, 3, 4]


def test_the_latest_run_is_read_alone_unless_all_are_asked_for(tmp_path: Path) -> None:
    journal(tmp_path, "a", 1, record(1))
    latest = journal(tmp_path, "b", 2, record(2))
    (latest.parent / "envelope_validation.latest.jsonl").symlink_to(latest.name)

    assert seconds(list(merged(find_files(str(tmp_path))))) == [2]
    assert seconds(list(merged(find_files(str(tmp_path), all_runs=True)))) == [1, 2]
    assert find_files(str(latest.parent)) == [str(latest)]


def test_a_half_written_line_and_one_that_is_no_record_are_left_out(tmp_path: Path) -> None:
    journal(tmp_path, "a", 1, record(1) + b"no JSON\n" + b"[]\n" + record(2) + record(3)[:-9])

    assert seconds(list(merged(find_files(str(tmp_path))))) == [1, 2]
    assert seconds(last_lines(find_files(str(tmp_path)), 5)) == [1, 2]


@pytest.mark.parametrize(
    "broken",
    [
        b'{"ts":"2026","status":"ok","route":"\x8d"}\n',
        b'{"ts":"2026","status":"ok","error":{"details":' + b"[" * 3000 + b"]" * 3000 + b"}}\n",
    ],
)
def test_a_line_that_cannot_be_decoded_is_left_out_by_all_who_read(tmp_path: Path, broken: bytes) -> None:
    path = journal(tmp_path, "a", 1, b"")
    follower = JournalFollower(str(tmp_path))
    path.write_bytes(record(1) + broken + record(2))

    assert seconds(list(merged([str(path)]))) == [1, 2]
    assert seconds(last_lines([str(path)], 9)) == [1, 2]
    assert seconds(follower.new_lines()) == [1, 2]


@pytest.mark.parametrize("count", [1, 2, 300, 5000])
def test_the_last_records_are_those_of_the_whole(tmp_path: Path, count: int) -> None:
    journal(tmp_path, "a", 1, b"".join(record(second) for second in range(0, 3000, 2)))
    journal(tmp_path, "a", 2, b"".join(record(second) for second in range(1, 3000, 2)))
    paths = find_files(str(tmp_path))

    assert seconds(last_lines(paths, count)) == [float(second) for second in range(3000)][-count:]


def test_records_before_a_time_are_not_among_the_last(tmp_path: Path) -> None:
    journal(tmp_path, "a", 1, b"".join(map(record, range(3000))))

    assert seconds(last_lines(find_files(str(tmp_path)), 9999, "2026-01-01T00:49:58.000Z")) == [2998, 2999]


def test_a_follower_sees_what_is_added_once_and_new_files_from_their_start(tmp_path: Path) -> None:
    path = journal(tmp_path, "a", 1, record(1))
    follower = JournalFollower(str(tmp_path))

    assert follower.new_lines() == []
    with path.open("ab") as file:
        file.write(record(2)[:20])
    assert follower.new_lines() == []
    with path.open("ab") as file:
        file.write(record(2)[20:])
    journal(tmp_path, "b", 2, record(3))
    assert seconds(follower.new_lines()) == [2, 3]
    path.unlink()
    assert follower.new_lines() == []


def test_a_follower_may_begin_before_there_is_a_journal(tmp_path: Path) -> None:
    follower = JournalFollower(str(tmp_path / "later"))

    assert follower.new_lines() == []
    journal(tmp_path / "later", "a", 1, record(1))
    assert seconds(follower.new_lines()) == [1]


def test_a_follower_passes_over_a_file_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    follower = JournalFollower(str(tmp_path))
    path = journal(tmp_path, "a", 1, record(1))
    monkeypatch.setattr(follower, "_files", lambda: [str(tmp_path / "gone"), str(path)])

    assert seconds(follower.new_lines()) == [1]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (b' {"ts":"t","status":"ok"}\r', ("t", "-", "", "ok", "OK", "", 0.0, "")),
        (b' {"ts":"t","status":"error"}\r', ("t", "-", "", "error", "OK", "", 0.0, "")),
        (b' {"ts":"t","status":"error","error":{}}\r', ("t", "-", "", "error", "", "", 0.0, "")),
        (
            b' {"ts":"t","status":"ok","error":{"code":"INVALID_INPUT","message":"no"},"route":"x"}\r',
            ("t", "-", "x", "ok", "OK", "no", 0.0, ""),
        ),
    ],
)
def test_a_record_that_lacks_all_that_it_may_is_read(line: bytes, found: tuple[object, ...]) -> None:
    assert JournalLine.read(line) == JournalLine(*found, line[1:-1])  # type: ignore[arg-type]


@pytest.mark.parametrize(("size", "found"), [(1 << 20, [2, 3]), ((1 << 20) + 1, [3])], ids=["a mebibyte", "more"])
def test_a_follower_keeps_a_mebibyte_of_a_line_whose_end_has_not_come(
    tmp_path: Path, size: int, found: list[float]
) -> None:
    path = journal(tmp_path, "a", 1, b"")
    follower = JournalFollower(str(tmp_path))
    long = record(2).rjust(size - 2 + len(record(2)))

    for added in (long[:size], long[size:] + record(3)):
        assert follower.new_lines() == []
        with path.open("ab") as file:
            file.write(added)

    assert seconds(follower.new_lines()) == found


def test_a_line_that_lost_its_middle_is_no_record(tmp_path: Path) -> None:
    path = journal(tmp_path, "a", 1, b"")
    follower = JournalFollower(str(tmp_path))
    start, end = record(2).split(b"{", 1)[0] + b'{"x":"', b'",' + record(2).split(b"{", 1)[1]

    for added in (start + b"x" * (2 << 20), end + record(3)):
        follower.new_lines()
        with path.open("ab") as file:
            file.write(added)

    assert seconds(follower.new_lines()) == [3]
    assert seconds(last_lines([str(path)], 9)) == [3]


@pytest.mark.parametrize(("blocks", "found"), [(16, [1, 2, 3]), (17, [1, 3])], ids=["a mebibyte", "more"])
def test_a_line_of_which_more_than_a_mebibyte_stands_behind_its_block_is_not_among_the_last(
    tmp_path: Path, blocks: int, found: list[float]
) -> None:
    end = record(3)
    long = record(2).rjust(blocks * 65_536 + 100 - len(end))
    path = journal(tmp_path, "a", 1, record(1) + long + end)

    assert seconds(last_lines([str(path)], 9)) == found


@pytest.mark.parametrize(
    ("transport", "route", "door"),
    [
        ("http", "/mcp", "http mcp"),
        ("http", "/api/tools/encodePlantUML", "http rest"),
        ("http", "/mcp/tool/plantuml.encode", "http envelope"),
        ("stdio", "tools/call", "stdio mcp"),
        ("stdio", "mcp.tool.invoke", "stdio envelope"),
    ],
)
def test_a_door_has_a_name_without_the_tool(transport: str, route: str, door: str) -> None:
    line = JournalLine.read(record(1, transport=transport, route=route))

    assert line is not None
    assert line.door == door


def test_of_a_long_journal_the_end_alone_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read, reader = [], JournalLine.read
    monkeypatch.setattr(reading, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(JournalLine, "read", staticmethod(lambda line: read.append(line) or reader(line)))
    journal(tmp_path, "a", 1, b"".join(map(record, range(500))))

    last = last_lines(find_files(str(tmp_path)), 5)

    assert seconds(last) == [495, 496, 497, 498, 499]
    assert 5 <= len(read) < 20


def test_what_is_older_than_asked_for_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read, reader = [], JournalLine.read
    monkeypatch.setattr(reading, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(JournalLine, "read", staticmethod(lambda line: read.append(line) or reader(line)))
    journal(tmp_path, "a", 1, b"".join(map(record, range(500))))

    last = last_lines(find_files(str(tmp_path)), 9999, "2026-01-01T00:08:17.000Z")

    assert seconds(last) == [497, 498, 499]
    assert 3 <= len(read) < 20
