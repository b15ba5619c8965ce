"""A gzip decoder that works in steps: a few bytes could hold gigabytes."""

from __future__ import annotations

import zlib
from typing import Final

from signet.kernel.upstream import NOT_GZIP

__all__ = ["STEP_BYTES", "Gunzip"]

GZIP: Final = 31
"""zlib's window bits for a gzip stream."""
STEP_BYTES: Final = 1_048_576
"""The largest output of one step, which takes some 3 ms."""
STEP_MEMBERS: Final = 512
"""The members that are begun in one step; empty ones have no output."""


class Gunzip:
    """Decodes a gzip stream, member after member."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(GZIP)
        self._waiting = b""
        self._is_open = False

    @property
    def is_whole(self) -> bool:
        """Whether the input so far ends with a member, or is empty."""
        return not self._is_open and not self._waiting

    @property
    def has_more(self) -> bool:
        """Whether there is input from which `step` may make output."""
        return bool(self._waiting)

    def feed(self, chunk: bytes) -> None:
        """Take input for the next steps."""
        self._waiting += chunk

    def step(self, room: int) -> bytes:
        """Return output from the input that waits: as much as there is room for, or as one step makes.

        Raises:
            ValueError: the input is not gzip.
        """
        output = bytearray()
        most = min(room, STEP_BYTES)
        try:
            for _ in range(STEP_MEMBERS):
                if self._member.eof:
                    self._waiting = self._waiting.lstrip(b"\0")  # padding
                    if self._waiting:
                        self._member = zlib.decompressobj(GZIP)
                if not self._waiting or len(output) >= most:
                    break
                output += self._member.decompress(self._waiting, most - len(output))
                self._is_open = not self._member.eof
                self._waiting = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
        except zlib.error:
            raise ValueError(NOT_GZIP) from None
        return bytes(output)
