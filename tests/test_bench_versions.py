"""Two checkouts beside each other: what the tables say, and that a count is one of calls and not of the start."""

from __future__ import annotations

from collections.abc import Iterator

from bench.checkouts import ROADS, Checkout
from bench.contenders import ROOT
from bench.instructions import Count, table
from bench.load import last_event
from bench.versions import Paired, ratios_of
from bench.versions import table as table_of_windows

CHECKOUT = Checkout("new", ROOT)


def test_a_row_above_the_goal_is_marked() -> None:
    counts = [Count("stdio", 1_000, 1_030), Count("REST", 1_000, 1_031)]

    assert table(counts).splitlines()[2:] == [
        "| stdio | 1,000 | 1,030 | 1.0300 |",
        "| REST | 1,000 | 1,031 | 1.0310 above 1.03 |",
    ]


def test_a_row_is_slower_if_its_whole_interquartile_range_lies_below_the_goal() -> None:
    rows = [Paired("stdio", [0.9, 0.9, 0.9, 0.9, 1.0]), Paired("REST", [0.9, 0.9, 0.9, 0.98, 1.0])]

    assert [row.is_slower for row in rows] == [True, False]
    assert table_of_windows(rows).splitlines()[2:] == [
        "| stdio | 0.900 | 0.900 to 0.900 **below 0.97** |",
        "| REST | 0.900 | 0.900 to 0.980 |",
    ]


def test_windows_come_in_turns_and_each_pair_gives_one_ratio() -> None:
    seen: list[str] = []
    values: Iterator[float] = iter(range(1, 100))

    def window(name: str) -> float:
        seen.append(name)
        return next(values)

    ratios = ratios_of(lambda: window("old"), lambda: window("new"), 3)

    assert seen[6:] == ["old", "new", "new", "old", "old", "new"]
    assert ratios == [8 / 7, 9 / 10, 12 / 11]


def test_each_road_is_served_by_the_checkout_it_is_measured_in() -> None:
    servers = [road.server(CHECKOUT) for road in ROADS]

    assert {(*server.stdio, *server.http)[:3] for server in servers} == {(CHECKOUT.python, "-m", "signet")}
    assert [bool(server.http) for server in servers] == [bool(road.path) for road in ROADS]


def test_the_answer_of_a_session_is_the_last_event_of_its_stream() -> None:
    stream = b'id: 1\r\ndata: \r\n\r\nid: 2\r\nevent: message\r\ndata: {"id":1}\r\n\r\n'

    assert last_event(stream) == b'{"id":1}'
