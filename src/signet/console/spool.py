"""The spool: what the processes of one server tell each other for the console, in files of a folder that they share.

    each process ── publish ──▶ <process>.<kind>.<n>.jsonl ── others ──▶ the process that a browser asks

With one process there is nothing to tell: `Spool` is that case, and `SharedSpool` is a folder's. A process writes its
own files alone, and begins another one before a file is too long; of each kind it keeps the last two. The files of a
process that has ended are read on, up to a number of them. A folder that is full or gone is no reason to fail: the
console then shows less.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from secrets import token_hex
from typing import Final

from msgspec.structs import replace

from signet.settings.model import Settings
from signet.system.files import open_regular
from signet.system.line_file import LineFile, RotatingFile
from signet.system.shared_folder import SharedFolder, is_marked, mark

__all__ = ["SharedSpool", "Spool", "spool_folder"]

PREFIX: Final = "signet-console-"
PIECE_BYTES: Final = 2_000_000
"""The size above which a process begins another file."""
PIECES: Final = 2
"""The number of files of one kind that a process keeps."""
MAX_ENDED: Final = 8
"""The number of ended processes whose files are kept."""
READ_BYTES: Final = 1 << 18
NAME: Final = re.compile(r"(\d+-[0-9a-f]+)\.([a-z]+)\.(\d+)\.jsonl")
LOCK: Final = ".lock"


class Spool:
    """The spool of a server with one process: nobody reads what is published, and there are no others."""

    is_shared = False
    """Whether there may be other processes."""

    def publish(self, kind: str, lines: Sequence[bytes]) -> None:
        """Tell the other processes; each line is one JSON value. Raise nothing, and call it from any thread."""

    def others(self, kind: str) -> Iterable[bytes]:
        """Return the lines of a kind that other processes have published since the last time, oldest first.

        At the first time, return all that is kept. The lines of one process are in their order; those of several are
        not mixed. It reads files: call it in a thread.
        """
        del kind
        return ()


class SharedSpool(Spool):
    """The spool of a server with several processes."""

    is_shared = True

    def __init__(self, folder: str) -> None:
        self._folder = SharedFolder(folder)
        self._writing = threading.Lock()
        self._reading = threading.Lock()
        self._process = ""
        """The name of this process's files; it is chosen with the first line, since a process may fork before."""
        self._files: dict[str, RotatingFile] = {}
        """The files of each kind."""
        self._read: dict[str, int] = {}
        """How much of each file of others has been read."""

    def publish(self, kind: str, lines: Sequence[bytes]) -> None:
        """Append lines to this process's file of a kind."""
        if not lines:
            return
        with self._writing, suppress(OSError):
            if not self._process:
                self._enter()
            if kind not in self._files:
                self._files[kind] = RotatingFile(partial(self._begin, kind), PIECE_BYTES)
            file, end = self._files[kind].current()
            file.append(b"".join(line + b"\n" for line in lines), end)

    def others(self, kind: str) -> Iterable[bytes]:
        """Return the new lines in the files of other processes."""
        found: list[bytes] = []
        with self._reading:
            names = self._names(kind)
            for name in names:
                # A file that another process has removed meanwhile is no loss: it was the oldest.
                with suppress(OSError):
                    found += self._new_lines(name)
            self._read = {name: at for name, at in self._read.items() if name in names or f".{kind}." not in name}
        return found

    def _names(self, kind: str) -> list[str]:
        """Return the files of a kind that others have written, each process's in their order."""
        found = []
        with suppress(OSError):
            for name in self._list():
                match = NAME.fullmatch(name)
                if match is not None and match[2] == kind and match[1] != self._process:
                    found.append((match[1], int(match[3]), name))
        return [name for _, _, name in sorted(found)]

    def _new_lines(self, name: str) -> list[bytes]:
        """Return what has come behind the part that was read, up to the last line end."""
        file = open_regular(self._folder.file(name), os.O_RDONLY)
        try:
            at = self._read.get(name, 0)
            if os.fstat(file).st_size <= at:
                return []
            os.lseek(file, at, os.SEEK_SET)
            pieces = []
            while piece := os.read(file, READ_BYTES):
                pieces.append(piece)
        finally:
            os.close(file)
        whole, end, _ = b"".join(pieces).rpartition(b"\n")
        self._read[name] = at + len(whole) + len(end)
        return whole.split(b"\n") if end else []

    def _begin(self, kind: str, number: int) -> LineFile:
        """Begin a file for lines of a kind, and remove the oldest one."""
        file = LineFile(self._folder.file(f"{self._process}.{kind}.{number}.jsonl"), is_new=True)
        with suppress(OSError):
            os.unlink(self._folder.file(f"{self._process}.{kind}.{number - PIECES}.jsonl"))
        return file

    def _enter(self) -> None:
        """Choose the name of this process's files, and mark that it runs."""
        process = f"{os.getpid()}-{token_hex(4)}"
        mark(self._folder.file(process + LOCK))
        self._process = process
        with suppress(OSError):
            self._forget_ended()

    def _forget_ended(self) -> None:
        """Remove the files of the processes that ended first, if there are many."""
        paths = {name.removesuffix(LOCK): self._folder.file(name) for name in self._list() if name.endswith(LOCK)}
        ended = sorted((os.stat(path).st_mtime, process) for process, path in paths.items() if not is_marked(path))
        gone = {process for _, process in ended[:-MAX_ENDED]}
        for name in self._list():
            if name.partition(".")[0] in gone:
                with suppress(OSError):
                    os.unlink(self._folder.file(name))

    def _list(self) -> list[str]:
        return os.listdir(self._folder.path)


@contextmanager
def spool_folder(settings: Settings) -> Iterator[Settings]:
    """Make a folder that only this user can read, if several processes serve a console; yield settings that name it.

    It lives until the last of them has ended. Where none can be made, each process shows what it has seen itself.
    """
    folder = None
    if settings.console and settings.workers > 1:
        with suppress(OSError):
            folder = SharedFolder.create(PREFIX)
    try:
        yield replace(settings, console_dir=folder.path) if folder is not None else settings
    finally:
        if folder is not None:
            folder.remove()
