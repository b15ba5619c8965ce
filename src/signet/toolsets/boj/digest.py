"""The digest of a large result: what it holds, in a text that a model can read; and where its next page begins.

    FXERD01 US.Dollar/Yen Spot Rate [Yen per US Dollar, DAILY] 13,000 points
      19980105 = 131.13, 19980106 = 132.45, … 20261112 = 155.20, 20261113 = 154.98

Pure. Of a long list the first and the last entries are shown, so that the work does not grow with the list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice
from typing import Any, Final

from signet.system.text import fit

__all__ = ["data_digest", "metadata_digest", "next_page"]

MAX_LINES_CHARS: Final = 7_000
"""The longest list of series or entries; the rest of a digest takes less than 1,000 characters."""
TAIL_CHARS: Final = 1_500
"""The part of a list that is kept for its last entries."""
MAX_NAME_CHARS: Final = 120
MAX_FIELD_CHARS: Final = 40
FEW_SERIES: Final = 12
FEW_POINTS, MANY_POINTS = 1, 3
"""How many of the first points of a series are shown, and how many of the last: more where there are few series."""

IN_FULL: Final = "This text is a digest: the whole of the data is in structuredContent."
LESS_DATA: Final = (
    "To get less, give start_date and end_date, or ask for fewer codes or deeper layers; with start_position a query "
    "is read page by page."
)
LESS_METADATA: Final = (
    'To do without the list, read series by their place: boj_get_data_layer with frequency and layers, such as ["1"] '
    'or ["1", "2"]. lang=en leaves out the Japanese names.'
)
WITHOUT_RAW: Final = "Without include_raw the same comes without the Bank's own text."

Json = dict[str, Any]


def next_page(result: Json) -> str:
    """Return how to get the next page of observations; an empty text after the last one."""
    position = result.get("next_position")
    return "" if position is None else f"There is more: call again with start_position={position}."


def data_digest(result: Json) -> str:
    """Return a digest of observations: each series with its first and last points, as far as there is room."""
    series = result["series"]
    points = sum(len(one["points"]) for one in series)
    head = f"{_count(len(series), 'series', 'series')} of {_database(result['parameter'])}, {_points(points)}."
    ends = MANY_POINTS if len(series) <= FEW_SERIES else FEW_POINTS
    return _join(head, _shown(series, partial(_series_lines, ends)), next_page(result), LESS_DATA, result)


def metadata_digest(result: Json) -> str:
    """Return a digest of a list of series: its first and last entries."""
    entries = result["entries"]
    head = f"{_count(len(entries), 'entry', 'entries')} in the database {_field(result['db'])}."
    return _join(head, _shown(entries, _entry_line), "", LESS_METADATA, result)


def _join(head: str, lines: list[str], more: str, less: str, result: Json) -> str:
    advice = " ".join(filter(None, (more, less, WITHOUT_RAW if "raw" in result else "")))
    return "\n".join((f"{head} {IN_FULL}", "", *lines, "", advice))


def _shown(rows: Sequence[Json], write: Callable[[Json], str]) -> list[str]:
    """Return the lines of the first and the last rows that there is room for, and the number of those in between."""
    first, used = _fitting(rows, write, MAX_LINES_CHARS - TAIL_CHARS)
    rest = len(rows) - len(first)
    last, _ = _fitting(islice(reversed(rows), rest), write, MAX_LINES_CHARS - used)
    left_out = rest - len(last)
    gap = [f"… {left_out:,} more …"] if left_out else []
    return [*first, *gap, *reversed(last)]


def _fitting(rows: Iterable[Json], write: Callable[[Json], str], room: int) -> tuple[list[str], int]:
    """Return the lines of the rows from the first on that fit, and their length."""
    lines: list[str] = []
    used = 0
    for row in rows:
        line = write(row)
        if used + len(line) + 1 > room:
            break
        lines.append(line)
        used += len(line) + 1
    return lines, used


def _series_lines(ends: int, series: Json) -> str:
    points = series["points"]
    head = f"{_field(series['series_code'])} {_name(series)} {_points(len(points))}"
    if not points:
        return head
    parts = [points] if len(points) <= 2 * ends else [points[:ends], points[-ends:]]
    return f"{head}\n  " + ", … ".join(", ".join(map(_point, part)) for part in parts)


def _entry_line(entry: Json) -> str:
    # As boj_get_data_layer takes them: without the zeros below a heading.
    layers = [str(entry[f"layer{level}"]) for level in range(1, 6) if entry[f"layer{level}"]]
    place = f"layers {','.join(layers)}" if layers else ""
    if entry["series_code"] is None:
        return f"{_name(entry)} (heading; {place})"
    ends = (entry["start_of_the_time_series"], entry["end_of_the_time_series"])
    span = " to ".join(_field(end) for end in ends if end)
    return f"{_field(entry['series_code'])} {_name(entry)} {', '.join(filter(None, (span, place)))}"


def _name(row: Json) -> str:
    """Return the name, unit and frequency of a series, in English where there is English."""
    name = row["name_of_time_series"] or row["name_of_time_series_j"] or "(no name)"
    about = ", ".join(_field(text) for text in (row["unit"] or row["unit_j"], row["frequency"]) if text)
    return fit(name, MAX_NAME_CHARS) + (f" [{about}]" if about else "")


def _point(point: Json) -> str:
    return f"{_field(point['survey_date'])} = {_field(point['value'])}"


def _points(number: int) -> str:
    return _count(number, "point", "points")


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _database(parameter: Json) -> str:
    return f"the database {_field(parameter['db'])}" if parameter.get("db") else "the Bank of Japan"


def _field(text: str | None) -> str:
    return "no value" if text is None else fit(text, MAX_FIELD_CHARS)
