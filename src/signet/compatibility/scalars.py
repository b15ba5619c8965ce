"""Scalars: strings and numbers at the edges of a schema, and strings that a regular expression may match. Pure.

Patterns are read by a small parser of the usual syntax: literals, classes, groups, alternatives, repetitions. It skips
assertions, so a string may fail its pattern; the caller validates it before use.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from importlib.resources import files
from itertools import pairwise
from math import isfinite
from typing import Any, Final

import msgspec

__all__ = ["ANYTHING", "FORMATS", "NAMES", "edges", "numbers", "size", "strings", "strings_of"]

MAX_STRING_LENGTH: Final = 20_000

PLAIN: Final = (None, True, False, 0, 1, -1, 1.5, "a", "", "A", "0")
ANYTHING: Final[tuple[Any, ...]] = (*PLAIN, [], {}, ["a"], ["a", "a"], {"unexpected": 1})
"""Values of every type, for a schema without rules."""

NAMES: Final = ("unexpected", "Z", "9", "a-b", "")
"""Property names that no schema declares."""

FORMATS: Final = msgspec.json.decode((files(__package__) / "formats.json").read_bytes(), type=dict[str, list[str]])
"""For each format a string that has it and a string that does not."""

MAX_STRINGS: Final = 24
"""How many strings are made for one part of a pattern."""
MAX_PATTERN_LENGTH: Final = 2_000
"""The longest pattern that is read, and the longest string that is made for one."""
CLASSES: Final = {"d": "07", "w": "aZ_9", "s": " \t", "D": "a-", "W": "- ", "S": "a9", "t": "\t", "n": "\n", "r": "\r"}
BOUNDARIES: Final = "bBAzZ"
ANY_CHAR: Final = "a0 -~Z"
NEGATED_CHARS: Final = "aZ0_- .~/é"
"""Candidates for a negated class."""


def strings(schema: dict[str, Any]) -> Iterator[str]:
    """Yield strings for a schema: from its pattern and format, and of its shortest and longest length."""
    least = size(schema, "minLength")
    if "pattern" in schema:
        for string in strings_of(schema["pattern"], least):
            # A pattern without an anchor at one end lets a string grow there.
            padding = "a" * min(least - len(string), MAX_STRING_LENGTH)
            yield from (string, string + padding, padding + string) if padding else (string,)
    yield from FORMATS.get(schema.get("format", ""), ())
    for length in (max(least, 1), least, least + 1, size(schema, "maxLength")):
        if length <= MAX_STRING_LENGTH:
            yield from (char * length for char in "aA0")
    yield from (value for value in ANYTHING if isinstance(value, str))
    yield from (string for pair in FORMATS.values() for string in pair)


def numbers(schema: dict[str, Any]) -> Iterator[float]:
    """Yield numbers for a schema: at its bounds, between them, and multiples."""
    bounds = [schema[key] for key in ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum") if key in schema]
    bounds = [bound for bound in bounds if not isinstance(bound, bool)]
    step = schema.get("multipleOf", 1)
    values: list[float] = []
    # The neighbours of a bound beyond the range of floats cannot be computed.
    with suppress(OverflowError):
        for bound in bounds:
            below = bound // step * step
            values += (*edges(bound), below, below + step, below - step)
        values += [(low + high) / 2 for low, high in pairwise(bounds)]
    values += (0, 1, -1, 2, 3, 0.5, 1.5, step, 2 * step, 3 * step, step / 2, 1e308)
    yield from (value for value in values if isinstance(value, int) or isfinite(value))


def edges(bound: float) -> Iterator[float]:
    """Yield a number and its neighbours."""
    yield from (bound, bound + 1, bound - 1)
    if abs(bound) < 1 << 50:
        yield from (bound + 0.5, bound - 0.5)


def size(schema: dict[str, Any], keyword: str) -> int:
    """Return a length or count, or 0 if it is missing or not a number."""
    value = schema.get(keyword, 0)
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0


def strings_of(pattern: str, reach: int = 0) -> list[str]:
    """Return strings that a pattern may match, simplest first; an unbounded repetition goes up to `reach`."""
    if len(pattern) > MAX_PATTERN_LENGTH:
        return []
    try:
        return _PatternParser(pattern, reach).alternatives()[:MAX_STRINGS]
    except (IndexError, ValueError, RecursionError):
        return []


class _PatternParser:
    """Reads a pattern from left to right and makes strings for each part."""

    def __init__(self, text: str, reach: int) -> None:
        self.text = text
        self.at = 0
        self.reach = min(reach, MAX_PATTERN_LENGTH)

    def alternatives(self) -> list[str]:
        options = self._sequence()
        while self._take("|"):
            options = _distinct([*options[:1], *self._sequence(), *options[1:]])
        return options

    def _sequence(self) -> list[str]:
        """Join the simplest string of each part, then vary one part at a time."""
        parts: list[list[str]] = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            parts.append(self._repeated(self._atom()))
        simplest = [part[0] for part in parts]
        options = ["".join(simplest)]
        for place, part in enumerate(parts):
            options += ["".join((*simplest[:place], other, *simplest[place + 1 :])) for other in part[1:]]
        return _distinct(options)

    def _atom(self) -> list[str]:
        char = self._next()
        if char == "(":
            return self._group()
        if char == "[":
            return self._class()
        if char == "\\":
            return self._escape()
        if char in "^$":
            return [""]
        return list(ANY_CHAR) if char == "." else [char]

    def _group(self) -> list[str]:
        is_assertion = False
        if self._take("?"):
            char = self._next()
            if char in "=!":
                is_assertion = True
            elif char in "<P":
                is_assertion = self.text[self.at] in "=!"
                self.at = self.at + 1 if is_assertion else self.text.index(">", self.at) + 1
            elif char != ":":
                raise ValueError(char)
        options = self.alternatives()
        if not self._take(")"):
            raise ValueError(self.text)
        return [""] if is_assertion else options

    def _escape(self) -> list[str]:
        char = self._next()
        if char in BOUNDARIES:
            return [""]
        if char in "ux":
            width = 4 if char == "u" else 2
            code, self.at = self.text[self.at : self.at + width], self.at + width
            return [chr(int(code, 16))]
        if char in "pPk" or char.isdigit():
            raise ValueError(char)
        return list(CLASSES.get(char, char))

    def _class(self) -> list[str]:
        """Return both ends of each range, or characters outside of a negated class."""
        negated = self._take("^")
        ranges: list[tuple[str, str]] = []
        while not self._take("]"):
            chars = self._escape() if self._take("\\") else [self._next()]
            if len(chars) == 1 and self.text[self.at] == "-" and self.text[self.at + 1] != "]":
                self.at += 1
                ranges.append((chars[0], self._escape()[0] if self._take("\\") else self._next()))
            else:
                ranges += [(char, char) for char in chars]
        if negated:
            outside = [char for char in NEGATED_CHARS if not any(low <= char <= high for low, high in ranges)]
            return outside or ["\u2603"]
        return _distinct([low for low, _ in ranges] + [high for _, high in ranges])

    def _repeated(self, part: list[str]) -> list[str]:
        """Repeat a part as its quantifier says: at least, once more, at most."""
        least, most = self._quantifier()
        top = most if most is not None else max(least + 2, self.reach)
        longest = MAX_PATTERN_LENGTH // max(1, *map(len, part))
        if least > longest:
            raise ValueError(least)
        counts = sorted({least, min(least + 1, top, longest), min(top, longest)})
        if least > 1 or part == [""]:
            return _distinct([string * count for count in counts for string in part])
        once = [string for string in part if top]
        # One repetition is simpler than none, and each string is tried once.
        return _distinct([*once, *(part[0] * count for count in counts), *(string * counts[-1] for string in once)])

    def _quantifier(self) -> tuple[int, int | None]:
        bounds: tuple[int, int | None] = (1, 1)
        if self._take("*"):
            bounds = (0, None)
        elif self._take("+"):
            bounds = (1, None)
        elif self._take("?"):
            bounds = (0, 1)
        elif self.text[self.at : self.at + 1] == "{":
            end = self.text.index("}", self.at)
            low, comma, high = self.text[self.at + 1 : end].partition(",")
            self.at = end + 1
            bounds = (int(low or 0), (int(high) if high else None) if comma else int(low))
        else:
            return bounds
        # Lazy and possessive quantifiers match the same strings.
        _ = self._take("?") or self._take("+")
        return bounds

    def _next(self) -> str:
        char = self.text[self.at]
        self.at += 1
        return char

    def _take(self, char: str) -> bool:
        if self.text[self.at : self.at + 1] != char:
            return False
        self.at += 1
        return True


def _distinct(strings: list[str]) -> list[str]:
    return list(dict.fromkeys(strings))[:MAX_STRINGS]
