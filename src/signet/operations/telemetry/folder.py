"""The folder in which the processes of a server keep their figures, so that one page can show the sum of all.

    <folder>/owner              locked by the process that made the folder, for as long as it runs
             lock               held while files are read, or while those of ended processes are summed up
             <name>.cells       the cells of one process, in memory that it shares; locked while it runs
             <name>.keys        whose cells begin where, one JSON line each

The counts of a process that has ended, however it ended, stay in its file and count on; its gauges do not.
"""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import shutil
import tempfile
from array import array
from collections.abc import Iterator
from secrets import token_hex
from typing import Final

import msgspec

from signet.system.files import open_regular, read_regular

from .families import BY_NAME
from .registry import MAX_CELLS, Figures, Key, Values

__all__ = ["FileCells", "MetricsFolder"]

PREFIX: Final = "signet-metrics-"
KEYS: Final = ".keys"
CELLS: Final = ".cells"
MAX_ENDED: Final = 8
"""The number of files of ended processes above which they are summed up in one."""
ITEM_BYTES: Final = 8

_decode_key: Final = msgspec.json.Decoder(tuple[str, tuple[str, ...], int]).decode


class FileCells:
    """The cells of this process, in a file."""

    def __init__(self, stem: str) -> None:
        self._cells = os.open(stem + CELLS, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        # Held until the process ends, however it ends: the kernel lets go of it.
        fcntl.flock(self._cells, fcntl.LOCK_EX)
        os.ftruncate(self._cells, MAX_CELLS * ITEM_BYTES)
        self.values: Values = memoryview(mmap.mmap(self._cells, MAX_CELLS * ITEM_BYTES)).cast("d")
        self._keys = os.open(stem + KEYS, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def note(self, key: Key, at: int) -> None:
        """Write down whose cells begin at a place."""
        os.write(self._keys, msgspec.json.encode((*key, at)) + b"\n")

    def close(self) -> None:
        """Close the files; the figures stay in them."""
        os.close(self._keys)
        os.close(self._cells)


class MetricsFolder:
    """The figures of all processes of one server."""

    def __init__(self, path: str) -> None:
        self.path = path

    @classmethod
    def create(cls) -> MetricsFolder:
        """Make a folder that only this user can read, and remove those that killed servers left behind."""
        base = tempfile.gettempdir()
        for name in os.listdir(base):
            if name.startswith(PREFIX):
                _remove_if_left(os.path.join(base, name))
        path = tempfile.mkdtemp(prefix=PREFIX, dir=base)
        made = os.path.join(path, "owner.new")
        owner = os.open(made, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        # Never closed: it is locked until the process ends.
        fcntl.flock(owner, fcntl.LOCK_EX)
        os.write(owner, str(os.getpid()).encode())
        # Under its name it is locked from the start: another server removes folders whose owner is not.
        os.rename(made, os.path.join(path, "owner"))
        return cls(path)

    def enter(self) -> FileCells:
        """Return cells for this process.

        Raises:
            OSError: the folder is gone, or cannot be written to.
        """
        with self._locked(fcntl.LOCK_EX):
            ended = [stem for stem in self._stems() if not _is_running(stem)]
            if len(ended) > MAX_ENDED:
                self._sum_up(ended)
            return FileCells(os.path.join(self.path, f"{os.getpid()}-{token_hex(4)}"))

    def figures(self) -> Figures:
        """Return the sum over all processes.

        Raises:
            OSError: the folder or a file in it is gone, or cannot be read.
        """
        total: Figures = {}
        with self._locked(fcntl.LOCK_SH):
            for stem in self._stems():
                _add(total, stem, with_gauges=_is_running(stem))
        return total

    def leave(self) -> None:
        """Remove the folder, if this process made it."""
        with contextlib.suppress(OSError):
            if read_regular(os.path.join(self.path, "owner")) == str(os.getpid()).encode():
                shutil.rmtree(self.path, ignore_errors=True)

    def _stems(self) -> list[str]:
        names = sorted(name for name in os.listdir(self.path) if name.endswith(KEYS))
        return [os.path.join(self.path, name.removesuffix(KEYS)) for name in names]

    def _sum_up(self, stems: list[str]) -> None:
        """Replace the files of ended processes by one."""
        total: Figures = {}
        for stem in stems:
            _add(total, stem, with_gauges=False)
        cells = FileCells(os.path.join(self.path, f"ended-{token_hex(8)}"))
        at = 0
        for key, figure in total.items():
            cells.note(key, at)
            for step, value in enumerate(figure):
                cells.values[at + step] = value
            at += len(figure)
        for stem in stems:
            os.unlink(stem + KEYS)
            os.unlink(stem + CELLS)
        cells.close()

    @contextlib.contextmanager
    def _locked(self, how: int) -> Iterator[None]:
        lock = os.open(os.path.join(self.path, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, how)
            yield
        finally:
            os.close(lock)


def _is_running(stem: str) -> bool:
    """Return whether the process that counts in a file still runs."""
    return not _can_lock(stem + CELLS)


def _can_lock(path: str) -> bool:
    file = open_regular(path, os.O_RDONLY)
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(file)
    return True


def _add(total: Figures, stem: str, *, with_gauges: bool) -> None:
    """Add the figures of one process to the total."""
    with open(stem + KEYS, "rb") as keys, open(stem + CELLS, "rb") as cells:
        # A process that was killed may have left half a line.
        lines = [line for line in keys.read().splitlines(keepends=True) if line.endswith(b"\n")]
        values = array("d", cells.read())
    for line in lines:
        name, labels, at = _decode_key(line)
        family = BY_NAME.get(name)
        if family is None or (family.kind == "gauge" and not with_gauges):
            continue
        figure = values[at : at + family.width]
        known = total.setdefault((name, labels), [0.0] * family.width)
        known[:] = map(sum if family.adds_up else max, zip(known, figure, strict=True))


def _remove_if_left(path: str) -> None:
    """Remove the folder of a server that was killed; others' folders cannot be opened."""
    with contextlib.suppress(OSError):
        if _can_lock(os.path.join(path, "owner")):
            shutil.rmtree(path, ignore_errors=True)
