"""The folder of the journals: one file per process, a link to the latest, and only the last five runs."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final
from uuid import uuid4

from signet.files import lock, make_private_folders, open_private, open_regular

__all__ = ["FOLDER", "KEPT_RUNS", "LATEST", "find_latest_run", "journal_files", "open_journal"]

FOLDER: Final = os.path.join("mcp_server", "envelope_validation")
NAME: Final = "envelope_validation"
LATEST: Final = f"{NAME}.latest.jsonl"
KEPT_RUNS: Final = 5
RUN: Final = 2
"""The index of the run's name in the name of a journal, which is split at its dots."""


def open_journal(log_dir: str, run: str = "") -> int:
    """Create a journal below a folder, link it as the latest, remove old journals, and return its descriptor.

    The processes of one run pass the same name as `run`.

    Raises:
        OSError: the folder cannot be written to.
    """
    folder = os.path.join(log_dir, FOLDER)
    is_new = not os.path.isdir(log_dir)
    make_private_folders(folder)
    if is_new:
        # No record may be lost because git cannot be told to leave the folder alone.
        with contextlib.suppress(OSError):
            _hide_from_git(log_dir)
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    name = f"{NAME}.{stamp}.{run or uuid4()}.{os.getpid()}.jsonl"
    journal = open_private(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_EXCL)
    # The lock tells every process that this journal is still being written.
    with contextlib.suppress(OSError):
        lock(journal)
    # No record may be lost because the link cannot be set or an old journal cannot be removed.
    with contextlib.suppress(OSError):
        _link_latest(folder, name)
    with contextlib.suppress(OSError):
        _remove_old(folder, name)
    return journal


def _hide_from_git(folder: str) -> None:
    """Create a `.gitignore` that names every file of the folder, itself included; one that exists stays as it is."""
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


def _remove_old(folder: str, current: str) -> None:
    """Remove all journals but those of the newest runs; a journal that is still written to stays at any age."""
    runs: dict[str, list[str]] = {}
    for path in sorted(journal_files(folder), key=lambda path: (os.stat(path).st_mtime, path), reverse=True):
        runs.setdefault(os.path.basename(path).split(".")[RUN], []).append(path)
    for paths in list(runs.values())[KEPT_RUNS:]:
        for path in paths:
            if not path.endswith(current) and not _is_written(path):
                os.unlink(path)


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
        journal = open_regular(path, os.O_RDONLY)
    except OSError:
        return True
    try:
        return not lock(journal)
    except OSError:
        return True
    finally:
        os.close(journal)
