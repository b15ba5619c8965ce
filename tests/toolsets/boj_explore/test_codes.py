"""Codes as people write them, and what they are told of those that nobody knows."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from signet.kernel.errors import Fault
from signet.kernel.server import QUIET_CONTEXT
from signet.kernel.tools import Context
from signet.kernel.upstream import UpstreamRequest, UpstreamResponse
from signet.kernel.waiting import Waiting
from signet.toolsets.boj_explore.codes import (
    FoundCode,
    WantedSeries,
    build_index,
    closest_in,
    closest_text,
    locate,
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


DOLLAR, CALL = indexed("FM08", "FXERD01"), indexed("FM01", "STRDCLUCON", "Call rate")


class PlayedIndex:
    """Notes what it is asked; what it has been built for so far is what it finds."""

    has_token = False
    origin = "played"

    def __init__(self, *states: dict[str, Any], found: tuple[FoundCode, ...] = (), later: bool = False) -> None:
        self.asked: list[str] = []
        self._states = list(states)
        self._found = {one.code: one for one in found}
        self._is_there = not later

    async def send(self, request: UpstreamRequest, _: Waiting | None = None) -> UpstreamResponse:
        self.asked.append(request.target.removeprefix("/_index/"))
        action, _, query = self.asked[-1].partition("?")
        if action == "build":
            self._is_there = True
            return UpstreamResponse(200, "", msgspec.json.encode(self._states.pop(0) if self._states else state()))
        codes = query.partition("&")[0].removeprefix("codes=").split("%2C")
        found = [self._found[code] if self._is_there else FoundCode(code, [], []) for code in codes]
        return UpstreamResponse(200, "", msgspec.json.encode({"codes": found, "known": [], "trouble": ""}))

    def context(self, told: list[tuple[Any, ...]] | None = None) -> Context:
        progress = (lambda *report: told.append(report)) if told is not None else QUIET_CONTEXT.progress
        return msgspec.structs.replace(QUIET_CONTEXT, upstream=self, progress=progress)


def state(*missing: str, running: bool = False, databases: int = 50) -> dict[str, Any]:
    return {"databases": databases, "series": 1, "built_at": None, "missing": list(missing), "trouble": "",
            "running": running, "total": 50}  # fmt: skip


BUILD = "build?q=yen&wait_ms=2000"
FILLING = state("CO", "FF", running=True, databases=48)


@pytest.mark.parametrize(
    ("states", "waited"),
    [
        ([state()], []),
        ([state(running=True)], []),
        ([state("CO", running=False)], []),
        ([FILLING, state("CO", running=True, databases=49), state()], [48, 49]),
    ],
    ids=["filled", "filled and running", "stopped", "in three steps"],
)
def test_the_index_is_waited_for_until_it_is_filled_or_stops(states: list[dict[str, Any]], waited: list[int]) -> None:
    told: list[tuple[Any, ...]] = []
    index = PlayedIndex(*states)

    found = asyncio.run(build_index(index.context(told), "yen"))

    assert msgspec.to_builtins(found) == states[-1]
    assert index.asked == [BUILD] * len(states)
    assert told == [(number, 50, f"{number} of 50 databases are indexed") for number in waited]


def test_an_index_that_takes_long_is_waited_for_in_ten_steps() -> None:
    told: list[tuple[Any, ...]] = []
    index = PlayedIndex(*[FILLING] * 11)

    found = asyncio.run(build_index(index.context(told), "yen"))

    assert found.missing == ["CO", "FF"]
    assert index.asked == [BUILD] * 10
    assert told == [(48, 50, "48 of 50 databases are indexed")] * 10


@pytest.mark.parametrize(("db", "asked"), [("FM08", 1), ("CO", 2), ("XX", 2)])
def test_a_database_that_is_named_is_all_that_is_waited_for(db: str, asked: int) -> None:
    index = PlayedIndex(FILLING, state())

    asyncio.run(build_index(index.context(), "yen", db))

    assert index.asked == [f"build?q=yen&db={db}&wait_ms=2000"] * asked


@pytest.mark.parametrize(
    ("db", "built"),
    [("FM08", ["build?db=FM08&only=1&wait_ms=4000"]), ("PR01", []), ("XX", [])],
    ids=["one of fifty", "one of the largest", "none of the Bank's"],
)
def test_the_closest_codes_wait_for_the_list_of_a_database_unless_it_is_large(db: str, built: list[str]) -> None:
    index = PlayedIndex(found=(FoundCode("FXERD1", [], [DOLLAR]),))

    closest = asyncio.run(closest_in(index.send, WantedSeries(db, "FXERD1")))

    assert closest == [DOLLAR]
    assert index.asked == [*built, f"find?codes=FXERD1&db={db}"]


def test_codes_of_named_databases_are_looked_up_there_alone() -> None:
    index = PlayedIndex(found=(FoundCode("fxerd01", [DOLLAR], []), FoundCode("NEW", [], [])))

    found = asyncio.run(
        locate(index.context(), [("FM08", "fxerd01"), ("FM08", "NEW"), ("FM08", "fxerd01")], needs_frequency=False)
    )

    known = WantedSeries("FM08", "FXERD01", DOLLAR)
    assert found == [known, WantedSeries("FM08", "NEW"), known]
    assert index.asked == ["find?codes=fxerd01%2CNEW&db=FM08"]


def test_the_lists_that_tell_frequencies_share_twelve_seconds() -> None:
    names = ("FM08", "FM01", "PR01", "XX")
    index = PlayedIndex(found=(FoundCode("A", [], []),))

    asyncio.run(locate(index.context(), [(db, "A") for db in (*names, "FM08")], needs_frequency=True))

    assert index.asked == [
        "build?db=FM08&only=1&wait_ms=6000",
        "build?db=FM01&only=1&wait_ms=6000",
        *(f"find?codes=A&db={db}" for db in names),
    ]


def test_a_code_without_a_database_is_found_by_the_index() -> None:
    index = PlayedIndex(found=(FoundCode("FXERD01", [DOLLAR], []), FoundCode("STRDCLUCON", [CALL], [])))

    found = asyncio.run(locate(index.context(), [(None, "FXERD01"), ("FM01", "STRDCLUCON")], needs_frequency=False))

    assert found == [WantedSeries("FM08", "FXERD01", DOLLAR), WantedSeries("FM01", "STRDCLUCON", CALL)]
    assert index.asked == ["find?codes=FXERD01", "find?codes=FXERD01&db=FM08", "find?codes=STRDCLUCON&db=FM01"]


def test_the_index_is_filled_for_a_code_that_it_does_not_know_yet() -> None:
    index = PlayedIndex(found=(FoundCode("FXERD01", [DOLLAR], []),), later=True)

    found = asyncio.run(locate(index.context(), [(None, "FXERD01")], needs_frequency=False))

    assert found == [WantedSeries("FM08", "FXERD01", DOLLAR)]
    assert index.asked == [
        "find?codes=FXERD01",
        "build?q=FXERD01&wait_ms=2000",
        "find?codes=FXERD01",
        "find?codes=FXERD01&db=FM08",
    ]
