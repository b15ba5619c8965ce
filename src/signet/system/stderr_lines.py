"""What a child writes to standard error: whole lines, bounded in size and in number, whatever comes.

A flood costs the counting of its line ends: beyond the bound no line is cut out, decoded or kept.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Final

from .redaction import REDACTED, redact_secrets, redact_user_info
from .secret_patterns import ends_private_key, opens_private_key
from .text import cut

__all__ = ["LINES_PER_SECOND", "LINE_BYTES", "StderrLines"]

LINE_BYTES: Final = 8 * 1024
"""The longest line that is passed on; the rest of a longer line is left out."""
LINES_PER_SECOND: Final = 200
"""The number of lines that are passed on in one second; the others are counted."""
BEHIND_BYTES: Final = 1_024
"""How much of a longer line is searched behind that: longer than a token, which is not recognised where it is cut."""
LAST_CHARS: Final = 200
MAX_KEY_LINES: Final = 200
"""The most lines of a private key: a key that never ends hides no more than that."""


class StderrLines:
    """Passes on the lines of chunks of bytes, with the secrets that are recognised redacted."""

    def __init__(self, on_line: Callable[[str], None], clock: Callable[[], float] = monotonic) -> None:
        self._on_line = on_line
        self._clock = clock
        self._rest = bytearray()
        self._second = clock()
        self._passed = 0
        self._dropped = 0
        self._last = b""
        self._key_lines = 0
        """The number of lines that may still belong to a private key."""

    def feed(self, chunk: bytes) -> None:
        """Pass on the lines that a chunk completes."""
        now = self._clock()
        if now - self._second >= 1:
            self._tell_dropped()
            self._second, self._passed = now, 0
        end = 0
        while self._passed < LINES_PER_SECOND and (found := chunk.find(b"\n", end)) >= 0:
            self._keep(chunk[end:found])
            self._pass()
            end = found + 1
        if (dropped := chunk.count(b"\n", end)) > 0:
            self._dropped += dropped
            end = chunk.rindex(b"\n") + 1
            self._rest.clear()
        self._keep(chunk[end:])

    def finish(self) -> None:
        """Pass on an unfinished line, and how many lines were dropped."""
        if self._rest:
            self._pass()
        self._tell_dropped()

    @property
    def last(self) -> str:
        """The beginning of the last line that said something and was passed on."""
        return _text(self._last)[:LAST_CHARS]

    def _keep(self, part: bytes) -> None:
        self._rest += part[: max(LINE_BYTES + BEHIND_BYTES - len(self._rest), 0)]

    def _pass(self) -> None:
        line = bytes(self._rest).rstrip()
        self._rest.clear()
        self._passed += 1
        shown = line.decode(errors="replace")
        if line and self._key_lines:
            self._key_lines = 0 if ends_private_key(shown) else self._key_lines - 1
            self._on_line(REDACTED)
        elif line:
            self._last = line
            self._key_lines = MAX_KEY_LINES if opens_private_key(shown) else 0
            self._on_line(_text(line))

    def _tell_dropped(self) -> None:
        if self._dropped:
            self._on_line(f"({self._dropped} more lines on standard error were dropped)")
            self._dropped = 0


def _text(line: bytes) -> str:
    """Return a line without secrets; of one that was cut off, all but what is behind the part that is passed on."""
    text = redact_user_info(redact_secrets(line.decode(errors="replace")))
    if len(line) < LINE_BYTES + BEHIND_BYTES:
        return text if len(line) <= LINE_BYTES else cut(text, LINE_BYTES)
    return text[: min(LINE_BYTES, max(len(text) - BEHIND_BYTES, 0))] + "…"
