"""The journal's writer: takes outcomes on the way by, writes them in whole lines from a thread of its own.

    pipeline ── push ──▶ waiting ── every half second, or when it is long ──▶ records ──▶ one write, one flush

A record waits for half a second at the most; `close` writes what waits. What cannot be written (a full disk) is kept
and tried again, up to a bound; half a line is taken back. The folder is made with the first record.
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

from signet.kernel.outcome import Outcome

from .record import MAX_LINE_BYTES, JournalEntry, JournalRecord, Recorder
from .retention import open_journal

__all__ = ["JournalWriter"]

FLUSH_S: Final = 0.5
SWITCH_S: Final = 0.0005
BATCH: Final = 1000
"""So many records wake the writer at once."""
MAX_WAITING: Final = 50_000
"""So many records wait at the most; the next call writes them itself."""
MAX_KEPT: Final = 20_000
"""How many lines are kept that could not be written."""

PAGE_BYTES: Final = 4096
"""A write is cut between two pages of a file, if the process is killed in it, and nowhere else."""

Tape = Callable[[list[tuple[JournalEntry, JournalRecord]]], None]
"""Takes each batch too: what became of the calls, results included, and their records."""

_encode: Final = msgspec.json.Encoder().encode


class JournalWriter:
    """Writes the journal of one process."""

    def __init__(
        self,
        log_dir: str,
        recorder: Recorder,
        warn: Callable[[str], None],
        on_calls: Tape | None = None,
        run: str = "",
    ) -> None:
        self._log_dir = log_dir
        self._run_name = run
        self._recorder = recorder
        self._warn = warn
        self._on_calls = on_calls
        self._waiting: list[JournalEntry] = []
        self._unwritten: list[bytes] = []
        self._journal: int | None = None
        self._warned = False
        self._closed = False
        self._writing = threading.Lock()
        self._bell = threading.Event()
        self._thread: threading.Thread | None = None

    def push(self, outcome: Outcome, took_s: float) -> None:
        """Take one outcome; it is on disk within half a second."""
        body = outcome.body
        kept = b"" if self._on_calls is None else body
        entry = JournalEntry(
            outcome.call, outcome.tool, outcome.fault, outcome.shadow_violation, len(body), time.time(), took_s, kept
        )
        self._waiting.append(entry)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="journal", daemon=True)
            self._thread.start()
        if len(self._waiting) >= BATCH:
            self._bell.set()
            if len(self._waiting) >= MAX_WAITING:
                self.flush()

    def flush(self) -> None:
        """Write what waits."""
        with self._writing:
            # Taken by number: what is pushed meanwhile stays.
            taken = self._waiting[:]
            del self._waiting[: len(taken)]
            records = self._recorder.records(taken)
            if self._on_calls is not None and taken:
                self._on_calls(list(zip(taken, records, strict=True)))
            lines = [_encode(record) for record in records]
            waiting = self._unwritten + lines
            self._unwritten = waiting[self._write(waiting) :][-MAX_KEPT:] if waiting else []

    def close(self) -> None:
        """Write what waits and write no more."""
        self._closed = True
        self._bell.set()
        if self._thread is not None:
            self._thread.join()
        self.flush()

    def _run(self) -> None:
        # Calls go before records: this thread gives the interpreter back within half a millisecond, not five.
        sys.setswitchinterval(SWITCH_S)
        while not self._closed:
            self._bell.wait(FLUSH_S)
            self._bell.clear()
            try:
                self.flush()
            except (RuntimeError, TypeError, ValueError) as error:
                # Whatever was wrong with one batch, the next is written.
                self._complain(type(error).__name__)

    def _write(self, lines: list[bytes]) -> int:
        """Append lines; give how many are on disk for good."""
        done = 0
        try:
            if self._journal is None:
                self._journal = open_journal(self._log_dir, self._run_name)
            end = os.fstat(self._journal).st_size
            text = paged(lines, end)
            whole = _append(self._journal, text, end)
            done = text.count(b"\n", 0, whole)
            if whole < len(text):
                self._complain(os.strerror(errno.ENOSPC))
        except OSError as error:
            self._complain(f"{error.strerror}: {error.filename or self._log_dir}")
        return done

    def _complain(self, why: str) -> None:
        if not self._warned:
            self._warned = True
            self._warn(why)


def _append(journal: int, text: bytes, end: int) -> int:
    """Append lines to a file of `end` bytes; where not all fit, take half a line back and give how much stays."""
    written = os.write(journal, text)
    whole = text.rfind(b"\n", 0, written) + 1
    if whole < written:
        os.ftruncate(journal, end + whole)
    return whole


def paged(lines: list[bytes], end: int) -> bytes:
    """Join lines for a file that is `end` bytes long so that none of them crosses a page of it.

    Where the next line would cross, the last one is filled up with blanks, which JSON does not mind.
    """
    room = PAGE_BYTES - end % PAGE_BYTES
    parts: list[bytes] = []
    for line in lines:
        size = len(line) + 1
        if size > room and parts:
            parts[-1] = b" " * room + b"\n"
            room = PAGE_BYTES
        parts += (line, b"\n")
        room = (room - size) % PAGE_BYTES
    if room < MAX_LINE_BYTES:
        parts[-1] = b" " * room + b"\n"
    return b"".join(parts)
