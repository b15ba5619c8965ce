"""The files of exchanges with upstreams, and the lines of calls.

    exchanges/<sha-256>.<n>.<call>.json   the n-th response to a request, and the call that sent it
    calls.jsonl                           the calls, in the order of their ends

Files are written atomically, are private, and hold no secrets. Several processes may record into one folder. If a
folder cannot be written to, there is one warning, and no call fails.
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from signet.journal.record import CALLS
from signet.system.files import make_private_folders, read_regular, replacing
from signet.system.line_file import LineFile, WriteOutage

from .label import EXCHANGES, RecordedOrigin, Recording, RecordingError, RecordingLabel, change_label
from .old_formats import refuse_old

__all__ = ["ExchangeReader", "ExchangeWriter"]

LOCK_WAIT_S: Final = 2.0
"""The time for which another process may append its calls before we do."""
PARTS: Final = 4
"""The number of parts in the name of an exchange's file, which is split at its dots."""


class ExchangeWriter:
    """The exchanges and the calls of a run that is being recorded."""

    def __init__(self, folder: str, label: RecordingLabel, warn: Callable[[str], None]) -> None:
        """Record into a folder, under a label; both are written when the first exchange or call is.

        Raises:
            RecordingError: version 0.2.0 wrote the folder.
        """
        refuse_old(folder)
        self._folder = folder
        self._label = label
        self.outage = WriteOutage(warn)
        self._begun = False
        self._numbers: dict[str, int] = {}

    def set_origin(self, toolset: str, source: RecordedOrigin) -> None:
        """Set the origin of a toolset's responses."""
        self._label.toolsets[toolset] = source

    def begin(self) -> None:
        """Write the label, also where no exchange and no call follows."""
        with self._warn_on_error():
            self._begin()

    def keep(self, name: str, call: str, data: bytes) -> None:
        """Write one exchange into a file of its name, the next free number and its call."""
        with self._warn_on_error():
            self._begin()
            number = self._numbers[name] = self._numbers.get(name, 0) + 1
            file = f"{name}.{number}.{call}.json"
            # Under a temporary name at first, so that it appears complete.
            temporary = f".{file}.{os.getpid()}.{threading.get_ident()}"
            folder = os.path.join(self._folder, EXCHANGES)
            with replacing(os.path.join(folder, file), os.path.join(folder, temporary), private=True) as opened:
                opened.write(data)

    def keep_calls(self, lines: list[bytes]) -> None:
        """Append the lines of calls; a line that does not fit is removed again."""
        with self._warn_on_error():
            self._begin()
            path = os.path.join(self._folder, CALLS)
            calls = LineFile(path)
            try:
                # After the first failure to write, calls do not wait for other processes.
                if not calls.lock(wait_s=0.0 if self.outage.count else LOCK_WAIT_S):
                    raise BlockingIOError(errno.EWOULDBLOCK, "Locked by another process", path)
                # A process that was killed may have left half a line, to which the next one would belong.
                calls.repair()
                data = b"".join(line + b"\n" for line in lines)
                if calls.append(data) < len(data):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
            finally:
                calls.close()

    @contextlib.contextmanager
    def _warn_on_error(self) -> Iterator[None]:
        try:
            yield
        except (OSError, RecordingError) as error:
            self.outage.note(error, self._folder)

    def _begin(self) -> None:
        """Create the folders and the label; toolsets and servers of an earlier run stay in it."""
        if self._begun:
            return
        exchanges = os.path.join(self._folder, EXCHANGES)
        make_private_folders(exchanges)
        # Continue the numbers of earlier runs, so that their exchanges come first in a replay.
        self._numbers = {name: found[-1][0] for name, found in _exchanges(exchanges).items()}
        change_label(self._folder, self._merged)
        self._begun = True

    def _merged(self, earlier: RecordingLabel | None) -> RecordingLabel:
        own = self._label
        if earlier is None:
            return own
        servers = dict(earlier.servers)
        for name, server in own.servers.items():
            known = servers.get(name, server)
            servers[name] = msgspec.structs.replace(known, served=server.served)
        return msgspec.structs.replace(own, toolsets={**earlier.toolsets, **own.toolsets}, servers=servers)


class ExchangeReader:
    """The exchanges of a recording that is being replayed."""

    def __init__(self, recording: Recording) -> None:
        self.is_old = recording.is_old
        self._folder = recording.exchanges
        self._files = {name: _by_call(found) for name, found in _exchanges(recording.exchanges).items()}
        self._used: dict[str, int] = {}

    def has(self, name: str) -> bool:
        """Return whether there is an exchange of this name."""
        return name in self._files

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
