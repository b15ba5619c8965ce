"""A tape that is read: its label, its index in memory, its messages on the disk."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from signet.mcp.link import LinkError
from signet.mcp.snapshot import Snapshot
from signet.system.files import open_regular

from .tape import MESSAGES, TapeLabel, read_label
from .tape_index import REPLY, REQUEST, Exchange, Step, TapeIndex
from .tape_messages import Line, head_of, key_of, params_of, speaks_modern
from .tape_snapshot import SnapshotWatch

__all__ = ["TapeReader"]

MAX_LINE_BYTES: Final = 256 << 20
BUFFER_BYTES: Final = 1 << 20


class TapeReader:
    """A tape for replay; the links that play one server share it, so that equal calls are counted together."""

    label: TapeLabel
    index: TapeIndex

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._path = os.path.join(folder, MESSAGES)
        self._watch = SnapshotWatch()
        self._used: dict[bytes, int] = {}
        self._loading = threading.Lock()
        self._reading = threading.Lock()
        self._file: int | None = None

    def load(self) -> None:
        """Read the label and index the messages, once; may take seconds where the tape is large.

        Raises:
            LinkError: the folder is not a tape that can be read.
        """
        with self._loading:
            if self._file is not None:
                return
            self.label = read_label(self._folder)
            self.index = TapeIndex()
            try:
                file = open_regular(self._path, os.O_RDONLY)
            except OSError as error:
                raise LinkError(f"{self._path} cannot be read ({error.strerror})") from None
            try:
                self._scan(file)
            except BaseException:
                os.close(file)
                raise
            self._file = file

    def close(self) -> None:
        """Close the file; may be called more than once."""
        with self._reading:
            file, self._file = self._file, None
        if file is not None:
            os.close(file)

    @property
    def listed(self) -> frozenset[str]:
        """The kinds of definitions that the tape lists to their end."""
        return self._watch.listed

    def snapshot(self) -> Snapshot:
        """Return what the server says about itself on the tape."""
        return self._watch.snapshot()

    def message(self, step: Step) -> msgspec.Raw:
        """Return the message of a step.

        Raises:
            LinkError: the file was changed or closed meanwhile.
        """
        try:
            with self._reading:
                if self._file is None:
                    raise LinkError(f"the tape {self._folder} is closed")
                os.lseek(self._file, step.offset, os.SEEK_SET)
                data = os.read(self._file, step.length)
            message = msgspec.json.decode(data, type=Line).message
        except OSError as error:
            raise LinkError(f"{self._path} cannot be read ({error.strerror})") from None
        except ValueError:
            raise LinkError(f"{self._path} was changed while it is replayed") from None
        if not isinstance(message, msgspec.Raw):
            raise LinkError(f"{self._path} was changed while it is replayed")
        return message

    def equal(self, method: str, params: dict[str, Any]) -> list[Exchange]:
        """Return the exchanges of equal requests, in the order of their replies."""
        is_modern = speaks_modern(params)
        found = self.index.by_key.get(key_of(method, params, is_modern=is_modern))
        if found is None and is_modern and not self.index.has_modern:
            # A server of the handshake era does not look at what a request says of its version.
            found = self.index.by_key.get(key_of(method, params, is_modern=False))
        if found is None and method == "initialize":
            found = self.index.initialized[-1:]
        return found or []

    def next_of(self, exchanges: list[Exchange]) -> Exchange:
        """Return the exchange for the next equal request; after the last one, the last again."""
        key = exchanges[0].key
        number = self._used.get(key, 0)
        self._used[key] = number + 1
        return exchanges[min(number, len(exchanges) - 1)]

    def calls(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the tool and the result of each call that the tape has a result of, errors of tools among them.

        A result that cannot be decoded is left out.
        """
        for exchanges in self.index.by_key.values():
            for exchange in exchanges if exchanges[0].method == "tools/call" else ():
                request, reply = exchange.first(REQUEST), exchange.first(REPLY)
                if request is None or reply is None:
                    continue
                result = head_of(self.message(reply)).result
                try:
                    value = msgspec.json.decode(result) if isinstance(result, msgspec.Raw) else None
                except (ValueError, RecursionError):
                    # A number beyond the range, for example: it is played as it is, and is no value here.
                    continue
                if isinstance(value, dict) and value.get("resultType", "complete") == "complete":
                    yield str(params_of(head_of(self.message(request))).get("name", "")), value

    def arguments(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the tool and the arguments of each call that the tape has a reply to, equal calls once."""
        for exchanges in self.index.by_key.values():
            request = exchanges[0].first(REQUEST)
            if exchanges[0].method == "tools/call" and request is not None and exchanges[0].first(REPLY) is not None:
                params = params_of(head_of(self.message(request)))
                arguments = params.get("arguments") or {}
                if isinstance(arguments, dict):
                    yield str(params.get("name", "")), arguments

    def _scan(self, file: int) -> None:
        """Index all lines; a last line without its end was cut off, and is ignored."""
        offset = 0
        with open(file, "rb", buffering=BUFFER_BYTES, closefd=False) as lines:
            for number in range(1, 1 << 62):
                data = lines.readline(MAX_LINE_BYTES)
                if not data.endswith(b"\n"):
                    if len(data) == MAX_LINE_BYTES:
                        raise LinkError(f"line {number} of {self._path} has {MAX_LINE_BYTES >> 20} MiB or more")
                    break
                self._take(number, data, (offset, len(data)))
                offset += len(data)
        self.index.end()

    def _take(self, number: int, data: bytes, place: tuple[int, int]) -> None:
        try:
            line = msgspec.json.decode(data, type=Line)
        except (ValueError, RecursionError) as error:
            raise LinkError(f"line {number} of {self._path} is no message of a tape ({str(error)[:200]})") from None
        if not isinstance(line.message, msgspec.Raw):
            return
        try:
            head = head_of(line.message)
            self.index.see(line.connection, line.direction, head, place)
            self._watch.see(line.connection, line.direction, head)
        except (ValueError, TypeError, RecursionError):
            # What a server wrote against the protocol was recorded, and is not played.
            return
