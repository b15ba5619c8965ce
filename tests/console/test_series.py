"""Results as charts take them: the Bank's series by frequency, their gaps and units, and the series of other tools."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from processes import Server
from signet.console.series import MAX_POINTS, MAX_SERIES, SeriesView
from signet.console.views import series_view

HOSTILE = "<img src=x onerror=alert(1)>\u202e\u200b=HYPERLINK()"


def call(server: Server, tool: str, **arguments: Any) -> Any:
    reply = server.post(f"/api/tools/{tool}", arguments)
    assert reply.status == 200, reply.body
    return reply.json()["result"]


def view_of(tool: str, result: Any) -> SeriesView:
    view = series_view(tool, result)
    assert view is not None
    return view


def dated(view: SeriesView, number: int = 0) -> dict[str, float | None]:
    """Return the points of a series by the day on which their period starts."""
    return {f"{datetime.fromtimestamp(at / 1000, UTC):%Y-%m-%d}": value for at, value in view.series[number].points}


def page(*series: dict[str, Any]) -> dict[str, Any]:
    """Return a result of `boj_get_data_code` with some series."""
    facts = {"name_of_time_series_j": None, "unit_j": None, "name_of_time_series": "N", "unit": "yen"}
    return {"parameter": {"db": "X1", "lang": "EN"}, "series": [{"series_code": "A", **facts, **one} for one in series]}


def series_of(frequency: str, values: dict[str, str | None]) -> dict[str, Any]:
    points = [{"survey_date": label, "value": value} for label, value in values.items()]
    return {"frequency": frequency, "points": points}


def test_a_page_of_the_bank_is_a_chart_without_its_weekends(server: Server) -> None:
    result = call(
        server, "boj_get_data_code", db="FM08", codes=["FXERD01"], lang="en", start_date="202609", end_date="202609"
    )
    sent = {point["survey_date"]: point["value"] for point in result["series"][0]["points"]}

    view = view_of("boj_get_data_code", result)

    (series,) = view.series
    assert (view.title, series.code, series.unit) == (
        "FM08 Foreign Exchange Rates", "FXERD01", "Yen per U.S. Dollar",
    )  # fmt: skip
    assert (series.frequency, view.note) == ("D", "")
    assert sent["20260905"] is None
    assert "2026-09-05" not in dated(view)
    assert dated(view)["2026-09-04"] == float(sent["20260904"])
    assert len(series.points) == 22


@pytest.mark.parametrize(
    ("code", "frequency", "first", "days"),
    [
        ("IR01:MADR1M", "M", "1990-01-01", ["1990-01-01", "1990-02-01", "1990-03-01"]),
        ("CO:TK99F1000601GCQ01000", "Q", "1990-01-01", ["1990-01-01", "1990-04-01", "1990-07-01"]),
        ("IR02:SAMPLE_IR02_W11", "W", "2010-01-01", ["2010-01-04", "2010-01-11", "2010-01-18"]),
    ],
)
def test_series_of_every_frequency_start_where_their_periods_do(
    server: Server, code: str, frequency: str, first: str, days: list[str]
) -> None:
    result = call(server, "boj_get_series", codes=[code], start=first)

    view = view_of("boj_get_series", result)

    assert view.series[0].frequency == frequency
    assert list(dated(view))[:3] == days
    drawn = {day: None if value is None else float(value) for day, value in zip(*_columns(result), strict=True)}
    assert dated(view) == drawn


def _columns(result: Any) -> tuple[list[str], list[str | None]]:
    (series,) = result["series"]
    return series["dates"], series["values"]


@pytest.mark.parametrize(
    ("frequency", "values", "points"),
    [
        ("MONTHLY", {"202401": "1", "202404": "0"}, {
            "2024-01-01": 1, "2024-02-01": None, "2024-03-01": None, "2024-04-01": 0,
        }),
        ("QUARTERLY", {"202304": "1", "202402": "-2.5"}, {"2023-10-01": 1, "2024-01-01": None, "2024-04-01": -2.5}),
        ("SEMIANNUAL(SEP)", {"202401": "1", "202501": "2"}, {"2024-04-01": 1, "2024-10-01": None, "2025-04-01": 2}),
        ("ANNUAL(MAR)", {"2023": "1", "2025": "3"}, {"2022-04-01": 1, "2023-04-01": None, "2024-04-01": 3}),
        ("WEEKLY(FRIDAY)", {"20240105": "1", "20240119": "2"}, {"2024-01-05": 1, "2024-01-12": None, "2024-01-19": 2}),
        ("DAILY", {"20240105": "1", "20240106": None, "20240108": None, "20240111": "2"}, {
            "2024-01-05": 1, "2024-01-08": None, "2024-01-11": 2,
        }),
    ],
    ids=["month", "quarter", "fiscal half", "fiscal year", "week", "day"],
)  # fmt: skip
def test_a_period_that_is_not_there_is_a_gap(
    frequency: str, values: dict[str, str | None], points: dict[str, float | None]
) -> None:
    """A weekend of a daily series is none, and a day without a row is not known to be one."""
    assert dated(view_of("boj_get_data_code", page(series_of(frequency, values)))) == points


def test_what_cannot_be_drawn_is_told() -> None:
    good = series_of("MONTHLY", {"202401": "1", "202402": "1e999", "202403": "n.a."})
    result = page(good, series_of("HOURLY", {"1": "1"}), series_of("MONTHLY", {"202413": "1"}))

    view = view_of("boj_get_data_layer", result)

    assert [series.points[1:] for series in view.series] == [[(1706745600000, None), (1709251200000, None)]]
    assert "2 series" in view.note
    assert "2 values" in view.note


def test_a_distant_period_costs_no_more_than_the_limit() -> None:
    far = series_of("WEEKLY(MONDAY)", {"00010101": "1", "99991227": "2"})
    near = series_of("MONTHLY", {"202401": "1", "202402": "2"})

    view = view_of("boj_get_data_code", page(far, near))

    assert [len(series.points) for series in view.series] == [3, 2]


def test_series_and_points_beyond_the_limits_are_counted_in_the_note() -> None:
    times = [f"{datetime.fromtimestamp(minute * 60, UTC):%Y-%m-%dT%H:%M:%SZ}" for minute in range(10_000)]
    one = {"dates": times, "values": list(range(10_000))}

    view = view_of("own", {"series": [{"name": f"{number}", **one} for number in range(30)]})

    assert len(view.series) == MAX_SERIES
    assert sum(len(series.points) for series in view.series) == MAX_POINTS
    assert "24 of 30 series" in view.note
    assert "40,000 points" in view.note


def test_hostile_names_stay_the_texts_that_they_are() -> None:
    odd = {**series_of("MONTHLY", {"202401": "1"}), "name_of_time_series": HOSTILE, "unit": HOSTILE}

    view = view_of("boj_get_data_code", page(odd))

    assert (view.series[0].name, view.series[0].unit) == (HOSTILE, HOSTILE)


def test_a_view_is_written_as_the_page_reads_it() -> None:
    view = view_of("boj_get_data_code", page(series_of("MONTHLY", {"202401": "1.5", "202403": "2"})))

    assert msgspec.json.decode(msgspec.json.encode(view)) == {
        "kind": "series",
        "title": "X1",
        "note": "",
        "series": [
            {
                "code": "A", "name": "N", "unit": "yen", "frequency": "M",
                "points": [[1704067200000, 1.5], [1706745600000, None], [1709251200000, 2.0]],
            }
        ],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("result", "names", "first"),
    [
        ([{"day": "2024-01-01", "a": 1, "b": 2.5}, {"day": "2024-01-02", "a": None, "b": 3}], ["a", "b"],
         1704067200000),
        ({"rows": [{"at": "2024-01-01T10:00:00Z", "a": 1}, {"at": "2024-01-01T11:00:00Z", "a": 2}], "n": 2}, ["a"],
         1704103200000),
        ({"dates": ["2024-01", "2024-02"], "values": [1, None], "name": "x"}, ["x"], 1704067200000),
        ({"series": [{"dates": ["2024-01-01", "2024-01-02"], "values": [1, 2], "name": "x"}]}, ["x"], 1704067200000),
    ],
    ids=["rows", "rows in an object", "columns", "several columns"],
)  # fmt: skip
def test_unmistakable_series_of_other_tools_are_charts(result: Any, names: list[str], first: int) -> None:
    view = view_of("own", result)

    assert [series.name for series in view.series] == names
    assert view.series[0].points[0] == (first, 1.0)


@pytest.mark.parametrize(
    "result",
    [
        None, 7, "2024-01-01", [], {}, [1, 2], {"rows": []},
        [{"day": "2024-01-01", "a": 1}],
        [{"day": "2024-01-01", "a": 1}, {"day": "2024-01-02"}],
        [{"day": "2024-01-02", "a": 1}, {"day": "2024-01-01", "a": 2}],
        [{"day": "2024-01-01", "a": True}, {"day": "2024-01-02", "a": False}],
        [{"day": "2024-01-01", "a": 1, "who": "x"}, {"day": "2024-01-02", "a": 2, "who": "y"}],
        [{"day": "2024-13-01", "a": 1}, {"day": "2024-13-02", "a": 2}],
        [{"day": "20240101", "a": 1}, {"day": "20240102", "a": 2}],
        [{"day": "2024-01-01", "a": None}, {"day": "2024-01-02", "a": None}],
        {"dates": ["2024-01-01", "2024-01-02"], "values": [1]},
        {"dates": ["2024-01-01", "2024-01-02"], "values": ["1", "2"]},
        {"rows": [{"day": "2024-01-01", "a": 1}, {"day": "2024-01-02", "a": 2}], "others": []},
        {"dates": "2024", "values": {}},
    ],
    ids=str,
)  # fmt: skip
def test_anything_else_is_no_series(result: Any) -> None:
    assert series_view("own", result) is None
    assert series_view("boj_get_series", result) is None


def test_results_of_the_bank_that_hold_no_series_are_none(server: Server) -> None:
    assert series_view("boj_search", call(server, "boj_search", query="dollar", db="FM08")) is None
    assert series_view("boj_get_data_code", page(series_of("MONTHLY", {"202401": None}))) is None
