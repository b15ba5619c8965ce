"""The folder in which the processes of a server keep their figures, so that one page can show the sum of all.

    <folder>/<name>.cells       the cells of one process, in memory that it shares; marked while it runs
             <name>.keys        whose cells begin where, one JSON line each

The folder is locked while files are read, or while those of ended processes are summed up. The counts of a process
that has ended, however it ended, stay in its file and count on; its gauges do not.
"""

from __future__ import annotations

import mmap
import os
from array import array
from secrets import token_hex
from typing import Final

import msgspec

from signet.system.line_file import LineFile
from signet.system.shared_folder import SharedFolder, is_marked, mark

from .families import BY_NAME, Key
from .registry import ITEM_BYTES, MAX_CELLS, Figures, Values

__all__ = ["FileCells", "MetricsFolder"]

PREFIX: Final = "signet-metrics-"
KEYS: Final = ".keys"
CELLS: Final = ".cells"
MAX_ENDED: Final = 8
"""The number of files of ended processes above which they are summed up in one."""

_decode_key: Final = msgspec.json.Decoder(tuple[str, tuple[str, ...], int]).decode


class FileCells:
    """The cells of this process, in a file."""

    def __init__(self, stem: str) -> None:
        self._cells = mark(stem + CELLS)
        try:
            _reserve(self._cells, MAX_CELLS * ITEM_BYTES)
            self.values: Values = memoryview(mmap.mmap(self._cells, MAX_CELLS * ITEM_BYTES)).cast("d")
            self._keys = LineFile(stem + KEYS)
        except OSError:
            os.unlink(stem + CELLS)
            os.close(self._cells)
            raise

    def note(self, key: Key, at: int) -> None:
        """Write down whose cells begin at a place."""
        self._keys.append(msgspec.json.encode((*key, at)) + b"\n")

    def close(self) -> None:
        """Close the files; the figures stay in them."""
        self._keys.close()
        os.close(self._cells)


class MetricsFolder:
    """The figures of all processes of one server."""

    def __init__(self, path: str, folder: SharedFolder | None = None) -> None:
        self.path = path
        self._folder = folder or SharedFolder(path)

    @classmethod
    def create(cls) -> MetricsFolder:
        """Make a folder that only this user can read, and remove those that killed servers left behind."""
        folder = SharedFolder.create(PREFIX)
        return cls(folder.path, folder)

    def enter(self) -> FileCells:
        """Return cells for this process.

        Raises:
            OSError: the folder is gone, or cannot be written to.
        """
        with self._folder.lock():
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
        with self._folder.lock(shared=True):
            for stem in self._stems():
                _add(total, stem, with_gauges=_is_running(stem))
        return total

    def leave(self) -> None:
        """Remove the folder, if this process made it."""
        self._folder.remove()

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


def _reserve(file: int, size: int) -> None:
    """Give an empty file a size and the room for it: the system ends a process that writes to memory without room."""
    os.ftruncate(file, size)
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, size)


def _is_running(stem: str) -> bool:
    """Return whether the process that counts in a file still runs."""
    return is_marked(stem + CELLS)


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
