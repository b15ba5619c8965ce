"""`signet top`: what a server does now: calls, errors, times and callers, on a terminal."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter, deque
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from signet.app import JOURNALS
from signet.commands.terminal import on_terminal, table, write
from signet.journal.reading import JournalFollower, JournalLine, find_files, last_lines
from signet.settings.usage import UsageError
from signet.system.figures.quantiles import quantiles
from signet.system.files import open_regular

from .filters import age

__all__ = ["Window", "add"]

EVERY_S: Final = 1.0
MAX_RECORDS: Final = 200_000
"""The number of records that are looked at; older ones are left out first."""
MAX_ROWS: Final = 30
SHARES: Final = (0.5, 0.95, 0.99)
LAST_BYTES: Final = 1 << 24
"""How much of an audit log is read at once."""
HEADINGS: Final[tuple[str, ...]] = ("tool", "door", "calls", "errors", "p50 ms", "p95 ms", "p99 ms")
PIPE_WIDTH: Final = 120
CLEAR: Final = "\x1b[H\x1b[2J"

EPILOG: Final = """\
It reads the journal, and with --audit-log the names of the callers. Ctrl-C ends it.

examples:
  signet top                                   the last minute, again every second
  signet top --over 10m --audit-log audit.jsonl
  signet top --once | less                     one picture
"""


class Times(msgspec.Struct):
    """The figures of one tool at one door."""

    calls: int
    errors: int
    p50_ms: float
    p95_ms: float
    p99_ms: float


class Window:
    """The calls of the last time."""

    def __init__(self, over_s: float) -> None:
        self._over_s = over_s
        self._calls: deque[JournalLine] = deque(maxlen=MAX_RECORDS)
        self._callers: deque[tuple[str, str]] = deque(maxlen=MAX_RECORDS)
        """The time and the name of each caller."""

    def add(self, lines: list[JournalLine], callers: list[tuple[str, str]], now: datetime) -> None:
        """Take new records, and forget those that are too old."""
        self._calls += lines
        self._callers += callers
        oldest = self.oldest(now)
        while self._calls and self._calls[0].ts < oldest:
            self._calls.popleft()
        while self._callers and self._callers[0][0] < oldest:
            self._callers.popleft()

    def oldest(self, now: datetime) -> str:
        """Return the time of the oldest call that counts, as the journal writes times."""
        since_s = max(0.0, now.timestamp() - self._over_s)
        return datetime.fromtimestamp(since_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    @property
    def calls(self) -> int:
        """The number of calls."""
        return len(self._calls)

    def times(self) -> dict[tuple[str, str], Times]:
        """Return the figures of each tool at each door, the busiest first."""
        groups: dict[tuple[str, str], list[JournalLine]] = {}
        for line in self._calls:
            groups.setdefault((line.tool, line.door), []).append(line)
        ordered = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
        return {key: _times(lines) for key, lines in ordered}

    def codes(self) -> Counter[str]:
        """Return how often each canonical code came."""
        return Counter(line.code for line in self._calls)

    def callers(self) -> Counter[str]:
        """Return how many requests each caller sent."""
        return Counter(name for _, name in self._callers)


def _times(lines: list[JournalLine]) -> Times:
    errors = sum(1 for line in lines if line.status != "ok")
    return Times(len(lines), errors, *quantiles(Counter(line.duration_ms for line in lines), SHARES))


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `signet top`."""
    default = os.environ.get("SIGNET_LOG_DIR") or JOURNALS
    parser.add_argument("folder", nargs="?", default=default, metavar="DIR", help=f"folder of the journal ({JOURNALS})")
    parser.add_argument("--over", type=age, default=age("60s"), metavar="AGE", help="time to look back on (60s)")
    parser.add_argument("--audit-log", metavar="FILE", help="audit log with the names of the callers")
    parser.add_argument("--once", action="store_true", help="print one picture and end; so it is into a pipe")
    parser.epilog = EPILOG
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    _check(args.folder, args.audit_log)
    follower, audit = JournalFollower(args.folder), AuditTail(args.audit_log)
    window = Window(args.over.total_seconds())
    window.add(_recent(args.folder, window.oldest(datetime.now(UTC))), audit.new_callers(), datetime.now(UTC))
    if args.once or not on_terminal():
        write(picture(window, args.over.total_seconds()))
        return 0
    while True:
        window.add(follower.new_lines(), audit.new_callers(), datetime.now(UTC))
        write(CLEAR + picture(window, args.over.total_seconds()))
        sys.stdout.flush()
        time.sleep(EVERY_S)


def _check(folder: str, audit_log: str | None) -> None:
    """Raise UsageError if there is nothing to read; a server that runs without a call has no journal yet."""
    if not os.path.isdir(folder):
        raise UsageError(f"there is no folder {folder}: a server writes its journal there with its first call")
    try:
        for path in find_files(folder, all_runs=True):
            os.close(open_regular(path, os.O_RDONLY, follow_link=True))
        if audit_log is not None:
            os.close(open_regular(audit_log, os.O_RDONLY, follow_link=True))
    except OSError as error:
        raise UsageError(f"cannot read {error.filename} ({error.strerror})") from None


def _recent(folder: str, since: str) -> list[JournalLine]:
    """Return the records that are there at the start."""
    try:
        return last_lines(find_files(folder, all_runs=True), MAX_RECORDS, since)
    except OSError:
        return []


def picture(window: Window, over_s: float) -> str:
    """Return the figures as tables."""
    head = f"{window.calls:,} calls in {over_s:g} s, {window.calls / over_s:.1f} a second"
    rows: list[tuple[str, ...]] = [
        (tool, door, f"{one.calls:,}", f"{one.errors:,}", *(f"{ms:.1f}" for ms in (one.p50_ms, one.p95_ms, one.p99_ms)))
        for (tool, door), one in list(window.times().items())[:MAX_ROWS]
    ]
    tables: list[tuple[tuple[str, ...], list[tuple[str, ...]]]] = [(HEADINGS, rows)]
    for title, number, counts in (("code", "calls", window.codes()), ("caller", "requests", window.callers())):
        counted: list[tuple[str, ...]] = [(name, f"{count:,}") for name, count in counts.most_common(MAX_ROWS)]
        tables.append(((title, number), counted))
    parts = [table(heads, rows, pipe_width=PIPE_WIDTH, strip=True).rstrip("\n") for heads, rows in tables if rows]
    return "\n\n".join((head, *parts))


class AuditTail:
    """Reads the callers of an audit log, as it grows."""

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._rest = b""
        self._at = max(0, os.path.getsize(path) - LAST_BYTES) if path is not None else 0
        """Where to read on; of a log that was there before, its end is read, and a first line that is cut is none."""

    def new_callers(self) -> list[tuple[str, str]]:
        """Return the time and the caller of each line that was added: a principal, or an address."""
        if self._path is None:
            return []
        try:
            with open(open_regular(self._path, os.O_RDONLY, follow_link=True), "rb") as file:
                file.seek(0, os.SEEK_END)
                self._at = 0 if file.tell() < self._at else self._at
                file.seek(self._at)
                added = file.read(LAST_BYTES)
        except OSError:
            return []
        self._at += len(added)
        *whole, self._rest = (self._rest + added).split(b"\n")
        return [found for line in whole if (found := _caller_of(line)) is not None]


def _caller_of(line: bytes) -> tuple[str, str] | None:
    try:
        value: dict[str, Any] = msgspec.json.decode(line)
        return str(value["time"]), str(value.get("principal") or value.get("address") or "-")
    except (msgspec.DecodeError, KeyError, TypeError, AttributeError):
        return None
