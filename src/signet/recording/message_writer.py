"""Recording of a wrapped server: its messages in both directions, one line each, in the order in which they passed.

    link ── RecordingLink ── write ──▶ queue ──▶ thread: redact, append ──▶ servers/<name>/messages.jsonl

The event loop only queues. If the file cannot be written to, there is one warning, and no call fails. A process that
is killed leaves complete lines, and at most a cut one at the end, which is ignored. One process at a time records a
server into a folder.
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Final

import msgspec

from signet.mcp.link import Link, Outgoing
from signet.system.files import make_private_folders
from signet.system.line_file import LineFile, WriteOutage
from signet.system.recording_redactor import RecordingRedactor

from .label import (
    MESSAGES,
    RecordedServer,
    RecordingError,
    RecordingLabel,
    change_label,
    new_label,
    server_folder,
)
from .old_formats import refuse_old
from .requests import Direction, Line, head_of, line_of, lone
from .snapshot_watch import SnapshotWatch, digest_of

__all__ = ["MessageWriter", "RecordingLink"]

MAX_WAITING_BYTES: Final = 64 << 20
"""The size of messages that wait to be written; what comes while there are more is not recorded."""
MAX_TEXT_BYTES: Final = 65_536
"""The beginning of what is no JSON that is written."""


class _Message(msgspec.Struct, frozen=True, gc=False):
    """A message that waits to be written, or the end of a connection."""

    connection: int
    direction: Direction = "to_server"
    ms: int = 0
    body: bytes = b""


class MessageWriter:
    """The messages of one server, which its links record."""

    def __init__(
        self,
        folder: str,
        name: str,
        source: str,
        *,
        secrets: tuple[str, ...] = (),
        warn: Callable[[str], None],
        report: Callable[[str], None] | None = None,
    ) -> None:
        """Record a server into the folder of a recording, or go on with what is recorded of it there.

        `source` is its command or its URL. The known `secrets` are removed. `warn` is called once if a message cannot
        be written, and `report` with each name under which a text is removed.

        Raises:
            RecordingError: the folder cannot be written to or has another server of that name, or another process is
                recording it.
        """
        refuse_old(folder)
        self._folder, self._name = folder, name
        self._outage = WriteOutage(warn)
        self._redactor = RecordingRedactor(secrets, report)
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._queue: list[_Message] = []
        self._waiting_bytes = 0
        self._opened = 0
        self._closed = False
        self._numbers: dict[int, int] = {}
        """The number of each connection: the sequence number of its first message."""
        self._watch = SnapshotWatch()
        try:
            self._begin(self._redactor.text(source))
        except OSError as error:
            raise RecordingError(
                f"cannot record into {folder}: {error.strerror} ({error.filename or folder})"
            ) from None
        self._thread = threading.Thread(target=self._run, name="recording", daemon=True)
        self._thread.start()

    def connect(self) -> int:
        """Return a handle for a new connection."""
        self._opened += 1
        return self._opened

    def write(self, connection: int, direction: Direction, body: bytes) -> None:
        """Queue one message, without waiting."""
        ms = int((time.monotonic() - self._zero_s) * 1000)
        self._push(_Message(connection, direction, ms, body))

    def disconnect(self, connection: int) -> None:
        """Forget a connection that has ended."""
        self._push(_Message(connection))

    def close(self) -> None:
        """Write what is queued to the disk, and end; may be called more than once."""
        if self._closed:
            return
        self._closed = True
        self._wake.set()
        self._thread.join()
        self._flush()
        try:
            self._describe()
            self._file.sync()
        except (OSError, RecordingError) as error:
            self._outage.note(error, self._folder)
        finally:
            self._file.close()

    def _push(self, item: _Message) -> None:
        with self._lock:
            has_room = not self._closed and self._waiting_bytes < MAX_WAITING_BYTES
            if has_room:
                self._queue.append(item)
                self._waiting_bytes += len(item.body)
        if has_room:
            self._wake.set()
        elif not self._closed:
            self._outage.note("the disk is slower than the server; messages are missing in the recording")

    def _begin(self, source: str) -> None:
        """Open the file of the messages, and write the label: a new one, or one with this server in it."""
        folder = server_folder(self._folder, self._name)
        make_private_folders(folder)
        self._file = LineFile(os.path.join(folder, MESSAGES))
        try:
            self._keep_others_out()
            label = change_label(self._folder, lambda label: self._entered(label, source))
            last = self._last_line()
            self._sequence = last.sequence if last is not None else 0
            began = datetime.fromisoformat(label.servers[self._name].started)
            elapsed_s = max((datetime.now(UTC) - began).total_seconds(), last.ms / 1000 if last is not None else 0.0)
            self._zero_s = time.monotonic() - elapsed_s
        except BaseException as error:
            self._file.close()
            if isinstance(error, ValueError | TypeError):
                raise RecordingError(f"the label of {self._folder} has no usable time of '{self._name}'") from None
            raise

    def _keep_others_out(self) -> None:
        if not self._file.lock():
            raise RecordingError(f"another process is recording '{self._name}' into {self._folder}")

    def _last_line(self) -> Line | None:
        """Return the last complete line, and remove a line that was written in part."""
        line = self._file.repair()
        if not line:
            return None
        try:
            return msgspec.json.decode(line, type=Line)
        except ValueError as error:
            raise RecordingError(
                f"the last line of {self._file.path} is no message ({error}): record into another folder"
            ) from None

    def _entered(self, label: RecordingLabel | None, source: str) -> RecordingLabel:
        """Return a label that has this server."""
        label = label or new_label()
        known = label.servers.get(self._name)
        if known is None or not known.started:
            if self._file.size():
                raise RecordingError(f"{self._folder} holds messages without a label: record into another folder")
            started = datetime.now(UTC).isoformat(timespec="milliseconds")
            server = RecordedServer(source, started, served=known.served if known is not None else {})
            return msgspec.structs.replace(label, servers={**label.servers, self._name: server})
        if known.source != source:
            raise RecordingError(
                f"{self._folder} is a recording of {self._name} ({known.source}), not of {self._name} ({source}): "
                "record into another folder"
            )
        return label

    def _run(self) -> None:
        while not self._closed:
            self._wake.wait()
            self._wake.clear()
            self._flush()

    def _flush(self) -> None:
        """Append the lines of all queued messages."""
        with self._lock:
            items, self._queue, self._waiting_bytes = self._queue, [], 0
        version = self._watch.version
        lines = b"".join(line for item in items for line in self._lines(item))
        try:
            if lines and self._file.append(lines) < len(lines):
                self._outage.note(f"{os.strerror(errno.ENOSPC)}: {self._file.path}")
            if self._watch.version != version:
                self._describe()
        except (OSError, RecordingError) as error:
            self._outage.note(error, self._folder)

    def _lines(self, item: _Message) -> Iterator[bytes]:
        if not item.body:
            number = self._numbers.pop(item.connection, None)
            if number is not None:
                self._watch.forget(number)
            return
        number = self._numbers.setdefault(item.connection, self._sequence + 1)
        try:
            messages = lone(item.body)
        except (ValueError, RecursionError):
            self._sequence += 1
            text = self._redactor.body(item.body[:MAX_TEXT_BYTES]).decode(errors="replace")
            line = Line(number, item.direction, self._sequence, item.ms, text=text)
            yield msgspec.json.encode(line) + b"\n"
            return
        for message in messages:
            self._sequence += 1
            redacted = self._redactor.body(message, is_definition=self._note(number, item.direction, message))
            yield line_of(number, item.direction, self._sequence, item.ms, redacted)

    def _note(self, number: int, direction: Direction, message: bytes) -> bool:
        """Return whether a message is what the server says about itself, and take it in."""
        try:
            head = head_of(message)
            is_definition = self._watch.is_definition(number, direction, head)
            self._watch.see(number, direction, head)
        except (ValueError, TypeError, RecursionError):
            return False
        return is_definition

    def _describe(self) -> None:
        """Write into the label which eras the server spoke, and the digest of what it says about itself."""
        change_label(self._folder, self._described)

    def _described(self, label: RecordingLabel | None) -> RecordingLabel:
        label = label or new_label()
        known = label.servers.get(self._name, RecordedServer())
        eras = self._watch.eras | ({known.era} - {""})
        snapshot = known.snapshot
        if self._watch.listed:
            with contextlib.suppress(ValueError, RecursionError):
                snapshot = digest_of(self._watch.snapshot())
        server = msgspec.structs.replace(
            known,
            era="both" if len(eras) > 1 else "".join(eras),
            protocol=self._watch.version or known.protocol,
            snapshot=snapshot,
        )
        return msgspec.structs.replace(label, servers={**label.servers, self._name: server})


class RecordingLink:
    """Carries the messages of another link unchanged, and records them in both directions."""

    def __init__(self, inner: Link, messages: MessageWriter) -> None:
        """Record a link; the writer is shared by the links of a server, and closed by whoever opened it."""
        self._inner = inner
        self._messages = messages
        self._connection = messages.connect()

    async def open(
        self, receive: Callable[[bytes], None], lost: Callable[[str], None], unreadable: Callable[[str], None]
    ) -> None:
        """Open the inner link.

        Raises:
            LinkError: the inner link cannot be opened.
        """
        messages, connection = self._messages, self._connection

        def heard(message: bytes) -> None:
            messages.write(connection, "to_client", message)
            receive(message)

        await self._inner.open(heard, lost, unreadable)

    def send(self, message: Outgoing) -> None:
        """Send a message through the inner link; its headers are not recorded."""
        self._messages.write(self._connection, "to_server", message.body)
        self._inner.send(message)

    def cancel(self, request_id: int) -> None:
        """Close the stream of a request through the inner link."""
        self._inner.cancel(request_id)

    async def close(self) -> None:
        """Close the inner link; what is queued to be recorded stays queued."""
        await self._inner.close()
        self._messages.disconnect(self._connection)
