"""The folder of the journals: files of each process, a link to the latest, and no more than is to be kept."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final
from uuid import uuid4

import msgspec

from signet.system.files import make_private_folders, open_private
from signet.system.line_file import LineFile
from signet.system.shared_folder import hold_mark, is_marked

__all__ = [
    "FOLDER",
    "LATEST",
    "USUAL",
    "Retention",
    "RunHold",
    "find_latest_run",
    "journal_files",
    "open_journal",
    "parse_age",
    "remove_old",
]

FOLDER: Final = os.path.join("mcp_server", "envelope_validation")  # rule: 5.journal.folder
NAME: Final = "envelope_validation"
LATEST: Final = f"{NAME}.latest.jsonl"
RUN: Final = 2
"""The index of the run's name in the name of a journal, which is split at its dots."""
PIECES: Final = 10
"""The number of files into which a process divides the space or the time that it may keep."""
SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


class Retention(msgspec.Struct, frozen=True):
    """How much of the journals is kept; journals that are being written stay in any case."""

    runs: int = 5
    max_bytes: int | None = None
    """The size of all journals in the folder."""
    max_age_s: float | None = None
    """The time since the last record of a journal."""

    @property
    def is_bounded(self) -> bool:
        """Return whether there is a limit that a long run can reach."""
        return self.max_bytes is not None or self.max_age_s is not None

    @property
    def piece_bytes(self) -> int | None:
        """Return the size at which a process begins a new file."""
        return self.max_bytes // PIECES if self.max_bytes is not None else None

    @property
    def piece_s(self) -> float | None:
        """Return the age at which a process begins a new file."""
        return self.max_age_s / PIECES if self.max_age_s is not None else None


USUAL: Final = Retention()


def parse_age(text: str) -> float:
    """Return the seconds of an age such as 90s, 30m, 12h, 30d or 4w.

    Raises:
        ValueError: it is not written so, or it is nothing.
    """
    match = re.fullmatch(r"([0-9]{1,9})([smhdw])", text.strip())
    if match is None or not int(match[1]):
        raise ValueError(f"{text!r} is not an age: write a number and s, m, h, d or w, such as 12h or 30d")
    return float(int(match[1]) * SECONDS[match[2]])


def open_journal(log_dir: str, run: str = "", retention: Retention = USUAL, piece: int = 1) -> LineFile:
    """Create a journal below a folder, link it as the latest, remove old journals, and return its open file.

    The processes of one run pass the same name as `run`; `piece` counts the files of one process.

    Raises:
        OSError: the folder cannot be written to.
    """
    folder = os.path.join(log_dir, FOLDER)
    is_new = not os.path.isdir(log_dir)
    make_private_folders(folder)
    # No record may be lost because git cannot be told to leave the folder alone.
    with contextlib.suppress(OSError):
        _hide_from_git(log_dir, is_new=is_new)
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    number = f".{piece}" if piece > 1 else ""
    name = f"{NAME}.{stamp}.{run or uuid4()}.{os.getpid()}{number}.jsonl"
    journal = LineFile(os.path.join(folder, name), is_new=True)
    # The lock tells every process that this journal is still being written.
    journal.lock()
    # No record may be lost because the link cannot be set or an old journal cannot be removed.
    with contextlib.suppress(OSError):
        _link_latest(folder, name)  # rule: 5.journal.latest
    remove_old(log_dir, retention, run)
    return journal


def _hide_from_git(log_dir: str, *, is_new: bool) -> None:
    """Create a `.gitignore` that names every file of the folder, itself included; one that exists stays as it is.

    A folder that was there before may hold other things, so only the part of the journal is hidden in it.
    """
    if not is_new and os.path.lexists(os.path.join(log_dir, ".gitignore")):
        return
    folder = log_dir if is_new else os.path.join(log_dir, os.path.dirname(FOLDER))
    ignore = open_private(os.path.join(folder, ".gitignore"), os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        os.write(ignore, b"*\n")
    finally:
        os.close(ignore)


def _link_latest(folder: str, name: str) -> None:
    """Replace the link to the latest journal atomically; it is relative, so that the folder can be moved."""
    link = os.path.join(folder, LATEST)
    new_link = f"{link}.{os.getpid()}"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(new_link)
    os.symlink(name, new_link)
    try:
        os.replace(new_link, link)
    except OSError:
        os.unlink(new_link)
        raise


class RunHold:
    """Holds the lock of one journal of a run whose processes come and go, so that the run counts as present."""

    def __init__(self, log_dir: str, run: str) -> None:
        self._folder = os.path.join(log_dir, FOLDER)
        self._run = run
        self._held: int | None = None

    def take(self) -> None:
        """Hold the newest journal that a process has left; one that is being written has a lock already."""
        before, self._held = self._held, None
        # Nothing may fail because a journal cannot be held.
        with contextlib.suppress(OSError):
            journals = [journal for journal in _found(self._folder) if journal.run == self._run]
            for journal in sorted(journals, key=lambda journal: (journal.written_s, journal.path), reverse=True):
                self._held = hold_mark(journal.path)
                if self._held is not None:
                    break
        if before is not None:
            os.close(before)


class _Journal(msgspec.Struct, frozen=True):
    """A journal in the folder."""

    path: str
    run: str
    size: int
    written_s: float


def remove_old(log_dir: str, retention: Retention, run: str = "") -> None:
    """Remove the journals that are not to be kept; one that is still written to stays at any age."""
    # No record may be lost because an old journal cannot be removed.
    with contextlib.suppress(OSError):
        _remove(list(_found(os.path.join(log_dir, FOLDER))), retention, run)


def _remove(journals: list[_Journal], retention: Retention, run: str) -> None:
    journals.sort(key=lambda journal: (journal.written_s, journal.path), reverse=True)
    kept_runs = list(dict.fromkeys(journal.run for journal in journals))[: retention.runs]
    oldest_s = time.time() - retention.max_age_s if retention.max_age_s is not None else 0.0
    # A run is present while one of its processes is, also if others have ended and left their journals.
    present_runs = {journal.run for journal in journals if journal.run not in kept_runs and _is_written(journal.path)}
    kept: list[_Journal] = []
    for journal in journals:
        is_due = journal.run not in kept_runs and journal.run not in present_runs
        is_due = is_due or (journal.written_s < oldest_s and not _is_written(journal.path))
        if is_due:
            os.unlink(journal.path)
        else:
            kept.append(journal)
    if retention.max_bytes is not None:
        _remove_excess(kept, retention.max_bytes, retention.max_bytes // PIECES, run)


def _remove_excess(journals: list[_Journal], max_bytes: int, piece_bytes: int, run: str) -> None:
    """Remove the oldest journals until the others have room: those of other runs first, then those of this run."""
    written = {journal.path for journal in journals if _is_written(journal.path)}
    # A journal that is being written will be as large as a piece.
    total = sum(max(journal.size, piece_bytes) if journal.path in written else journal.size for journal in journals)
    for journal in sorted(journals, key=lambda journal: (journal.run == run, journal.written_s, journal.path)):
        if total <= max_bytes:
            return
        if journal.path not in written:
            os.unlink(journal.path)
            total -= journal.size


def _found(folder: str) -> Iterator[_Journal]:
    for path in journal_files(folder):
        # Another process may remove it at the same time.
        with contextlib.suppress(FileNotFoundError):
            status = os.stat(path)
            yield _Journal(path, os.path.basename(path).split(".")[RUN], status.st_size, status.st_mtime)


def find_latest_run(folder: str) -> list[str]:
    """Return the journals of the run that was started last; none if the folder is not there or has none."""
    try:
        names = sorted(os.path.basename(path) for path in journal_files(folder))
    except OSError:
        return []
    if not names:
        return []
    # The link decides where it is there: the names have seconds alone.
    latest = os.path.basename(os.path.realpath(os.path.join(folder, LATEST)))
    run = (latest if latest in names else names[-1]).split(".")[RUN]
    return [os.path.join(folder, name) for name in names if name.split(".")[RUN] == run]


def journal_files(folder: str) -> Iterator[str]:
    """Return the journals in a folder; raise OSError if it is not there."""
    for entry in os.scandir(folder):
        is_ours = entry.name.startswith(f"{NAME}.") and entry.name.endswith(".jsonl") and entry.name.count(".") > RUN
        # A folder, a FIFO or a link of such a name is not ours to remove.
        if is_ours and entry.is_file(follow_symlinks=False):
            yield entry.path


def _is_written(path: str) -> bool:
    """Return True if a process holds the lock of this journal."""
    # Where there are no locks (Windows), the system itself keeps an open file from being removed.
    try:
        return is_marked(path, can_be_held=True)
    except OSError:
        return True
