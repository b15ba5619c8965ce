"""A cassette's folder: its label, a file for each exchange, a line for each call.

    cassette.json               what was recorded, by which version, under which settings
    <sha-256>.<n>.<call>.json   the n-th answer to one question, and the call that it was given to
    calls.jsonl                 the calls, in the order in which they ended

Files appear whole or not at all. Several processes may record into one folder. A folder that cannot be written to is
complained of once, and no call fails for it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from signet.files import lock, replacing

__all__ = ["CALLS", "LABEL", "CassetteManifest", "CassetteReader", "CassetteWriter", "RecordedOrigin", "read_manifest"]

LABEL: Final = "cassette.json"
CALLS: Final = "calls.jsonl"
PARTS: Final = 4
"""Of an exchange's name, from dot to dot."""


class RecordedOrigin(msgspec.Struct, frozen=True):
    """Where a toolset's answers came from, and whether a token was sent there."""

    origin: str
    has_token: bool = False


class CassetteManifest(msgspec.Struct, frozen=True):
    """What a cassette says of itself."""

    version: str
    toolsets: dict[str, RecordedOrigin | None]
    """The toolsets that were enabled; None for one that asks nobody."""
    settings: dict[str, Any]
    """What decided which questions were asked."""


class CassetteWriter:
    """A folder that is recorded into."""

    def __init__(self, folder: str, label: CassetteManifest, warn: Callable[[str], None]) -> None:
        self._folder = folder
        self._label = label
        self._warn = warn
        self._warned = False
        self._begun = False
        self._numbers: dict[str, int] = {}

    def set_origin(self, toolset: str, source: RecordedOrigin) -> None:
        """Note where a toolset's answers will come from."""
        self._label.toolsets[toolset] = source

    def keep(self, name: str, call: str, data: bytes) -> None:
        """Write one exchange under its name, the next free number and its call."""
        with self._complaining():
            self._begin()
            number = self._numbers[name] = self._numbers.get(name, 0) + 1
            self._put(f"{name}.{number}.{call}.json", data)

    def keep_calls(self, lines: list[bytes]) -> None:
        """Append lines, whole ones only."""
        with self._complaining():
            self._begin()
            calls = os.open(self._path(CALLS), os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                # Where there are no locks, the lines of several processes may mix.
                with contextlib.suppress(OSError):
                    lock(calls, wait=True)
                _append(calls, b"".join(line + b"\n" for line in lines))
            finally:
                os.close(calls)

    def warn_once(self, why: str) -> None:
        """Say once that something cannot be written."""
        if not self._warned:
            self._warned = True
            self._warn(why)

    @contextlib.contextmanager
    def _complaining(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.warn_once(f"{error.strerror}: {error.filename or self._folder}")

    def _begin(self) -> None:
        """Make the folder and its label; what another run has left on the label stays there."""
        if self._begun:
            return
        os.makedirs(self._folder, exist_ok=True)
        # What other runs have left stands before what is recorded now.
        self._numbers = {name: found[-1][0] for name, found in _exchanges(self._folder).items()}
        known: dict[str, RecordedOrigin | None] = {}
        with contextlib.suppress(OSError, ValueError):
            known = read_manifest(self._folder).toolsets
        label = msgspec.structs.replace(self._label, toolsets={**known, **self._label.toolsets})
        self._put(LABEL, msgspec.json.format(msgspec.json.encode(label)) + b"\n")
        self._begun = True

    def _put(self, name: str, data: bytes) -> None:
        """Write a file aside and move it into its place."""
        temporary = self._path(f".{name}.{os.getpid()}.{threading.get_ident()}")
        with replacing(self._path(name), temporary) as file:
            file.write(data)

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, name)


class CassetteReader:
    """A folder that is replayed from."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._files = {name: _by_call(found) for name, found in _exchanges(folder).items()}
        self._taken: dict[str, int] = {}

    def next_call(self, name: str) -> list[str]:
        """Give the files of the next call that asked something, in its order; after the last, the last one again."""
        calls = self._files.get(name, [])
        number = self._taken.get(name, 0)
        self._taken[name] = number + 1
        return calls[min(number, len(calls) - 1)] if calls else []

    def read(self, name: str) -> bytes:
        """Give what a file holds; nothing where it cannot be read."""
        try:
            with open(os.path.join(self._folder, name), "rb") as file:
                return file.read()
        except OSError:
            return b""


def _exchanges(folder: str) -> dict[str, list[tuple[int, str, str]]]:
    """Find the exchanges of a folder: for each name their numbers, calls and files, in the order of their answers."""
    found: dict[str, list[tuple[int, str, str]]] = {}
    with contextlib.suppress(OSError):
        for file in os.listdir(folder):
            parts = file.split(".")
            if len(parts) == PARTS and parts[1].isdecimal() and parts[-1] == "json":
                found.setdefault(parts[0], []).append((int(parts[1]), parts[2], file))
    for exchanges in found.values():
        exchanges.sort()
    return found


def _by_call(exchanges: list[tuple[int, str, str]]) -> list[list[str]]:
    """Part files by their calls; a call stands where it had its last answer, which is when it ended."""
    calls: dict[str, list[str]] = {}
    for _, call, file in exchanges:
        calls[call] = [*calls.pop(call, []), file]
    return list(calls.values())


def read_manifest(folder: str) -> CassetteManifest:
    """Read what a cassette says of itself.

    Raises:
        OSError: there is none.
        ValueError: it cannot be read.
    """
    with open(os.path.join(folder, LABEL), "rb") as file:
        return msgspec.json.decode(file.read(), type=CassetteManifest)


def _append(file: int, data: bytes) -> None:
    """Append lines; of one that does not fit, nothing stays.

    Raises:
        OSError: there was no room for all of them.
    """
    end = os.fstat(file).st_size
    written = os.write(file, data)
    if written < len(data):
        os.ftruncate(file, end + data.rfind(b"\n", 0, written) + 1)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
