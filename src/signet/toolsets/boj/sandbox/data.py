"""Answers with the values of series; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from signet.sandbox.message import SandboxResponse

from .database import LEVELS
from .messages import DONE, NO_DATA
from .query import SampleQuery
from .response_format import LINE_END, ResponseFormat, csv_of, head_of, key_of, spoken
from .selection import SampleSelection
from .series import Number, SampleSeries

__all__ = ["echo_of", "told_data"]

MISSING: Final = "null"
"""How CSV writes a value that is not there."""

Told = tuple[SampleSeries, list[int], list[Number]]


def echo_of(query: SampleQuery, *, by_layer: bool) -> dict[str, str]:
    """Repeat the parameters: format and language in capitals, the rest as sent, empty for what was not sent."""
    echo = {"FORMAT": query.text("format").upper(), "LANG": query.text("lang").upper(), "DB": query.text("db")}
    if by_layer:
        levels = query.levels()
        echo |= {f"LAYER{n}": level for n, level in enumerate(levels + [""] * (LEVELS - len(levels)), 1)}
        echo["FREQUENCY"] = query.text("frequency")
    return echo | {name.upper(): query.text(name) for name in ("startDate", "endDate", "startPosition")}


def told_data(manner: ResponseFormat, echo: Mapping[str, str], page: SampleSelection) -> SandboxResponse:
    """Answer with a page, under the message that there is no data when every value is missing."""
    told = [(piece.series, *piece.window()) for piece in page.pieces]
    some = any(value is not None for _, _, values in told for value in values)
    head = head_of(DONE if some else NO_DATA, manner.lang, manner.date)
    if manner.format == "csv":
        return manner.response(_csv(manner.lang, head, echo, page, told).encode(manner.encoding))
    results = [
        {**_attributes(series, manner.lang), "VALUES": {"SURVEY_DATES": dates, "VALUES": values}}
        for series, dates, values in told
    ]
    whole = {**head, "PARAMETER": echo, "NEXTPOSITION": page.next_position, "RESULTSET": results}
    return manner.response(msgspec.json.encode(whole))


def _csv(lang: str, head: dict[str, Any], echo: Mapping[str, str], page: SampleSelection, told: Iterable[Told]) -> str:
    """Write a line for every value, and on each of them what its series is."""
    name, unit, category = (key_of(one, lang) for one in ("NAME_OF_TIME_SERIES", "UNIT", "CATEGORY"))
    columns = ("SERIES_CODE", name, unit, "FREQUENCY", category, "LAST_UPDATE", "SURVEY_DATES", "VALUES")
    parameters = [("PARAMETER", *item) for item in echo.items()]
    text = [csv_of([*head.items(), *parameters, ("NEXTPOSITION", page.next_position), columns])]
    for series, dates, values in told:
        opening = csv_of([_attributes(series, lang).values()]).removesuffix(LINE_END)
        shown = (MISSING if value is None else value for value in values)
        text += [f"{opening},{date},{value}{LINE_END}" for date, value in zip(dates, shown, strict=True)]
    return "".join(text)


def _attributes(series: SampleSeries, lang: str) -> dict[str, Any]:
    return {
        "SERIES_CODE": series.code,
        **spoken("NAME_OF_TIME_SERIES", series.names, lang),
        **spoken("UNIT", series.units, lang),
        "FREQUENCY": series.every,
        **spoken("CATEGORY", series.categories, lang),
        "LAST_UPDATE": series.last_update,
    }
