"""Tapes: the messages of a wrapped server as files, from which it can be played without it.

    tape.json        the label: which server, in which era, what it says about itself
    messages.jsonl   one line per message, in the order in which they passed

    link ── write ──▶ queue ──▶ thread: redact, append ──▶ messages.jsonl

The event loop only queues. A tape that cannot be written to is one warning, and no call fails. A process that is killed
leaves complete lines, and at most a cut one at the end, which is ignored. One process at a time records into a folder.
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

from signet import __version__
from signet.mcp.link import LinkError
from signet.settings.server_spec import ServerSpec
from signet.system.files import append_lines, lock, make_private_folders, open_private, read_regular, replacing
from signet.system.recording_redactor import RecordingRedactor

from .spec_secrets import secrets_of, shown_source
from .tape_messages import Direction, Line, head_of, line_of, lone
from .tape_snapshot import SnapshotWatch, digest_of

__all__ = ["FORMAT", "LABEL", "MESSAGES", "TapeLabel", "TapeWriter", "read_label"]

LABEL: Final = "tape.json"
MESSAGES: Final = "messages.jsonl"
FORMAT: Final = 1
MAX_WAITING_BYTES: Final = 64 << 20
"""The size of messages that wait to be written; what comes while there are more is not recorded."""
TAIL_BYTES: Final = 65_536
MAX_TEXT_BYTES: Final = 65_536
"""The beginning of what is no JSON that is written."""


class TapeLabel(msgspec.Struct, frozen=True, kw_only=True):
    """The content of `tape.json`."""

    format: int
    signet: str = ""
    """The version that began the tape."""
    server: str
    source: str
    """The command or the URL, without secrets."""
    started: str
    era: str = ""
    """`handshake`, `modern`, or `both`; empty until the server has answered."""
    protocol: str = ""
    snapshot: str = ""
    """A digest of what the server says about itself."""


class _Recorded(msgspec.Struct, frozen=True, gc=False):
    """A message that waits to be written, or the end of a connection."""

    connection: int
    direction: Direction = "to_server"
    ms: int = 0
    body: bytes = b""


def read_label(folder: str) -> TapeLabel:
    """Return the label of a tape.

    Raises:
        LinkError: there is none, it cannot be read, or a newer version wrote it.
    """
    path = os.path.join(folder, LABEL)
    try:
        data = read_regular(path)
        version = msgspec.json.decode(data, type=dict[str, msgspec.Raw]).get("format", b"0")
        newer = msgspec.json.decode(version, type=int) > FORMAT
        label = None if newer else msgspec.json.decode(data, type=TapeLabel)
    except OSError as error:
        raise LinkError(f"{folder} is not a tape: {path} cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise LinkError(f"{path} is no label of a tape ({str(error)[:200]})") from None
    if label is None:
        raise LinkError(
            f"{folder} is a tape of a newer format: use the version of Signet that wrote it, or a newer one"
        )
    return label


class TapeWriter:
    """The tape that the links of one server record onto."""

    def __init__(
        self,
        folder: str,
        spec: ServerSpec,
        secrets: tuple[str, ...],
        warn: Callable[[str], None],
        report: Callable[[str], None] | None = None,
    ) -> None:
        """Begin a tape, or go on with the one of the same server that is there.

        `secrets` are those of the process; the ones of the server are known from its spec. `report` is called with
        each name under which a text is removed.

        Raises:
            LinkError: the folder cannot be written to, or holds the tape of another server or of another process.
        """
        self._folder = folder
        self._warn = warn
        self._redactor = RecordingRedactor((*secrets, *secrets_of(spec)), report)
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._queue: list[_Recorded] = []
        self._waiting_bytes = 0
        self._opened = 0
        self._warned = self._closed = False
        self._numbers: dict[int, int] = {}
        """The number of each connection: the sequence number of its first message."""
        self._watch = SnapshotWatch()
        try:
            self._label = self._begin(spec)
        except OSError as error:
            raise LinkError(f"cannot record into {folder}: {error.strerror} ({error.filename or folder})") from None
        self._thread = threading.Thread(target=self._run, name="tape", daemon=True)
        self._thread.start()

    def connect(self) -> int:
        """Return a handle for a new connection."""
        self._opened += 1
        return self._opened

    def write(self, connection: int, direction: Direction, body: bytes) -> None:
        """Queue one message, without waiting."""
        ms = int((time.monotonic() - self._zero_s) * 1000)
        self._push(_Recorded(connection, direction, ms, body))

    def disconnect(self, connection: int) -> None:
        """Forget a connection that has ended."""
        self._push(_Recorded(connection))

    def close(self) -> None:
        """Write what is queued to the disk, and end; may be called more than once."""
        if self._closed:
            return
        self._closed = True
        self._wake.set()
        self._thread.join()
        self._flush()
        try:
            self._write_label()
            os.fsync(self._file)
        except OSError as error:
            self._warn_once(f"{error.strerror}: {error.filename or self._folder}")
        finally:
            os.close(self._file)

    def _push(self, item: _Recorded) -> None:
        with self._lock:
            has_room = not self._closed and self._waiting_bytes < MAX_WAITING_BYTES
            if has_room:
                self._queue.append(item)
                self._waiting_bytes += len(item.body)
        if has_room:
            self._wake.set()
        elif not self._closed:
            self._warn_once("the disk is slower than the server; messages are missing on the tape")

    def _begin(self, spec: ServerSpec) -> TapeLabel:
        """Open the files, and return the label: a new one, or that of the same server."""
        make_private_folders(self._folder)
        self._file = open_private(os.path.join(self._folder, MESSAGES), os.O_RDWR | os.O_CREAT | os.O_APPEND)
        try:
            self._keep_others_out()
            label = self._label_for(spec)
            last = _cut_to_last_line(self._file)
            self._sequence = last.sequence if last is not None else 0
            began = datetime.fromisoformat(label.started)
            elapsed_s = max((datetime.now(UTC) - began).total_seconds(), last.ms / 1000 if last is not None else 0.0)
            self._zero_s = time.monotonic() - elapsed_s
            self._label = label
            self._write_label()
        except BaseException:
            os.close(self._file)
            raise
        return label

    def _keep_others_out(self) -> None:
        is_free = True
        with contextlib.suppress(OSError):  # where there are no locks, nobody can be kept out
            is_free = lock(self._file)
        if not is_free:
            raise LinkError(f"another process is recording into {self._folder}")

    def _label_for(self, spec: ServerSpec) -> TapeLabel:
        source = self._redactor.text(shown_source(spec))
        if not os.path.exists(os.path.join(self._folder, LABEL)):
            if os.fstat(self._file).st_size:
                raise LinkError(f"{self._folder} holds messages without a label: record into another folder")
            started = datetime.now(UTC).isoformat(timespec="milliseconds")
            return TapeLabel(format=FORMAT, signet=__version__, server=spec.name, source=source, started=started)
        label = read_label(self._folder)
        if (label.server, label.source) != (spec.name, source):
            other = f"{label.server} ({label.source})"
            raise LinkError(
                f"{self._folder} is a tape of {other}, not of {spec.name} ({source}): record into another folder"
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
            if lines and append_lines(self._file, lines, os.fstat(self._file).st_size) < len(lines):
                self._warn_once(f"{os.strerror(errno.ENOSPC)}: {self._folder}")
            if self._watch.version != version:
                self._write_label()
        except OSError as error:
            self._warn_once(f"{error.strerror}: {error.filename or self._folder}")

    def _lines(self, item: _Recorded) -> Iterator[bytes]:
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

    def _write_label(self) -> None:
        eras = self._watch.eras | ({self._label.era} - {""})
        era = "both" if len(eras) > 1 else "".join(eras)
        snapshot = self._label.snapshot
        if self._watch.listed:
            with contextlib.suppress(ValueError, RecursionError):
                snapshot = digest_of(self._watch.snapshot())
        protocol = self._watch.version or self._label.protocol
        label = msgspec.structs.replace(self._label, era=era, protocol=protocol, snapshot=snapshot)
        path = os.path.join(self._folder, LABEL)
        with replacing(path, f"{path}.{os.getpid()}", private=True) as file:
            file.write(msgspec.json.format(msgspec.json.encode(label)) + b"\n")
        self._label = label

    def _warn_once(self, why: str) -> None:
        if not self._warned:
            self._warned = True
            self._warn(why)


def _cut_to_last_line(file: int) -> Line | None:
    """Cut off a line that was written in part, and return the last whole one; raise LinkError if it is none."""
    size = os.fstat(file).st_size
    tail, length = b"", 0
    while length < size and tail.count(b"\n") < 2:  # noqa: PLR2004 - the end of the last line, and of the one before
        length = min(size, max(TAIL_BYTES, length * 4))
        os.lseek(file, size - length, os.SEEK_SET)
        tail = os.read(file, length)
    end = tail.rfind(b"\n") + 1
    if end < len(tail):
        os.ftruncate(file, size - len(tail) + end)
    if not end:
        return None
    try:
        return msgspec.json.decode(tail[tail.rfind(b"\n", 0, end - 1) + 1 : end], type=Line)
    except ValueError as error:
        raise LinkError(f"the last line of {MESSAGES} is no message ({error}): record into another folder") from None
