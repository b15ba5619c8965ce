"""Lines: chunks of bytes split at their line ends, with a bound on each line."""

from __future__ import annotations

from typing import Final

__all__ = ["EDGE_BYTES", "LineSplitter", "escape_line_ends"]

EDGE_BYTES: Final = 512
"""The size of the beginning and of the end that are kept of a line that is too long."""

_LINE_ENDS: Final = tuple((end.encode(), f"\\u{ord(end):04x}".encode()) for end in "\x85\u2028\u2029")


def escape_line_ends(json_lines: bytes) -> bytes:
    """Return lines of JSON with escapes for the characters that JSON leaves as they are and text tools end lines at."""
    if json_lines.isascii():
        return json_lines
    for raw, escape in _LINE_ENDS:
        json_lines = json_lines.replace(raw, escape)
    return json_lines


class LineSplitter:
    """Splits chunks of bytes into lines; None stands for a line that was too long."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._rest = bytearray()
        """The bytes since the last line end, unless they are too many."""
        self._size = 0
        self.edges = (b"", b"")
        """The beginning and the end of the last line that came in several chunks and was too long."""

    def feed(self, chunk: bytes) -> list[bytes | None]:
        """Return the lines that a chunk completes."""
        lines: list[bytes | None] = [*chunk.split(b"\n")]
        rest = lines.pop() or b""
        # Only the first line can have begun in an earlier chunk.
        if lines and self._size:
            self._keep(lines[0] or b"")
            lines[0] = self.last()
        if rest:
            self._keep(rest)
        return lines if len(chunk) <= self._max_bytes else [*map(self._bounded, lines)]

    def last(self) -> bytes | None:
        """Return the bytes since the last line end."""
        line = bytes(self._rest) if self._size <= self._max_bytes else None
        self._rest.clear()
        self._size = 0
        return line

    def _keep(self, part: bytes) -> None:
        is_first_too_much = self._size <= self._max_bytes < self._size + len(part)
        self._size += len(part)
        if self._size <= self._max_bytes:
            self._rest += part
            return
        if is_first_too_much:
            self.edges = (bytes(self._rest[:EDGE_BYTES]) or part[:EDGE_BYTES], bytes(self._rest[-EDGE_BYTES:]))
            self._rest.clear()
        head, tail = self.edges
        self.edges = (head, (tail + part[-EDGE_BYTES:])[-EDGE_BYTES:])

    def _bounded(self, line: bytes | None) -> bytes | None:
        return line if line is not None and len(line) <= self._max_bytes else None
