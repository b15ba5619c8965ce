"""Rows of a database and the values of its series: stored where they are known, made by rule everywhere else; pure.

A value depends on nothing but its series and its period, so that any window of a series can be made by itself and is
the same in every run and on every machine. Rules count in whole numbers of the last decimal.
"""

from __future__ import annotations

from typing import Final
from zlib import crc32

import msgspec

from .periods import FREQUENCIES, Frequency

__all__ = ["Known", "Number", "SampleRow", "SampleRule", "SampleSeries", "window"]

Number = int | float | None
Known = dict[int, Number]

KNOT: Final = 24
KNOT_DAYS: Final = 240
"""How many periods a series goes in one direction, and how many when they are days."""

REACH: Final = 0x10000

WEEKEND: Final = {0, 6}
HOLIDAYS: Final = {101, 102, 103, 211, 223, 429, 503, 504, 505, 811, 1103, 1123, 1231}
"""Month and day on which no market is open."""


class SampleRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the values of a series are made: along a line, swinging about it."""

    line: tuple[float, float] = (95, 105)
    """Where it starts and where it ends."""
    swing: float = 0.1
    """How far it strays, as a part of the line's height."""
    decimals: int = 1
    half: bool = False
    """A half-yearly series in quarterly dress: every other quarter is 0, which is a value and not a gap."""
    gap: int = 0
    """Every so many periods one is missing; 0 for none."""


class SampleRow(msgspec.Struct, frozen=True, kw_only=True):
    """One row of a database: a heading, unless it is a series; pairs are Japanese and English."""

    layers: tuple[int, ...]
    names: tuple[str, str]
    code: str = ""
    units: tuple[str, str] = ("", "")
    categories: tuple[str, str] = ("", "")
    notes: tuple[str, str] = ("", "")
    every: str = ""
    """The frequency's name in answers."""
    told: tuple[str, str, str] = ("", "", "")
    """Start, end and last update as the metadata tell them: those were written earlier than the data."""


class SampleSeries(SampleRow, frozen=True, kw_only=True):
    """A row that has values."""

    frequency: Frequency
    start: int
    end: int
    last_update: int
    rule: SampleRule
    known: Known


def window(series: SampleSeries, first: int, last: int) -> tuple[list[int], list[Number]]:
    """Give the periods from first to last, and the value of each; None where there is none."""
    labels = [series.frequency.label(index) for index in range(first, last + 1)]
    made = _made(crc32(series.code.encode()), series, first, last)
    for place, index in enumerate(range(first, last + 1)):
        if index in series.known:
            made[place] = series.known[index]
        elif not series.start <= index <= series.end or _is_missing(series, index, labels[place]):
            made[place] = None
        elif series.rule.half and index % 2:
            made[place] = 0
    return labels, made


def _is_missing(series: SampleSeries, index: int, label: int) -> bool:
    if series.frequency is FREQUENCIES["D"]:
        return index % 7 in WEEKEND or label % 10_000 in HOLIDAYS
    return bool(series.rule.gap) and index % series.rule.gap == 0


def _made(seed: int, series: SampleSeries, first: int, last: int) -> list[Number]:
    """Make values by rule: knots at random about the line, straight from one to the next, a little noise on top."""
    rule = series.rule
    unit = 10**rule.decimals
    low, high = (round(level * unit) for level in rule.line)
    length, swing = max(1, series.end - series.start), round(rule.swing * 1000)
    knot = KNOT_DAYS if series.frequency is FREQUENCIES["D"] else KNOT
    made: list[Number] = []
    for index in range(first, last + 1):
        if index % knot == 0 or not made:
            left, right = (_knot(seed, index // knot + place) for place in (0, 1))
        stray = left + (right - left) * (index % knot) // knot
        noise = (index * 2_654_435_761 + seed >> 9 & 0xFFF) - 0x800
        level = low + (high - low) * (index - series.start) // length
        value = level + level * swing * (stray + noise) // (REACH * 1000)
        made.append(value / unit if rule.decimals else value)
    return made


def _knot(seed: int, place: int) -> int:
    """Give a number that is always the same from -REACH to REACH."""
    return (crc32(b"%d" % place, seed) * (2 * REACH + 1) >> 32) - REACH
