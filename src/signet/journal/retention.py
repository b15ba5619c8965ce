"""The folder where journals stand: a file per process, a link to the latest, the last five runs kept."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final
from uuid import uuid4

from signet.files import lock

__all__ = ["FOLDER", "KEPT_RUNS", "LATEST", "open_journal"]

FOLDER: Final = os.path.join("mcp_server", "envelope_validation")
NAME: Final = "envelope_validation"
LATEST: Final = f"{NAME}.latest.jsonl"
KEPT_RUNS: Final = 5
RUN: Final = 2
"""Which part of a journal's name, from dot to dot, is that of its run."""


def open_journal(log_dir: str, run: str = "") -> int:
    """Begin a journal below a folder, make it the latest, let old ones go; give its descriptor.

    The processes of one `run` have its name in common.

    Raises:
        OSError: the folder cannot be written to.
    """
    folder = os.path.join(log_dir, FOLDER)
    os.makedirs(folder, exist_ok=True)
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    name = f"{NAME}.{stamp}.{run or uuid4()}.{os.getpid()}.jsonl"
    journal = os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_EXCL, 0o644)
    # The lock tells `_let_go`, in any process, that this journal is still written.
    with contextlib.suppress(OSError):
        lock(journal)
    # Neither is worth a record: what cannot be pointed at can still be written, and too much can be kept.
    with contextlib.suppress(OSError):
        _point(folder, name)
    with contextlib.suppress(OSError):
        _let_go(folder, name)
    return journal


def _point(folder: str, name: str) -> None:
    """Swap the link to the latest journal in one step; it is relative, so that the folder can be moved."""
    link = os.path.join(folder, LATEST)
    fresh = f"{link}.{os.getpid()}"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(fresh)
    os.symlink(name, fresh)
    try:
        os.replace(fresh, link)
    except OSError:
        os.unlink(fresh)
        raise


def _let_go(folder: str, current: str) -> None:
    """Remove all journals but those of the newest five runs; one that is still written stays whatever its age."""
    runs: dict[str, list[str]] = {}
    for path in sorted(_journals(folder), key=lambda path: (os.stat(path).st_mtime, path), reverse=True):
        runs.setdefault(os.path.basename(path).split(".")[RUN], []).append(path)
    for paths in list(runs.values())[KEPT_RUNS:]:
        for path in paths:
            if not path.endswith(current) and not _is_written(path):
                os.unlink(path)


def _journals(folder: str) -> Iterator[str]:
    for entry in os.scandir(folder):
        is_ours = entry.name.startswith(f"{NAME}.") and entry.name.endswith(".jsonl") and entry.name.count(".") > RUN
        if is_ours and not entry.is_symlink():
            yield entry.path


def _is_written(path: str) -> bool:
    """Return True if a process holds the lock of this journal."""
    # Where there are no locks (Windows), the system itself keeps an open file from being removed.
    journal = os.open(path, os.O_RDONLY)
    try:
        return not lock(journal)
    except OSError:
        return True
    finally:
        os.close(journal)
