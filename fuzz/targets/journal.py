"""Journals: files of records, read as one, from their ends, and as they grow; and records of calls with any names."""

from __future__ import annotations

import contextlib
import json
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from fuzz.odd_values import json_text, json_value, text
from fuzz.target import Run, Target, expect
from signet.journal.reading import JournalFollower, JournalLine, last_lines, merged
from signet.journal.record import JournalEntry, Recorder, call_lines
from signet.kernel.errors import Code, Fault
from signet.kernel.outcome import Call, Door
from signet.kernel.tools import NULL_CONTEXT

__all__ = ["TARGET"]

GOLDEN = Path(__file__).parents[2] / "tests/fixtures/mcp/envelope_validation_golden.jsonl"
ERROR = {"code": "INVALID_INPUT", "message": "no", "details": {"mode": "shadow"}}
FIELDS = ("ts", "status", "transport", "route", "durationMs", "metadata", "error", "requestId", "toolId")
TOKENS = (
    *[f'"{name}"'.encode() for name in (*FIELDS, "ok", "error", "code", "message", "/mcp", "tools/call")],
    b"\n", b"\n\n", b"\r\n", b"\0", b"\xff", b"\\ud800", b"null", b"1e999", b"[[[[[[[[",
    b'"2026-01-12T00:00:00.000Z"', b'{"ts":"","status":""}\n',
)  # fmt: skip
MAX_RECORD_BYTES = 3584
MANY = 1_000_000
"""More lines than any input has."""
TEXT_FILE = "envelope_validation.20260112T000000Z.1.jsonl"


def _record(chance: random.Random) -> Any:
    value: dict[str, Any] = json.loads(chance.choice(GOLDEN.read_text().splitlines()))
    value["ts"] = f"2026-01-12T00:00:{chance.randrange(100):02d}.000Z"
    if chance.random() < 0.5:
        value |= {"status": "error", "error": dict(ERROR)}
    if chance.random() < 0.3:
        holder = chance.choice([one for one in (value, value["metadata"], value["error"]) if isinstance(one, dict)])
        holder[chance.choice([*holder, text(chance)])] = json_value(chance)
    return value


def _generate(chance: random.Random) -> bytes:
    lines = [
        json_text(_record(chance), chance).encode("utf-8", "surrogatepass").replace(b"\n", b" ")
        for _ in range(chance.randrange(6))
    ]
    if chance.random() < 0.2:
        lines.insert(0, json_text(json_value(chance, 4), chance).encode("utf-8", "surrogatepass"))
    return b"\n".join(lines) + chance.choice((b"\n", b"\n", b"", b"\n\n"))


def _write_records(data: bytes) -> None:
    """Write records of calls that are named and refused with any text, and read them again."""
    name = data.decode("utf-8", "replace")
    half = name[len(name) // 2 :]
    call = Call(name, {"a": half}, NULL_CONTEXT, Door("http", half, "http"))
    for fault in (None, Fault(Code.INVALID_INPUT, name)):
        entry = JournalEntry(call, None, fault, None, 5, 1_800_000_000.0, 0.001, b"{}")
        for deterministic in (False, True):
            [record] = Recorder(deterministic_ids=deterministic, secrets=("s3cr3t-of-the-fuzzer",)).records([entry])
            line = msgspec.json.encode(record)
            expect(len(line) < MAX_RECORD_BYTES and b"\n" not in line, "a record is one bounded line", len(line))
            read = JournalLine.read(line)
            expect(
                read is not None and read.status == ("ok" if fault is None else "error"), "a record is read again", line
            )
            [logged] = call_lines([(entry, record)], bytes)
            expect(b"\n" not in logged and isinstance(json.loads(logged), dict), "a call is one line", logged)


def _read_files(folder: Path, data: bytes) -> None:
    """Read a file, and the same in two files, in every way that there is."""
    path = folder / TEXT_FILE
    path.write_bytes(b"")
    follower = JournalFollower(str(folder))
    half = len(data) // 2
    followed = []
    for part in (data[:half], data[half:]):
        with path.open("ab") as file:
            file.write(part)
        followed += follower.new_lines()
    whole = list(merged([str(path)]))
    expect(
        sorted(map(bytes, (one.raw for one in whole))) == sorted(one.raw for one in followed),
        "a follower sees what a reader sees",
    )
    in_order = sorted(whole, key=lambda line: line.ts)
    for count in (1, 3, MANY):
        last = last_lines([str(path)], count)
        if count == MANY:
            expect(
                [one.raw for one in last] == [one.raw for one in in_order],
                "the last lines are those of the file",
                len(last),
                len(in_order),
            )
        expect(len(last) == min(count, len(in_order)), "as many lines as there are", len(last), len(in_order))
    for line in whole:
        msgspec.json.encode([line.tool, line.door, line.status, line.code, line.message, line.duration_ms])


@contextlib.contextmanager
def _open() -> Iterator[Run]:
    with tempfile.TemporaryDirectory(prefix="signet-fuzz-") as folder:

        def run(data: bytes) -> None:
            _read_files(Path(folder), data)
            _write_records(data)

        yield run


TARGET = Target(
    name="journal",
    about="journals: lines of records, read whole, from the end and as they grow; records with any names",
    open=_open,
    seeds=lambda: [GOLDEN.read_bytes(), *[line.encode() + b"\n" for line in GOLDEN.read_text().splitlines()]],
    generate=_generate,
    tokens=TOKENS,
    rooms=("journal/", "system/redaction", "kernel/ids"),
    per_byte_s=40e-6,
)
