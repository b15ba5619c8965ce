"""Log lines on stderr, filtered by directives in the syntax of RUST_LOG.

    off | error | warn | info | debug | trace      for everything
    target=level, target                           for one part and the parts below it (a::b is below a)

Directives are separated by commas; the longest matching target decides. A target is the program (`signet`) or a part of
it (`signet::http`, or `http` alone). A line is one event: a time, a level, a target, a dotted name, then facts as keys;
as JSON it is an object with `ts`, `level`, `target`, `event` and `facts`.
"""

from __future__ import annotations

import select
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cached_property
from time import monotonic
from typing import Final

import msgspec

from signet.system.redaction import SecretRedactor, redact_shapes
from signet.system.text import printable

__all__ = [
    "DEBUG",
    "ERROR",
    "INFO",
    "LEVELS",
    "OFF",
    "TRACE",
    "WARN",
    "DroppingLog",
    "LimitedLog",
    "Log",
    "write_stderr",
]

LEVELS: Final = ("off", "error", "warn", "info", "debug", "trace")
OFF, ERROR, WARN, INFO, DEBUG, TRACE = range(6)
PROGRAM: Final = "signet"
PARTS: Final = (
    *("access", "audit", "call", "contract", "http", "journal", "record", "server", "store", "telemetry", "upstream"),
)
"""The parts of the program that log."""
LINES_PER_SECOND: Final = 10
"""The number of lines that a limited log writes in one second."""


class Log:
    """Writes the events of one program, as far as its filter lets them through."""

    def __init__(
        self,
        program: str,
        directives: str,
        *,
        lenient: bool = False,
        secrets: tuple[str, ...] = (),
        as_json: bool = False,
    ) -> None:
        """Parse the filter. With `lenient`, ignore unknown directives: RUST_LOG is shared with other programs.

        Raises:
            ValueError: a directive is not valid, or names what is no target.
        """
        self._program = program.replace("-", "_")
        self._secrets = secrets
        self._as_json = as_json
        self._targets = {"": WARN}
        """The level of each target; the empty target stands for all others."""
        for directive in filter(None, (part.strip() for part in directives.split(","))):
            target, equals, level = directive.rpartition("=") if "=" in directive else ("", "", directive)
            target, level = target.strip(), level.strip()
            if not equals and level.lower() not in LEVELS:
                target, level = level, "trace"
            if lenient:
                self._add_lenient(target, level.lower(), bare=not equals)
                continue
            name = self._known_target(target)
            if name is None or level.lower() not in LEVELS:
                raise ValueError(_refusal(directive))
            self._targets[name] = LEVELS.index(level.lower())

    def _add_lenient(self, target: str, level: str, *, bare: bool) -> None:
        is_name = target.replace("::", "").replace("_", "").replace("-", "").isalnum()
        if level in LEVELS and (not bare or not target or is_name):  # rule: 1.S6.2.off
            self._targets[target] = LEVELS.index(level)

    def _known_target(self, target: str) -> str | None:
        """Return the whole name of a target, which may be written without its program; None if there is no such one."""
        if target in {"", self._program, PROGRAM}:
            return target and self._program
        part = target.removeprefix(f"{self._program}::").removeprefix(f"{PROGRAM}::")
        return self._target(part) if part in PARTS else None

    @cached_property
    def _redactor(self) -> SecretRedactor:
        # Built with the first line: most runs log nothing.
        return SecretRedactor(self._secrets)  # rule: 1.S1.token-not-logged/2

    def level_of(self, part: str) -> int:
        """Return the level of a part of the program: that of the longest directive that names it or a target above."""
        target = self._target(part)
        matching = (name for name in self._targets if name in {"", target} or target.startswith(name + "::"))
        return self._targets[max(matching, key=len)]  # rule: 1.S6.2.targets

    def line(self, level: int, part: str, event: str, **facts: object) -> None:
        """Write one event, unless the filter suppresses it."""
        if level > self.level_of(part):
            return
        if self._as_json:
            self._object(level, part, event, facts)
            return
        time = _now()
        pairs = "".join(f" {name}={_quoted(redact_shapes(str(value)))}" for name, value in facts.items())
        text = self._redactor.text(pairs)
        write_stderr(f"{time} {LEVELS[level].upper():>5} {self._target(part)}: {event}{text}\n")  # rule: 1.S6.2.format

    def text(self, level: int, part: str, text: str) -> None:
        """Write the lines that explain an event, such as a traceback, unless the filter suppresses them."""
        if level > self.level_of(part):
            return
        if self._as_json:
            self._object(level, part, "text", {"text": text})
        else:
            write_stderr(printable(self._clear(text), keep="\n\t").rstrip("\n") + "\n")

    def _object(self, level: int, part: str, event: str, facts: dict[str, object]) -> None:
        """Write one event as an object; numbers stay numbers."""
        told = {name: fact if isinstance(fact, int | float) else self._clean(str(fact)) for name, fact in facts.items()}
        line = {"ts": _now(), "level": LEVELS[level], "target": self._target(part), "event": event, "facts": told}
        write_stderr(msgspec.json.encode(line).decode() + "\n")

    def _clear(self, text: str) -> str:
        """Return a text without secrets: those of the settings, and those that are recognised by their shapes."""
        return redact_shapes(self._redactor.text(text))

    def _clean(self, text: str) -> str:
        """Return a text without secrets, and without characters that a terminal would obey."""
        return printable(self._clear(text), keep="\n\t", substitute=None)

    def _target(self, part: str) -> str:
        return f"{self._program}::{part}" if part else self._program


class LimitedLog:
    """Writes at most some lines a second, so that nobody can fill a disk with what he is refused."""

    def __init__(self, log: Log | DroppingLog, clock: Callable[[], float] = monotonic) -> None:
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


class DroppingLog:
    """Writes only what stderr takes at once, so that nobody who reads it slowly can hold the server."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._dropped = 0

    def line(self, level: int, part: str, event: str, **facts: object) -> None:
        """Write one event, unless stderr is full; the next line tells how many were dropped."""
        if not _has_room():
            self._dropped += 1
            return
        if self._dropped:
            facts["dropped"], self._dropped = self._dropped, 0
        self._log.line(level, part, event, **facts)


def _has_room() -> bool:
    """Return whether stderr takes a line without waiting: a pipe has room for one if it has any."""
    # Windows has no poll, and whoever has replaced stderr may have no file behind it.
    if not hasattr(select, "poll"):
        return True
    try:
        poll = select.poll()
        poll.register(sys.stderr.fileno(), select.POLLOUT)
        return bool(poll.poll(0))
    except (OSError, ValueError, AttributeError):
        return True


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _refusal(directive: str) -> str:
    """Return the sentence for a directive that cannot be used."""
    levels, targets = ", ".join(LEVELS), ", ".join((PROGRAM, *PARTS))
    return f"'{directive[:50]}' is not a log directive; write a level ({levels}) or target=level (targets: {targets})"


def _quoted(text: str) -> str:
    """Return the text of a fact, as a JSON string if it is empty or has spaces or unprintable characters."""
    if text.isprintable() and " " not in text and text:
        return text
    # JSON leaves C1 and bidi controls as they are, and a terminal would obey them.
    return printable(msgspec.json.encode(text).decode(), substitute=None)


def write_stderr(line: str) -> None:
    """Write a line to standard error, which may be closed or full."""
    try:
        if sys.stderr is not None:
            sys.stderr.write(line)  # rule: 1.S6.1.stderr
            sys.stderr.flush()
    except (OSError, ValueError):
        # stderr is closed or full, and there is no other place to report that.
        return
