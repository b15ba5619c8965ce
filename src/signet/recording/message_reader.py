"""The recorded messages of a server: their index in memory, the messages themselves on the disk."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from signet.mcp.link import LinkError
from signet.mcp.snapshot import Snapshot
from signet.system.files import open_regular

from .folder import read_recording
from .label import MESSAGES, RecordingError
from .message_index import ASK, REPLY, REQUEST, MessageIndex, RecordedMessage, RecordedRequest
from .old_formats import old_message
from .requests import Line, head_of, key_of, params_of, speaks_modern
from .snapshot_watch import SnapshotWatch

__all__ = ["MessageReader", "RecordedCall"]

MAX_LINE_BYTES: Final = 256 << 20
BUFFER_BYTES: Final = 1 << 20


class RecordedCall(msgspec.Struct, frozen=True):
    """A call of a tool, and its result."""

    tool: str
    arguments: dict[str, Any]
    result: dict[str, Any]
    is_alone: bool = True
    """Whether the server asked its client nothing."""


class MessageReader:
    """The messages of a server for replay; the links that play it share them, so that equal calls count together."""

    index: MessageIndex

    def __init__(self, folder: str, name: str = "") -> None:
        """Read a server of the recording in a folder: the one with a name, or the only one.

        Raises:
            LinkError: the folder has no such recording.
        """
        try:
            recording = read_recording(folder)
            self.server = recording.server(name)
        except RecordingError as error:
            raise LinkError(str(error)) from None
        self._folder = recording.servers[self.server]
        self._is_old = recording.is_old
        self._path = os.path.join(self._folder, MESSAGES)
        self._watch = SnapshotWatch()
        self._used: dict[bytes, int] = {}
        self._loading = threading.Lock()
        self._reading = threading.Lock()
        self._file: int | None = None

    def load(self) -> None:
        """Index the messages, once; may take seconds where there are many.

        Raises:
            LinkError: they cannot be read.
        """
        with self._loading:
            if self._file is not None:
                return
            self.index = MessageIndex()
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
        """The kinds of definitions that were listed to their end."""
        return self._watch.listed

    def snapshot(self) -> Snapshot:
        """Return what the server said about itself.

        Raises:
            LinkError: one of its lists cannot be used.
        """
        try:
            return self._watch.snapshot()
        except ValueError as error:
            raise LinkError(f"the server of {self._folder} cannot be listed: {error}") from None

    def message(self, entry: RecordedMessage) -> msgspec.Raw:
        """Return the message of a entry.

        Raises:
            LinkError: the file was changed or closed meanwhile.
        """
        try:
            with self._reading:
                if self._file is None:
                    raise LinkError(f"the recording {self._folder} is closed")
                os.lseek(self._file, entry.offset, os.SEEK_SET)
                data = os.read(self._file, entry.length)
            message = msgspec.json.decode(data, type=Line).message
        except OSError as error:
            raise LinkError(f"{self._path} cannot be read ({error.strerror})") from None
        except ValueError:
            raise LinkError(f"{self._path} was changed while it is replayed") from None
        if not isinstance(message, msgspec.Raw):
            raise LinkError(f"{self._path} was changed while it is replayed")
        return message

    def equal(self, method: str, params: dict[str, Any]) -> list[RecordedRequest]:
        """Return the equal recorded requests, in the order of their replies."""
        is_modern = speaks_modern(params)
        found = self._find(method, params, is_modern=is_modern)
        if found is None and self._is_old:
            old = msgspec.json.decode(old_message(msgspec.json.encode(params)))
            found = self._find(method, old, is_modern=is_modern)
        if found is None and method == "initialize":
            found = self.index.initialized[-1:]
        return found or []

    def _find(self, method: str, params: dict[str, Any], *, is_modern: bool) -> list[RecordedRequest] | None:
        found = self.index.by_key.get(key_of(method, params, is_modern=is_modern))
        if found is None and is_modern and not self.index.has_modern:
            # A server of the handshake era does not look at what a request says of its version.
            found = self.index.by_key.get(key_of(method, params, is_modern=False))
        return found

    def next_of(self, equal: list[RecordedRequest]) -> RecordedRequest:
        """Return the next one of equal requests; after the last one, the last again."""
        key = equal[0].key
        number = self._used.get(key, 0)
        self._used[key] = number + 1
        return equal[min(number, len(equal) - 1)]

    def calls(self) -> Iterator[RecordedCall]:
        """Yield each call that has a recorded result, errors of tools among them, in the order of the replies.

        A call whose arguments or result cannot be decoded is left out.
        """
        found = [one for equal in self.index.by_key.values() for one in equal if one.method == "tools/call"]
        ended = [(reply.offset, one) for one in found if (reply := one.first(REPLY)) is not None]
        for _, request in sorted(ended, key=lambda pair: pair[0]):
            call = self._call(request)
            if call is not None:
                yield call

    def _call(self, request: RecordedRequest) -> RecordedCall | None:
        asked, reply = request.first(REQUEST), request.first(REPLY)
        if asked is None or reply is None:
            return None
        head = head_of(self.message(reply))
        try:
            params = params_of(head_of(self.message(asked)))
            result = msgspec.json.decode(head.result) if isinstance(head.result, msgspec.Raw) else None
        except (ValueError, RecursionError):
            # A number beyond the range, for example: it is played as it is, and has no value here.
            return None
        arguments = params.get("arguments") or {}
        if not isinstance(arguments, dict) or not isinstance(result, dict):
            return None
        if result.get("resultType", "complete") != "complete":
            return None
        is_alone = request.first(ASK) is None and "inputResponses" not in params
        return RecordedCall(str(params.get("name", "")), arguments, result, is_alone=is_alone)

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
            raise LinkError(f"line {number} of {self._path} is no recorded message ({str(error)[:200]})") from None
        if not isinstance(line.message, msgspec.Raw):
            return
        try:
            head = head_of(line.message)
            self.index.see(line.connection, line.direction, head, place)
            self._watch.see(line.connection, line.direction, head)
        except (ValueError, TypeError, RecursionError):
            # What a server wrote against the protocol was recorded, and is not played.
            return
