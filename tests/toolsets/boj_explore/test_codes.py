"""Codes as people write them, and what they are told of those that nobody knows."""

from __future__ import annotations

import pytest

from signet.kernel.errors import Fault
from signet.toolsets.boj_explore.codes import (
    FoundCode,
    WantedSeries,
    closest_text,
    read_code,
    unknown_code,
    unknown_database,
)
from signet.toolsets.boj_explore.codes import _single as single
from signet.toolsets.boj_explore.store import IndexedSeries


def indexed(db: str, code: str, name: str = "Dollar") -> IndexedSeries:
    return IndexedSeries(db, code, name, "ドル", "Yen", "円", "D", "", "1998", "2026", "", [1], [], [], current=True)


@pytest.mark.parametrize("mark", ["'", "’", "‘", "`", ":", "/", "：", " : "])  # noqa: RUF001 - people write these
def test_a_database_may_stand_before_a_code(mark: str) -> None:
    assert read_code(f"fm08{mark}FXERD01") == ("FM08", "FXERD01")


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("FXERD01", (None, "FXERD01")),
        (" FXERD01 ", (None, "FXERD01")),
        ("ＦＸＥＲＤ０１", (None, "FXERD01")),  # noqa: RUF001 - people write these
        ("fxerd01", (None, "fxerd01")),
        (":FXERD01", (None, ":FXERD01")),
        (" : FXERD01", (None, ": FXERD01")),
    ],
)
def test_a_code_may_stand_alone(text: str, read: tuple[str | None, str]) -> None:
    assert read_code(text) == read


def test_a_code_of_one_database_is_found() -> None:
    series = indexed("FM08", "FXERD01")

    assert single(FoundCode("fxerd01", [series], [])) == WantedSeries("FM08", "FXERD01", series)


def test_a_code_of_two_databases_needs_one() -> None:
    with pytest.raises(Fault) as caught:
        single(FoundCode("A", [indexed("FM08", "A"), indexed("IR01", "A")], []))

    assert caught.value.code == "INVALID_INPUT"
    assert caught.value.message == "A is a series of FM08 and IR01: write FM08:A, or give db"


@pytest.mark.parametrize(
    ("db", "closest", "told"),
    [
        ("FM08", [], "in the database FM08; boj_search finds codes by words"),
        (
            None,
            [],
            "in the databases that are indexed so far; give db, or find the series with boj_search",
        ),
        (
            "FM08",
            [indexed("FM08", "A"), indexed("FM08", "B", "")],
            "in the database FM08; did you mean FM08:A (Dollar) or FM08:B (ドル)?",
        ),
    ],
)
def test_a_code_that_nobody_knows_is_told_with_the_closest(
    db: str | None, closest: list[IndexedSeries], told: str
) -> None:
    fault = unknown_code("X", db, closest)

    assert fault.code == "NOT_FOUND"
    assert fault.message == f"there is no series 'X' {told}"


def test_a_code_of_nowhere_is_told_by_the_index() -> None:
    with pytest.raises(Fault, match=r"^there is no series 'X' in the databases that are indexed so far; did you mean"):
        single(FoundCode("X", [], [indexed("FM08", "A")]))


@pytest.mark.parametrize(("chars", "shown"), [(64, 64), (65, 64)])
def test_a_long_code_or_database_is_cut(chars: int, shown: int) -> None:
    assert f"no series '{'x' * shown}' in" in unknown_code("x" * chars, None, []).message
    assert f"no database '{'x' * shown}';" in unknown_database("x" * chars).message


def test_nothing_is_close_to_nothing() -> None:
    assert closest_text([]) == ""


def test_a_database_that_the_bank_does_not_have_is_told_with_those_alike() -> None:
    near, far = unknown_database("FM80"), unknown_database("XXXX")

    assert (near.code, far.code) == ("NOT_FOUND", "NOT_FOUND")
    assert near.message.startswith("there is no database 'FM80'; did you mean FM0")
    assert near.message.endswith("? boj_list_databases lists all 50")
    assert far.message == "there is no database 'XXXX'; boj_list_databases lists all 50"
