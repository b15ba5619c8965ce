"""Reading journals: the files of several runs and workers as one, in the order of time, and as they grow."""

from __future__ import annotations

import heapq
import os
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from signet.system.files import open_regular

from .retention import FOLDER, find_latest_run, journal_files

__all__ = ["JournalFollower", "JournalLine", "find_files", "last_lines", "merged"]

BLOCK_BYTES: Final = 1 << 16
MAX_LINE_BYTES: Final = 1 << 20
"""The longest line that is kept while its end has not come; a journal's own are far shorter."""
CUT: Final = b"\0"
"""Stands for a part of a line that was not kept; a line that holds it cannot be a record."""

DOORS: Final = (
    ("/api/tools", "rest"),
    ("/mcp/tool/", "envelope"),
    ("/mcp/v1/", "rest, legacy"),
    ("/mcp", "mcp"),
    ("mcp.tool.invoke", "envelope"),
    ("tools/call", "mcp"),
)
"""How the route of each door begins, and what the door is called."""


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    tool_id: str | None = None


class _Error(msgspec.Struct, frozen=True):
    code: str = ""
    message: str = ""
    details: Any = None


class _Record(msgspec.Struct, frozen=True, rename="camel"):
    """The fields of a record that are read."""

    ts: str
    status: str
    transport: str = ""
    route: str = ""
    duration_ms: float = 0.0
    metadata: _Metadata = _Metadata()
    error: _Error | None = None
    request_id: str = ""


_decode: Final = msgspec.json.Decoder(_Record).decode


class JournalLine(msgspec.Struct, frozen=True, order=True):
    """One record, ordered by its time."""

    ts: str
    tool: str
    """The slug; for an unknown tool, the name that the caller used."""
    door: str
    status: str
    code: str
    """The canonical code, or OK."""
    message: str
    duration_ms: float
    request_id: str
    raw: bytes

    @classmethod
    def read(cls, line: bytes) -> JournalLine | None:
        """Return the record of a line, or None if it is none."""
        try:
            found = _decode(line)
        except (ValueError, RecursionError):
            return None
        code = "OK" if found.status == "ok" or found.error is None else found.error.code
        message = found.error.message if found.error is not None else ""
        door = _door(found.transport, found.route)
        tool = found.metadata.tool_id or "-"
        return cls(found.ts, tool, door, found.status, code, message, found.duration_ms, found.request_id, line.strip())


def _door(transport: str, route: str) -> str:
    """Return the name of a door, without the tool that its route may name."""
    for start, name in DOORS:
        if route.startswith(start):
            return f"{transport} {name}"
    return f"{transport} {route}".strip()


def find_files(log_dir: str, *, all_runs: bool = False) -> list[str]:
    """Return the journals below a folder, or those in it: of the latest run, or of all; raise OSError without one."""
    folder = os.path.join(log_dir, FOLDER)
    folder = folder if os.path.isdir(folder) else log_dir
    return sorted(journal_files(folder)) if all_runs else find_latest_run(folder)


def merged(paths: Iterable[str]) -> Iterator[JournalLine]:
    """Return the records of several files in the order of their times; the last line may not be whole yet."""
    return heapq.merge(*map(_lines, paths), key=lambda line: line.ts)


def _lines(path: str) -> Iterator[JournalLine]:
    with open(open_regular(path, os.O_RDONLY, follow_link=True), "rb") as file:
        for line in file:
            found = JournalLine.read(line) if line.endswith(b"\n") else None
            if found is not None:
                yield found


def last_lines(paths: Iterable[str], count: int, since: str = "") -> list[JournalLine]:
    """Return the last records of several files, none of them older than a time; their ends alone are read."""
    found = [line for path in paths for line in _last_of(path, count, since) if line.ts >= since]
    found.sort(key=lambda line: line.ts)
    return found[-count:]


def _last_of(path: str, count: int, since: str) -> list[JournalLine]:
    """Return the records at the end of a file, block by block from the end until there are enough."""
    found: list[list[JournalLine]] = []
    known = 0
    with open(open_regular(path, os.O_RDONLY, follow_link=True), "rb") as file:
        at, first = file.seek(0, os.SEEK_END), b""
        is_end = True
        while at and known < count:
            before, at = at, max(0, at - BLOCK_BYTES)
            file.seek(at)
            # Without the last line, whose end may not have come, and with the one that two blocks share.
            text = file.read(before - at) + first
            text, is_end = (text[: text.rfind(b"\n") + 1], False) if is_end else (text, False)
            start = text.find(b"\n") + 1 if at else 0
            first = text[:start] if start <= MAX_LINE_BYTES else CUT
            lines = [line for one in text[start:].split(b"\n") if (line := JournalLine.read(one)) is not None]
            found.append(lines)
            known += len(lines)
            if lines and lines[0].ts < since:
                break
    return [line for lines in reversed(found) for line in lines][-count:]


class JournalFollower:
    """Reads what is added to the journals of a folder, and those that new runs begin."""

    def __init__(self, log_dir: str) -> None:
        self._log_dir = log_dir
        self._places: dict[str, tuple[int, bytes]] = {}
        """The place up to which each file was read, and the beginning of its last line."""
        for path in self._files():
            self._places[path] = os.path.getsize(path), b""

    def _files(self) -> list[str]:
        try:
            return find_files(self._log_dir, all_runs=True)
        except OSError:
            return []

    def new_lines(self) -> list[JournalLine]:
        """Return the records that were added since the last time, in the order of their times."""
        found: deque[JournalLine] = deque()
        paths = self._files()
        for path in paths:
            at, rest = self._places.get(path, (0, b""))
            try:
                with open(open_regular(path, os.O_RDONLY, follow_link=True), "rb") as file:
                    file.seek(at)
                    added = file.read(BLOCK_BYTES * 64)
            except OSError:
                continue
            *whole, rest = (rest + added).split(b"\n")
            self._places[path] = at + len(added), rest if len(rest) <= MAX_LINE_BYTES else CUT
            found += [line for text in whole if (line := JournalLine.read(text)) is not None]
        self._places = {path: place for path, place in self._places.items() if path in set(paths)}
        return sorted(found, key=lambda line: line.ts)
