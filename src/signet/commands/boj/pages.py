"""One page after another of the Bank of Japan's answers, each by the one road, and what is kept of them."""

from __future__ import annotations

import re
from typing import Final

import msgspec
from msgspec import Raw, Struct

from signet.kernel.errors import Code, Fault
from signet.kernel.outcome import Call, Outcome
from signet.kernel.server import QUIET_CONTEXT, Server
from signet.toolsets.boj.models import Point

from .series_query import SeriesQuery

__all__ = ["FetchedSeries", "SeriesPage", "is_number", "points_of", "read_page"]

NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")


class FetchedSeries(Struct, frozen=True, gc=False):
    """What is kept of a series; what changes from one asking to the next is not."""

    series_code: str
    name: str | None
    unit: str | None
    frequency: str | None
    points: Raw
    """The list of its observations as JSON."""


class SeriesPage(Struct, frozen=True):
    """What one request gave: from which position, and where the next one starts if there is more."""

    start: int
    next: int | None
    series: list[FetchedSeries]


class _Told(Struct, gc=False):
    """A series as the tools give it."""

    series_code: str
    name_of_time_series_j: str | None
    name_of_time_series: str | None
    unit_j: str | None
    unit: str | None
    frequency: str | None
    points: Raw


class _Answer(Struct):
    next_position: int | None
    series: list[_Told]


_answers: Final = msgspec.json.Decoder(_Answer)
_points: Final = msgspec.json.Decoder(list[Point])


async def read_page(server: Server, question: SeriesQuery, position: int) -> SeriesPage:
    """Ask for the page that starts at a position.

    Raises:
        Fault: there is none, or it says to go on where it began.
    """
    pending = server.pipeline.run(Call(question.tool, question.at(position), QUIET_CONTEXT))
    outcome = pending if isinstance(pending, Outcome) else await pending
    if outcome.fault is not None:
        raise outcome.fault
    answer = _answers.decode(outcome.body)
    # Else the same pages would be asked for without end.
    if answer.next_position is not None and answer.next_position <= position:
        message = f"the Bank of Japan says to go on at position {answer.next_position}, which is not after {position}"
        raise Fault(Code.INTERNAL_ERROR, message)
    return SeriesPage(position, answer.next_position, [_kept(one, question.lang) for one in answer.series])


def points_of(series: FetchedSeries) -> list[Point]:
    """Give the observations of a series."""
    return _points.decode(series.points)


def is_number(text: str) -> bool:
    """Whether a value is a number as JSON writes it; the Bank's are."""
    return NUMBER.fullmatch(text) is not None


def _kept(told: _Told, lang: str) -> FetchedSeries:
    name, unit = (told.name_of_time_series, told.unit) if lang == "en" else (told.name_of_time_series_j, told.unit_j)
    return FetchedSeries(told.series_code, name, unit, told.frequency, told.points)
