"""What a download holds, in words: the periods, how they are written, the units, the language of the names. Pure."""

from __future__ import annotations

from typing import Final

from signet.kernel.errors import Fault
from signet.system.advice import advise

from .chart import scale_of
from .series_query import FetchedSeries

__all__ = ["Extent", "language_note", "no_values"]

SHOWN_UNITS: Final = 3
"""The number of units that are named; a download by layers may have hundreds."""

SHAPES: Final = {0: "YYYYMMDD", 1: "YYYY", 2: "YYYY and 01 or 02", 4: "YYYY and 01 to 04", 12: "YYYYMM"}
"""How the Bank writes a period, by the number of periods in a year; 0 stands for days and weeks."""


def no_values(db: str) -> str:
    """Return the sentence for a span without values, with the command that lists where each series starts and ends."""
    command = advise("boj.list", arguments=[f"db={db}", "lang=en"])
    return f"there is no value in the span asked for; `{command}` tells where each series starts and ends"


def language_note(lang: str) -> str:
    """Return the language of names and units, and the flag for the other one."""
    if lang == "en":
        return "names and units in English (--lang jp: in Japanese)"
    return "names and units in Japanese (--lang en: in English)"


class Extent:
    """The periods and units of the series that were added; its size does not grow with their number."""

    def __init__(self) -> None:
        self._frequencies: dict[str, None] = {}
        self._units: dict[str, None] = {}
        self._more_units = False
        self._first: str | None = None
        self._last: str | None = None

    def add(self, series: FetchedSeries) -> int:
        """Add a series; return the number of its observations."""
        dates = [point.survey_date for point in series.observations()]
        self.note(series.frequency, series.unit, dates)
        return len(dates)

    def note(self, frequency: str | None, unit: str | None, dates: list[str]) -> None:
        """Add the frequency, the unit and the periods of a series."""
        if dates:
            self._first = min(dates) if self._first is None else min(self._first, *dates)
            self._last = max(dates) if self._last is None else max(self._last, *dates)
            # A frequency is one of fifteen words.
            self._frequencies.setdefault((frequency or "")[:50])
        if unit and unit not in self._units:
            if len(self._units) < SHOWN_UNITS:
                self._units[unit] = None
            else:
                self._more_units = True

    def describe(self, db: str, lang: str) -> str:
        """Return one sentence on the periods and units; without an observation, the way to find some."""
        if self._first is None:
            return no_values(db)
        frequency = ", ".join(filter(None, self._frequencies)) or "of no frequency"
        parts = [f"periods from {self._first} to {self._last} ({frequency}{self._shape()})"]
        if self._units:
            units = "; ".join(self._units) + ("; …" if self._more_units else "")
            parts.append(f"unit: {units}")
        return ", ".join([*parts, language_note(lang)])

    def _shape(self) -> str:
        """Return how the periods are written, where all are written alike."""
        try:
            shapes = {SHAPES[scale_of(name).parts] for name in self._frequencies}
        except Fault:
            return ""
        return f", written {shapes.pop()}" if len(shapes) == 1 else ""
