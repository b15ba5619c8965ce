"""Scalars: the strings and numbers that stand at the edges of what a schema allows. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from math import isfinite
from typing import Any, Final

from .patterns import strings_of

__all__ = ["ANYTHING", "FORMATS", "NAMES", "edges", "numbers", "size", "strings"]

LONGEST: Final = 20_000
"""No longer string is shown to anybody."""

PLAIN: Final = (None, True, False, 0, 1, -1, 1.5, "a", "", "A", "0")
ANYTHING: Final[tuple[Any, ...]] = (*PLAIN, [], {}, ["a"], ["a", "a"], {"unexpected": 1})
"""A little of everything, for where a schema says nothing."""

NAMES: Final = ("unexpected", "Z", "9", "a-b", "")
"""Property names that nobody declares."""

FORMATS: Final = {
    "date": ("2024-02-29", "2024-13-01"),
    "date-time": ("2024-02-29T12:00:00Z", "2024-02-29 12:00"),
    "time": ("12:00:00Z", "25:00"),
    "duration": ("P1D", "1 day"),
    "email": ("a@example.org", "a at example.org"),
    "idn-email": ("a@example.org", "a at example.org"),
    "hostname": ("example.org", "-example-.org-"),
    "idn-hostname": ("example.org", "-example-.org-"),
    "ipv4": ("192.0.2.1", "192.0.2.256"),
    "ipv6": ("2001:db8::1", "2001:db8::g"),
    "uri": ("https://example.org/", "no address"),
    "uri-reference": ("/a", "\\\\"),
    "iri": ("https://example.org/", "no address"),
    "iri-reference": ("/a", "\\\\"),
    "uri-template": ("/a/{b}", "/a/{b"),
    "uuid": ("123e4567-e89b-12d3-a456-426614174000", "123e4567"),
    "json-pointer": ("/a", "a"),
    "relative-json-pointer": ("0/a", "a"),
    "regex": ("^a$", "("),
}
"""For each format a string that has it and one that has not."""


def strings(case: dict[str, Any]) -> Iterator[str]:
    """Give strings for a schema: of its pattern, its format, its shortest and longest length."""
    least = size(case, "minLength")
    if "pattern" in case:
        for one in strings_of(case["pattern"], least):
            # A pattern that is open at an end lets a text grow there.
            missing = "a" * min(least - len(one), LONGEST)
            yield from (one, one + missing, missing + one) if missing else (one,)
    yield from FORMATS.get(case.get("format", ""), ())
    for length in (max(least, 1), least, least + 1, size(case, "maxLength")):
        if length <= LONGEST:
            yield from (sign * length for sign in "aA0")
    yield from (one for one in ANYTHING if isinstance(one, str))
    yield from (one for pair in FORMATS.values() for one in pair)


def numbers(case: dict[str, Any]) -> Iterator[float]:
    """Give numbers for a schema: at its bounds, between them, and multiples."""
    bounds = [case[key] for key in ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum") if key in case]
    bounds = [bound for bound in bounds if not isinstance(bound, bool)]
    step = case.get("multipleOf", 1)
    found: list[float] = []
    # A bound beyond what a float can hold has no neighbours that could be reckoned.
    with suppress(OverflowError):
        for bound in bounds:
            below = bound // step * step
            found += (*edges(bound), below, below + step, below - step)
        found += [(one + other) / 2 for one, other in pairwise(bounds)]
    found += (0, 1, -1, 2, 3, 0.5, 1.5, step, 2 * step, 3 * step, step / 2, 1e308)
    yield from (one for one in found if isinstance(one, int) or isfinite(one))


def edges(bound: float) -> Iterator[float]:
    """Give a number and its neighbours."""
    yield from (bound, bound + 1, bound - 1)
    if abs(bound) < 1 << 50:
        yield from (bound + 0.5, bound - 0.5)


def size(case: dict[str, Any], keyword: str) -> int:
    """Read a length or count; 0 where there is none, or none that is a whole number."""
    value = case.get(keyword, 0)
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0
