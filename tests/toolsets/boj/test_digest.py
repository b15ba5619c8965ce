"""The digest of a large result of the Bank of Japan: readable, bounded, and with the way to the rest."""

from __future__ import annotations

from typing import Any

import pytest

from signet.toolsets.boj.digest import data_digest, metadata_digest, next_page

MAX_CHARS = 8_000
NAMES = ("series_code", "name_of_time_series_j", "name_of_time_series", "unit_j", "unit", "frequency")


def series(code: str, count: int, **fields: Any) -> dict[str, Any]:
    names = {"name_of_time_series": f"Name of {code}", "unit": "Yen", "frequency": "DAILY", **fields}
    points = [{"survey_date": str(19_000_000 + number), "value": f"{number}.5"} for number in range(count)]
    return {**dict.fromkeys(NAMES), "series_code": code, **names, "points": points}


def data(*rows: dict[str, Any], next_position: int | None = None, **more: Any) -> dict[str, Any]:
    return {"parameter": {"db": "FM08"}, "next_position": next_position, "series": list(rows), **more}


def entry(code: str | None, *layers: int, **fields: Any) -> dict[str, Any]:
    spans = {"start_of_the_time_series": "199801", "end_of_the_time_series": "202601"} if code else {}
    named = {f"layer{level}": layer for level, layer in zip(range(1, 6), (*layers, 0, 0, 0, 0, 0), strict=False)}
    names = {"name_of_time_series": f"Name of {code}", "unit": "Yen", "frequency": "MONTHLY"} if code else {}
    empty = dict.fromkeys((*NAMES, "start_of_the_time_series", "end_of_the_time_series"))
    return {**empty, "series_code": code, **names, **spans, **named, **fields}


def test_a_series_is_shown_with_its_first_and_last_points() -> None:
    lines = data_digest(data(series("FXERD01", 13_000))).split("\n")

    digest = "This text is a digest: the whole of the data is in structuredContent."
    first, last = "19000000 = 0.5, 19000001 = 1.5, 19000002 = 2.5", "19012997 = 12997.5, 19012998 = 12998.5, 19012999"
    assert lines[:-1] == [
        f"1 series of the database FM08, 13,000 points. {digest}",
        "",
        "FXERD01 Name of FXERD01 [Yen, DAILY] 13,000 points",
        f"  {first}, … {last} = 12999.5",
        "",
    ]
    assert all(argument in lines[-1] for argument in ("start_date", "end_date", "codes", "layers", "start_position"))


def test_a_short_series_is_shown_whole_and_an_empty_one_by_its_name() -> None:
    missing = series("C", 1)
    missing["points"][0]["value"] = None

    text = data_digest(data(series("A", 0), series("B", 6), missing))

    assert "A Name of A [Yen, DAILY] 0 points\nB Name of B [Yen, DAILY] 6 points\n  19000000 = 0.5, " in text
    assert "19000002 = 2.5, 19000003 = 3.5" in text
    assert "C Name of C [Yen, DAILY] 1 point\n  19000000 = no value\n" in text


def test_a_japanese_name_stands_in_for_an_english_one() -> None:
    text = data_digest(
        data(series("A", 1, name_of_time_series=None, name_of_time_series_j="為替", unit=None, unit_j="円"))
    )

    assert "A 為替 [円, DAILY] 1 point" in text


@pytest.mark.parametrize("count", [2, 13, 250, 100_000])
@pytest.mark.parametrize("letters", [10, 10_000])
def test_however_many_series_there_are_the_first_and_the_last_are_shown(count: int, letters: int) -> None:
    rows = [series(f"C{number}", 10, name_of_time_series="N" * letters) for number in range(min(count, 250))]
    rows += [rows[-1]] * (count - len(rows))

    text = data_digest(data(*rows, next_position=count + 1, raw=""))

    shown = text.count(" points\n  ")
    left_out = f"… {count - shown:,} more …" in text
    assert len(text) <= MAX_CHARS
    assert "\nC0 N" in text
    assert f"\n{rows[-1]['series_code']} N" in text
    assert shown == count or left_out
    assert f"There is more: call again with start_position={count + 1}." in text
    assert "Without include_raw" in text


def test_hostile_texts_do_not_make_it_longer() -> None:
    long = "x" * 100_000
    row = series(long, 10, name_of_time_series=long, unit=long, frequency=long)
    row["points"] = [{"survey_date": long, "value": long}] * 10
    heading = entry(None, 1, name_of_time_series=long)

    assert len(data_digest({**data(*[row] * 50), "parameter": {"db": long}})) <= MAX_CHARS
    assert len(metadata_digest({"db": long, "entries": [heading] * 500})) <= MAX_CHARS


def test_a_list_is_shown_by_its_first_and_last_entries() -> None:
    rows = [entry(None, 1, name_of_time_series="Rates"), *(entry(f"S{n}", 1, n) for n in range(1, 2_000))]

    text = metadata_digest({"db": "FM08", "entries": rows})
    lines = text.split("\n")

    assert lines[0].startswith("2,000 entries in the database FM08. This text is a digest")
    assert lines[2:4] == [
        "Rates (heading; layers 1)",
        "S1 Name of S1 [Yen, MONTHLY] 199801 to 202601, layers 1,1",
    ]
    assert "S1999 Name of S1999 [Yen, MONTHLY] 199801 to 202601, layers 1,1999" in lines
    assert f"… {2_000 - (len(lines) - 5):,} more …" in lines
    assert "boj_get_data_layer" in lines[-1]
    assert len(text) <= MAX_CHARS


def test_the_next_page_is_told_in_words() -> None:
    assert next_page({"next_position": 251}) == "There is more: call again with start_position=251."
    assert next_page({"next_position": None}) == next_page({"db": "FM08", "entries": []}) == ""
