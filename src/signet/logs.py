"""Log lines on stderr, filtered by directives in the syntax of RUST_LOG.

    off | error | warn | info | debug | trace      for everything
    target=level, target                           for one part and the parts below it (a::b is below a)

Directives are separated by commas; the longest matching target decides. A line is one event: a time, a level,
a target, a dotted name, then facts as keys.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cached_property
from time import monotonic
from typing import Final

import msgspec

from signet.kernel.redaction import SecretRedactor

__all__ = ["DEBUG", "ERROR", "INFO", "OFF", "TRACE", "WARN", "Filter", "LimitedLog", "Log"]

LEVELS: Final = ("off", "error", "warn", "info", "debug", "trace")
OFF, ERROR, WARN, INFO, DEBUG, TRACE = range(6)
LINES_PER_SECOND: Final = 10
"""The number of lines that a limited log writes in one second."""


class Filter(msgspec.Struct, frozen=True):
    """The level up to which the lines of each target are written."""

    targets: dict[str, int]
    """The level of each target; the empty target stands for all others."""

    @classmethod
    def parse(cls, text: str, default: int, *, lenient: bool = False) -> Filter:
        """Parse a filter. With `lenient`, ignore unknown directives: RUST_LOG is shared with other programs.

        Raises:
            ValueError: a directive is not valid.
        """
        targets = {"": default}
        for directive in filter(None, (part.strip() for part in text.split(","))):
            target, equals, level = directive.rpartition("=") if "=" in directive else ("", "", directive)
            if level.strip().lower() in LEVELS:
                targets[target.strip()] = LEVELS.index(level.strip().lower())
            elif not equals and level.replace("::", "").replace("_", "").replace("-", "").isalnum():
                targets[level] = TRACE
            elif not lenient:
                message = f"'{directive[:50]}' is not a log directive; write {', '.join(LEVELS)}, or target=level"
                raise ValueError(message)
        return cls(targets)

    def level_of(self, target: str) -> int:
        """Return the level of a target: that of the longest directive that names it or a target above it."""
        matching = (name for name in self.targets if name in {"", target} or target.startswith(name + "::"))
        return self.targets[max(matching, key=len)]


class Log:
    """Writes the events of one program."""

    def __init__(
        self,
        program: str,
        chosen: Filter,
        *,
        secrets: tuple[str, ...] = (),
        write: Callable[[str], object] | None = None,
    ) -> None:
        self._program = program.replace("-", "_")
        self._secrets = secrets
        self._filter = chosen
        self._write = write or _to_stderr

    @cached_property
    def _redactor(self) -> SecretRedactor:
        # Built with the first line: most runs log nothing.
        return SecretRedactor(self._secrets)

    def level_of(self, part: str) -> int:
        """Return the level up to which events of a part of the program are written."""
        return self._filter.level_of(f"{self._program}::{part}" if part else self._program)

    def line(self, level: int, part: str, event: str, **facts: object) -> None:
        """Write one event, unless the filter suppresses it."""
        if level > self.level_of(part):
            return
        target = f"{self._program}::{part}" if part else self._program
        time = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        pairs = "".join(f" {name}={_quoted(value)}" for name, value in facts.items())
        self._write(f"{time} {LEVELS[level].upper():>5} {target}: {event}{self._redactor.text(pairs)}\n")


class LimitedLog:
    """Writes at most some lines a second, so that nobody can fill a disk with what he is refused."""

    def __init__(self, log: Log, clock: Callable[[], float] = monotonic) -> None:
        self._log = log
        self._clock = clock
        self._second = -1
        self._count = 0
        self._left_out = 0

    def line(self, level: int, part: str, event: str, **facts: object) -> None:
        """Write one event, unless there are too many; the next line tells how many were left out."""
        second = int(self._clock())
        if second != self._second:
            self._second, self._count = second, 0
        self._count += 1
        if self._count > LINES_PER_SECOND:
            self._left_out += 1
            return
        if self._left_out:
            facts["left_out"], self._left_out = self._left_out, 0
        self._log.line(level, part, event, **facts)


def _quoted(value: object) -> str:
    """Return the text of a fact, as a JSON string if it is empty or has spaces or unprintable characters."""
    text = str(value)
    if text.isprintable() and " " not in text and text:
        return text
    # JSON leaves C1 and bidi controls as they are, and a terminal would obey them.
    return "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in msgspec.json.encode(text).decode())


def _to_stderr(line: str) -> None:
    try:
        if sys.stderr is not None:
            sys.stderr.write(line)
            sys.stderr.flush()
    except (OSError, ValueError):
        # stderr is closed or full, and there is no other place to report that.
        return
