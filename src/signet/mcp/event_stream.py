"""Server-sent events as a client reads them: bytes in, events out. Pure.

Lines end with LF, CR or CRLF; an event ends with an empty line. What is read of an event that is not whole has a bound.
"""

from __future__ import annotations

from typing import Final

import msgspec

__all__ = ["Event", "EventParser"]

BOM: Final = b"\xef\xbb\xbf"
DATA: Final = len(b"data:")
DATA_SPACE: Final = len(b"data: ")
MAX_RETRY_DIGITS: Final = 9
MAX_ID_BYTES: Final = 4_096
"""The longest event id that is kept: it is sent back in a header."""


class Event(msgspec.Struct, frozen=True):
    """One event of a stream."""

    data: bytes
    """Empty for an event that only moves the id of the stream on."""
    name: str = ""
    """Empty for a message."""


class EventParser:
    """Reads the events of one stream."""

    def __init__(self, max_bytes: int) -> None:
        """Read events of at most so many bytes."""
        self.last_id = ""
        """The id of the last event that had one: a stream that was cut can be asked for what follows it."""
        self.retry_ms: int | None = None
        """How long the server asks to wait before the next connection."""
        self._max_bytes = max_bytes
        self._line: list[bytes] = []
        self._data: list[bytes] = []
        self._name = ""
        self._id: str | None = None
        self._held_bytes = 0
        self._is_after_cr = False
        self._is_first_line = True

    def feed(self, chunk: bytes) -> list[Event]:
        """Return the events that a chunk completes.

        Raises:
            ValueError: an event is too large.
        """
        if not chunk:
            return []
        if self._is_after_cr and chunk[:1] == b"\n":
            chunk = chunk[1:]
        self._is_after_cr = chunk[-1:] == b"\r"
        *whole, rest = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        events: list[Event] = []
        for line in whole:
            if self._line:
                self._hold(line)
                found = self._take_line(b"".join(self._line))
                self._line.clear()
            else:
                self._weigh(line)
                found = self._take_line(line)
            if found is not None:
                events.append(found)
        if rest:
            self._hold(rest)
        return events

    def resumed(self) -> EventParser:
        """Return the parser of the connection that continues this stream: an event that was cut comes again."""
        parser = EventParser(self._max_bytes)
        parser.last_id, parser.retry_ms = self.last_id, self.retry_ms
        return parser

    def _hold(self, part: bytes) -> None:
        self._weigh(part)
        self._line.append(part)

    def _weigh(self, part: bytes) -> None:
        self._held_bytes += len(part)
        if self._held_bytes > self._max_bytes:
            raise ValueError(f"an event is larger than {self._max_bytes} bytes")

    def _take_line(self, line: bytes) -> Event | None:
        """Read one line; return the event that it ends."""
        if self._is_first_line:
            self._is_first_line = False
            line = line.removeprefix(BOM)
        if not line:
            return self._end_event()
        if line.startswith(b"data:"):
            # A message may be large: it is copied once.
            self._data.append(line[DATA_SPACE:] if line.startswith(b"data: ") else line[DATA:])
            return None
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(b"")
        else:
            # Nothing of it is kept but a few bytes: a comment may be repeated for ever without ending an event.
            self._held_bytes -= len(line)
            self._take_field(field, value)
        return None

    def _take_field(self, field: bytes, value: bytes) -> None:
        if field == b"event":
            self._name = value[:MAX_ID_BYTES].decode(errors="replace")
        elif field == b"id" and len(value) <= MAX_ID_BYTES and (text := value.decode(errors="replace")).isprintable():
            self._id = text
        elif field == b"retry" and value.isdigit() and len(value) <= MAX_RETRY_DIGITS:
            self.retry_ms = int(value)

    def _end_event(self) -> Event | None:
        event = None
        if self._id is not None:
            self.last_id = self._id
        if self._data or self._id is not None:
            name = "" if self._name == "message" else self._name
            event = Event(b"\n".join(self._data), name)
        self._data.clear()
        self._name, self._id, self._held_bytes = "", None, 0
        return event
