"""A gzip decoder that works in steps: a few bytes could hold gigabytes."""

from __future__ import annotations

import zlib
from typing import Final

from signet.kernel.upstream import CUT_GZIP, NOT_GZIP

__all__ = ["STEP_BYTES", "Gunzip"]

GZIP: Final = 31
"""zlib's window bits for a gzip stream."""
MAGIC: Final = b"\x1f\x8b"
"""How every member begins."""
STEP_BYTES: Final = 1_048_576
"""The largest output of one step, which takes some 3 ms."""
STEP_MEMBERS: Final = 512
"""The members that are begun in one step; empty ones have no output."""


class Gunzip:
    """Decodes a gzip stream, member after member; what follows the last member is ignored."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(GZIP)
        self._waiting = b""
        self._is_open = False
        self._is_first = True
        self.has_ended = False
        """Whether bytes have come that begin no further member."""

    @property
    def is_whole(self) -> bool:
        """Whether the input so far ends with a member and anything behind it, or is empty."""
        return not self._is_open and (not self._is_first or not self._waiting)

    @property
    def has_more(self) -> bool:
        """Whether there is input from which `step` may make output."""
        return len(self._waiting) >= (1 if self._is_open else len(MAGIC))

    def feed(self, chunk: bytes) -> None:
        """Take input for the next steps."""
        if not self.has_ended:
            self._waiting += chunk

    def step(self, room: int) -> bytes:
        """Return output from the input that waits: as much as there is room for, or as one step makes.

        Raises:
            ValueError: the input is not gzip, or is damaged.
        """
        output = bytearray()
        most = min(room, STEP_BYTES)
        try:
            for _ in range(STEP_MEMBERS):
                if not self._is_open and not self._begin():
                    break
                if not self._waiting or len(output) >= most:
                    break
                output += self._member.decompress(self._waiting, most - len(output))
                self._is_open = not self._member.eof
                self._waiting = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
        except zlib.error:
            raise ValueError(CUT_GZIP) from None
        return bytes(output)

    def _begin(self) -> bool:
        """Begin a member; return False if too little has come to know whether there is one, or if there is none."""
        if not self._is_first:
            self._waiting = self._waiting.lstrip(b"\0")  # padding
        if self._waiting.startswith(MAGIC):
            self._member = zlib.decompressobj(GZIP)
            self._is_open, self._is_first = True, False
            return True
        if not MAGIC.startswith(self._waiting):
            if self._is_first:
                raise ValueError(NOT_GZIP)
            self.has_ended, self._waiting = True, b""
        return False
