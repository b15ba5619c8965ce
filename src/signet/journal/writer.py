"""The writer of the journal: queues outcomes as calls end, and writes their records from a thread of its own.

    pipeline ── push ──▶ queue ── every half second, or when it is long ──▶ records ──▶ one write

A record waits for at most half a second; `close` writes the rest. Lines that cannot be written (the disk is full) are
kept up to a limit and tried again. The first record creates the folder.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Final

import msgspec

from signet.kernel.events import Events
from signet.kernel.outcome import Outcome
from signet.system.line_file import LineFile, RotatingFile, WriteOutage
from signet.system.lines import escape_line_ends

from .record import JournalEntry, JournalRecord, Recorder
from .retention import USUAL, Retention, open_journal, remove_old

__all__ = ["JournalWriter", "shorten_switch_interval"]

FLUSH_S: Final = 0.5
SWITCH_S: Final = 0.0005
BATCH: Final = 1000
"""The length of the queue at which the thread is woken early."""
MAX_WAITING: Final = 50_000
"""The longest queue; the call that reaches it writes the records itself."""
MAX_KEPT: Final = 20_000
"""The number of unwritten lines that are kept for the next attempt."""

PAGE_BYTES: Final = 4096
"""The size of a file's page: if the process is killed during a write, the file ends between two pages."""

USUAL_LINE_BYTES: Final = 1024
"""The size that few lines exceed; a longer one may cross the end of a page."""
LOOK_S: Final = 60.0
"""The time between two looks at what has become too old, while nothing is written."""

OnCalls = Callable[[list[tuple[JournalEntry, JournalRecord]]], None]
"""Called with each batch of calls and their records."""

_encode_lines: Final = msgspec.json.Encoder().encode_lines


def shorten_switch_interval() -> None:
    """Shorten the time for which a thread of this process may hold the interpreter from 5 ms to 0.5 ms.

    The thread of the writer would otherwise delay calls by up to 5 ms whenever it encodes a batch of records. The
    interval belongs to the whole process, so a server sets it once, where the process starts.
    """
    sys.setswitchinterval(SWITCH_S)


class JournalWriter:
    """Writes the journal of one process."""

    def __init__(
        self,
        log_dir: str | None,
        recorder: Recorder,
        warn: Callable[[str], None],
        on_calls: OnCalls | None = None,
        run: str = "",
        *,
        retention: Retention = USUAL,
        events: Events | None = None,
    ) -> None:
        """Write into a folder, and tell the listeners of records; without a folder the records are made for them alone.

        `on_calls` gets each batch with its results, and the listeners get it without them.
        """
        self._log_dir = log_dir or ""
        self._keeps = log_dir is not None
        self._events = Events() if events is None else events
        self._retention = retention
        self._looked_s = time.monotonic()
        self._run_name = run
        self._recorder = recorder
        self._outage = WriteOutage(warn)
        self._on_calls = on_calls
        self._oldest_s = 0.0
        """The time of the oldest record that could not be written."""
        self._queue: list[JournalEntry] = []
        self._unwritten = b""
        self._journal = RotatingFile(self._open, retention.piece_bytes, retention.piece_s)
        self._closed = False
        self._writing = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def push(self, outcome: Outcome, took_s: float) -> None:
        """Queue one outcome, from any thread; its record is written within half a second."""
        body = outcome.body
        kept_body = b"" if self._on_calls is None else body
        entry = JournalEntry(
            outcome.call,
            outcome.tool,
            outcome.fault,
            outcome.shadow_violation,
            len(body),
            time.time(),
            took_s,
            kept_body,
        )
        queue = self._queue
        queue.append(entry)
        if self._thread is None:
            self._start()
        if len(queue) >= BATCH:
            if not self._wake.is_set():
                self._wake.set()
            if len(queue) >= MAX_WAITING:
                self.flush()

    def flush(self) -> None:
        """Write the records of all queued outcomes."""
        with self._writing:
            # Delete by count: outcomes that other threads push meanwhile stay in the queue.
            entries = self._queue[:]
            del self._queue[: len(entries)]
            records = self._recorder.records(entries)
            if self._on_calls is not None and entries:
                self._on_calls(list(zip(entries, records, strict=True)))
            lines = self._unwritten + escape_line_ends(_encode_lines(records))
            if entries and not self._unwritten:
                self._oldest_s = entries[0].ended_s
            self._unwritten = self._write(lines) if lines and self._keeps else b""
            events = self._events
            if events.written is not None and self._keeps:
                lag_s = time.time() - self._oldest_s if self._unwritten else 0.0
                events.written(lines.count(b"\n") - self._unwritten.count(b"\n"), lag_s)
            if events.records is not None and entries:
                events.records(list(zip(entries, records, strict=True)))

    def close(self) -> None:
        """Write the records of all queued outcomes, and stop the thread."""
        self._closed = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
        self.flush()

    def _start(self) -> None:
        with self._writing:
            # Asked again: another thread may have started it in the meantime.
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="journal", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while not self._closed:
            self._wake.wait(FLUSH_S)
            self._wake.clear()
            try:
                self.flush()
                if self._keeps and self._retention.is_bounded and time.monotonic() - self._looked_s >= LOOK_S:
                    self._looked_s = time.monotonic()
                    remove_old(self._log_dir, self._retention, self._run_name)
            except (RuntimeError, TypeError, ValueError) as error:
                # A batch that cannot be encoded must not stop the journal.
                self._outage.note(type(error).__name__)

    def _open(self, piece: int) -> LineFile:
        return open_journal(self._log_dir, self._run_name, self._retention, piece)

    def _write(self, lines: bytes) -> bytes:
        """Append lines to the journal and return those that were not written, the last of them at most."""
        piece_bytes = self._retention.piece_bytes
        while lines:
            # One write, unless the lines are more than a file may hold.
            # rule: @JournalWriter._write
            stop = lines.rfind(b"\n", 0, piece_bytes) + 1 if piece_bytes is not None else len(lines)
            stop = stop or lines.index(b"\n") + 1
            unwritten = self._append(lines[:stop])
            lines = unwritten + lines[stop:]
            if unwritten:
                return b"".join(lines.splitlines(keepends=True)[-MAX_KEPT:])
        return b""

    def _append(self, lines: bytes) -> bytes:
        """Append lines to the present file, and return those that were not written."""
        count = 0
        try:
            file, end = self._journal.current()
            text = paged(lines, end)
            whole = file.append(text, end)
            if whole == len(text):
                self._outage.end()
                return b""
            count = text.count(b"\n", 0, whole)
            self._outage.note(os.strerror(errno.ENOSPC))
        except OSError as error:
            self._outage.note(error, self._log_dir)
        return b"".join(lines.splitlines(keepends=True)[count:])


def paged(lines: bytes, end: int) -> bytes:
    """Pad lines for a file of `end` bytes so that no line crosses the end of a page.

    Before a line that would cross it, the previous line is padded with blanks, which JSON ignores. The last line is
    padded where the next one would probably cross, since it can no longer be padded then; so a page holds as many lines
    as fit, and a line that is longer than usual may cross.
    """
    parts: list[bytes] = []
    at, room = 0, PAGE_BYTES - end % PAGE_BYTES
    while at < len(lines):
        fitting = lines.rfind(b"\n", at, at + room) + 1
        stop = fitting or lines.index(b"\n", at) + 1
        room = (room - (stop - at)) % PAGE_BYTES
        is_full = fitting > 0 if stop < len(lines) else room < USUAL_LINE_BYTES
        parts += (lines[at : stop - 1], b" " * room if is_full else b"", b"\n")
        at, room = stop, PAGE_BYTES if is_full else room
    return b"".join(parts)
