"""The journal's writer: takes outcomes on the way by, writes them in whole lines from a thread of its own.

    pipeline ── push ──▶ waiting ── every half second, or when it is long ──▶ records ──▶ one write, one flush

A record waits for half a second at the most; `close` writes what waits. What cannot be written (a full disk) is kept
and tried again, up to a bound; half a line is taken back. The folder is made with the first record.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Final

import msgspec

from signet.kernel.outcome import Outcome

from .record import Entry, Recorder
from .shelf import open_journal

__all__ = ["JournalWriter"]

FLUSH_S: Final = 0.5
BATCH: Final = 2000
"""So many records wake the writer at once."""
MAX_WAITING: Final = 50_000
"""So many records wait at the most; the next call writes them itself."""
MAX_KEPT_BYTES: Final = 16_777_216
"""What is kept of lines that could not be written."""

_encode: Final = msgspec.json.Encoder().encode


class JournalWriter:
    """Writes the journal of one process."""

    def __init__(self, log_dir: str, recorder: Recorder, warn: Callable[[str], None]) -> None:
        self._log_dir = log_dir
        self._recorder = recorder
        self._warn = warn
        self._waiting: list[Entry] = []
        self._unwritten = b""
        self._journal: int | None = None
        self._warned = False
        self._closed = False
        self._writing = threading.Lock()
        self._bell = threading.Event()
        self._thread: threading.Thread | None = None

    def push(self, outcome: Outcome, took_s: float) -> None:
        """Take one outcome; it is on disk within half a second."""
        size = len(outcome.body)
        entry = Entry(outcome.call, outcome.tool, outcome.fault, outcome.noted, size, time.time(), took_s)
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
            taken, self._waiting = self._waiting, []
            lines = [_encode(record) for record in self._recorder.records(taken)]
            data = self._unwritten + b"".join(line + b"\n" for line in lines)
            self._unwritten = data[self._write(data) :] if data else b""
            if len(self._unwritten) > MAX_KEPT_BYTES:
                self._unwritten = self._unwritten[self._unwritten.index(b"\n", -MAX_KEPT_BYTES) + 1 :]

    def close(self) -> None:
        """Write what waits and write no more."""
        self._closed = True
        self._bell.set()
        self.flush()

    def _run(self) -> None:
        while not self._closed:
            self._bell.wait(FLUSH_S)
            self._bell.clear()
            self.flush()

    def _write(self, data: bytes) -> int:
        """Append whole lines; give how many bytes are on disk for good."""
        written = 0
        try:
            if self._journal is None:
                self._journal = open_journal(self._log_dir)
            end = os.fstat(self._journal).st_size
            while written < len(data):
                written += os.write(self._journal, data[written : written + MAX_KEPT_BYTES])
        except OSError as error:
            self._complain(error)
            whole = data.rfind(b"\n", 0, written) + 1
            if self._journal is not None and whole < written:
                os.ftruncate(self._journal, end + whole)
            return whole
        return written

    def _complain(self, error: OSError) -> None:
        if not self._warned:
            self._warned = True
            self._warn(f"{error.strerror}: {error.filename or self._log_dir}")
