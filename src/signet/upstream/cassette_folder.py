"""The folder of a cassette: its manifest, one file per exchange, one line per call.

    cassette.json               what was recorded, by which version, under which settings
    servers/<name>/             the tape of a wrapped server
    <sha-256>.<n>.<call>.json   the n-th response to a request, and the call that sent it
    calls.jsonl                 the calls, in the order of their ends

Files are written atomically, are private, and hold no secrets. Several processes may record into one folder. If a
folder cannot be written to, there is one warning, and no call fails.
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from signet.system.files import append_lines, lock, make_private_folders, open_private, read_regular, replacing

__all__ = [
    "CALLS",
    "LABEL",
    "CassetteManifest",
    "CassetteReader",
    "CassetteWriter",
    "RecordedOrigin",
    "read_manifest",
]

LABEL: Final = "cassette.json"
CALLS: Final = "calls.jsonl"
LOCK_WAIT_S: Final = 2.0
"""The time for which another process may append its calls before we do."""
PARTS: Final = 4
"""The number of parts in the name of an exchange's file, which is split at its dots."""


class RecordedOrigin(msgspec.Struct, frozen=True):
    """The origin of a toolset's responses, and whether requests carried a token."""

    origin: str
    has_token: bool = False


class CassetteManifest(msgspec.Struct, frozen=True, omit_defaults=True):
    """The content of `cassette.json`."""

    version: str
    toolsets: dict[str, RecordedOrigin | None]
    """The enabled toolsets; None for a toolset without upstream."""
    settings: dict[str, Any]
    """The settings that decide which requests are sent."""
    servers: dict[str, dict[str, Any]] = {}
    """How the wrapped servers are played, by name."""


class CassetteWriter:
    """The folder of a cassette that is being recorded."""

    def __init__(self, folder: str, manifest: CassetteManifest, warn: Callable[[str], None]) -> None:
        self._folder = folder
        self._manifest = manifest
        self._warn = warn
        self._warned = False
        self._begun = False
        self._numbers: dict[str, int] = {}

    def set_origin(self, toolset: str, source: RecordedOrigin) -> None:
        """Set the origin of a toolset's responses."""
        self._manifest.toolsets[toolset] = source

    def begin(self) -> None:
        """Write the manifest, also where no exchange and no call follows."""
        with self._warn_on_error():
            self._begin()

    def keep(self, name: str, call: str, data: bytes) -> None:
        """Write one exchange into a file of its name, the next free number and its call."""
        with self._warn_on_error():
            self._begin()
            number = self._numbers[name] = self._numbers.get(name, 0) + 1
            self._put(f"{name}.{number}.{call}.json", data)

    def keep_calls(self, lines: list[bytes]) -> None:
        """Append the lines of calls; a line that does not fit is removed again."""
        with self._warn_on_error():
            self._begin()
            calls = open_private(self._path(CALLS), os.O_RDWR | os.O_CREAT | os.O_APPEND)
            try:
                self._lock(calls)
                data = b"".join(line + b"\n" for line in lines)
                if append_lines(calls, data, os.fstat(calls).st_size) < len(data):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            finally:
                os.close(calls)

    def warn_once(self, why: str) -> None:
        """Report the first failure to write, and no further one."""
        if not self._warned:
            self._warned = True
            self._warn(why)

    @contextlib.contextmanager
    def _warn_on_error(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.warn_once(f"{error.strerror}: {error.filename or self._folder}")

    def _begin(self) -> None:
        """Create the folder and the manifest; toolsets and servers in the manifest of an earlier run stay in it."""
        if self._begun:
            return
        make_private_folders(self._folder)
        # Continue the numbers of earlier runs, so that their exchanges come first in a replay.
        self._numbers = {name: exchanges[-1][0] for name, exchanges in _exchanges(self._folder).items()}
        manifest = self._manifest
        with contextlib.suppress(OSError, ValueError):
            earlier = read_manifest(self._folder)
            toolsets, servers = {**earlier.toolsets, **manifest.toolsets}, {**earlier.servers, **manifest.servers}
            manifest = msgspec.structs.replace(manifest, toolsets=toolsets, servers=servers)
        self._put(LABEL, msgspec.json.format(msgspec.json.encode(manifest)) + b"\n")
        self._begun = True

    def _lock(self, calls: int) -> None:
        """Lock the file of the calls, or raise OSError; after the first failure to write, do not wait for it."""
        is_free = True
        # Where there are no locks, the lines of several processes may mix.
        with contextlib.suppress(OSError):
            is_free = lock(calls, wait_s=0.0 if self._warned else LOCK_WAIT_S)
        if not is_free:
            raise BlockingIOError(errno.EWOULDBLOCK, "Locked by another process", self._path(CALLS))

    def _put(self, name: str, data: bytes) -> None:
        """Write a file under a temporary name and rename it, so that it appears complete."""
        temporary = self._path(f".{name}.{os.getpid()}.{threading.get_ident()}")
        with replacing(self._path(name), temporary, private=True) as file:
            file.write(data)

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, name)


class CassetteReader:
    """The folder of a cassette that is being replayed."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._files = {name: _by_call(exchanges) for name, exchanges in _exchanges(folder).items()}
        self._used: dict[str, int] = {}

    def next_call(self, name: str) -> list[str]:
        """Return the files of the next recorded call with this request, in order; after the last call, those again."""
        calls = self._files.get(name, [])
        number = self._used.get(name, 0)
        self._used[name] = number + 1
        return calls[min(number, len(calls) - 1)] if calls else []

    def read(self, name: str) -> bytes:
        """Return the content of a file; empty if it cannot be read."""
        try:
            return read_regular(os.path.join(self._folder, name))
        except OSError:
            return b""


def _exchanges(folder: str) -> dict[str, list[tuple[int, str, str]]]:
    """Return number, call and file of each exchange in a folder, by its name and in the order of the responses."""
    by_name: dict[str, list[tuple[int, str, str]]] = {}
    with contextlib.suppress(OSError):
        for file in os.listdir(folder):
            parts = file.split(".")
            if len(parts) == PARTS and parts[1].isdecimal() and parts[-1] == "json":
                by_name.setdefault(parts[0], []).append((int(parts[1]), parts[2], file))
    for exchanges in by_name.values():
        exchanges.sort()
    return by_name


def _by_call(exchanges: list[tuple[int, str, str]]) -> list[list[str]]:
    """Group files by call; calls are in the order of their last responses, that is, of their ends."""
    calls: dict[str, list[str]] = {}
    for _, call, file in exchanges:
        calls[call] = [*calls.pop(call, []), file]
    return list(calls.values())


def read_manifest(folder: str) -> CassetteManifest:
    """Return the manifest of a cassette.

    Raises:
        OSError: there is no manifest.
        ValueError: the manifest is not valid.
    """
    data = read_regular(os.path.join(folder, LABEL))
    try:
        return msgspec.json.decode(data, type=CassetteManifest)
    except RecursionError:
        raise ValueError(f"{LABEL} is nested too deeply") from None
