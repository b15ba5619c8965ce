"""Time series in the results of any tool, where they are unmistakable; pure.

[{"date": "2024-01-01", "price": 1.5, "volume": 10}, …]      rows: one date, and nothing else but numbers
{"rows": [{…}, …], "title": "…"}                             one list of such rows, beside plain facts
{"dates": ["2024-01-01", …], "values": [1.5, null, …]}       columns, with a name, a code and a unit if they are there
{"series": [{"dates": […], "values": […]}, …]}               several of them
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, Final

from .series import SeriesPoint, SeriesView, ViewedSeries, drawable

__all__ = ["read_dated"]

MOMENT: Final = re.compile(
    r"\d{4}-\d\d(?:-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:?\d\d)?)?)?", re.ASCII
)
MONTH_LENGTH: Final = len("2024-01")
MIN_POINTS: Final = 2
PLAIN: Final = (str, int, float, bool, type(None))


def read_dated(tool: str, result: Any) -> SeriesView | None:
    """Return the chart of a tool's result; None unless it is unmistakably one."""
    if isinstance(result, list):
        series = _of_rows(result)
    elif isinstance(result, dict):
        series = _of_object(result)
    else:
        series = None
    return SeriesView(_text(result, "title", "name") or tool, series) if series else None


def _of_object(result: dict[str, Any]) -> list[ViewedSeries] | None:
    if "dates" in result and "values" in result:
        return _all_columns([result])
    lists = [value for value in result.values() if not isinstance(value, PLAIN)]
    if len(lists) != 1 or not isinstance(lists[0], list):
        return None
    if lists[0] and isinstance(lists[0][0], dict) and "dates" in lists[0][0]:
        return _all_columns(lists[0])
    return _of_rows(lists[0])


def _all_columns(found: list[Any]) -> list[ViewedSeries] | None:
    series = [_of_columns(one) for one in found]
    return None if None in series else [one for one in series if one is not None]


def _of_columns(one: Any) -> ViewedSeries | None:
    if not isinstance(one, dict) or not isinstance(one.get("dates"), list) or not isinstance(one.get("values"), list):
        return None
    dates, values = one["dates"], one["values"]
    if len(dates) != len(values) or not _are_numbers(values):
        return None
    times = _times(dates)
    if times is None:
        return None
    name = _text(one, "name", "title", "label") or "values"
    return ViewedSeries(name, _points(times, values), _text(one, "code", "id"), _text(one, "unit"), _frequency(dates))


def _of_rows(rows: list[Any]) -> list[ViewedSeries] | None:
    """Return a series for each field of numbers, if all rows have the same fields, of which one is a date."""
    if len(rows) < MIN_POINTS or not isinstance(rows[0], dict):
        return None
    fields = rows[0].keys()
    dated = [name for name, value in rows[0].items() if isinstance(value, str)]
    if len(dated) != 1 or not all(isinstance(row, dict) and row.keys() == fields for row in rows):
        return None
    dates = [row[dated[0]] for row in rows]
    times = _times(dates)
    columns = {name: [row[name] for row in rows] for name in fields if name != dated[0]}
    if times is None or not columns or not all(_are_numbers(values) for values in columns.values()):
        return None
    return [ViewedSeries(name, _points(times, values), frequency=_frequency(dates)) for name, values in columns.items()]


def _times(dates: list[Any]) -> list[int] | None:
    """Return dates as milliseconds; None unless all are dates of one form, each later than the one before."""
    if len(dates) < MIN_POINTS:
        return None
    times = []
    for text in dates:
        if not isinstance(text, str) or len(text) != len(dates[0]) or MOMENT.fullmatch(text) is None:
            return None
        try:
            moment = datetime.fromisoformat(text + "-01" if len(text) == MONTH_LENGTH else text)
            times.append(round(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() * 1000))
        except (ValueError, OverflowError):
            return None
    return times if all(one < other for one, other in pairwise(times)) else None


def _are_numbers(values: list[Any]) -> bool:
    """Return True for numbers and nulls, of which at least one is a number."""
    kinds = {type(value) for value in values}
    return bool(kinds & {int, float}) and kinds <= {int, float, type(None)}


def _points(times: list[int], values: list[Any]) -> list[SeriesPoint]:
    return [(at, None if value is None else drawable(value)) for at, value in zip(times, values, strict=True)]


def _frequency(dates: list[str]) -> str:
    return "M" if len(dates[0]) == MONTH_LENGTH else ""


def _text(value: Any, *names: str) -> str:
    """Return the first of some fields that is a text."""
    found = [value[name] for name in names if isinstance(value.get(name), str)] if isinstance(value, dict) else []
    return found[0] if found else ""
