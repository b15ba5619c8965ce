"""A line before one scarce thing: first come within a holder, the one with least among the holders."""

from __future__ import annotations

from signet.kernel.line import Line
from signet.kernel.shares import Shares


def test_of_one_holder_who_came_first_is_next() -> None:
    line: Line[int] = Line(Shares("things", 3))
    for number in range(5):
        line.add("", number)

    assert [line.next() for _ in range(4)] == [0, 1, 2, None]
    line.give_back("")
    assert [line.next(), line.next()] == [3, None]
    assert (line.count, line.held) == (1, 3)


def test_of_several_holders_the_one_that_has_least_is_next_and_then_they_take_turns() -> None:
    line: Line[str] = Line(Shares("things", 6), reserves=False)
    for number in range(4):
        line.add("a", f"a{number}")
    given = [line.next(), line.next()]
    for number in range(3):
        line.add("b", f"b{number}")

    assert given == ["a0", "a1"]
    assert [line.next() for _ in range(5)] == ["b0", "b1", "a2", "b2", None]
    for holder in "ab":
        line.give_back(holder)
    line.add("c", "c0")
    assert [line.next() for _ in range(3)] == ["c0", "a3", None]


def test_a_holder_leaves_as_much_as_it_has_and_who_has_nothing_finds_what_is_spare() -> None:
    line: Line[str] = Line(Shares("things", 4), spare=2)
    for holder in "abcdefg":
        for number in range(3):
            line.add(holder, f"{holder}{number}")

    given = []
    while (one := line.next()) is not None:
        given.append(one)

    assert given == ["a0", "b0", "c0", "d0", "e0", "f0"]
    assert line.ready(9) == 0
    line.give_back("a")
    assert [line.next(), line.next()] == ["g0", None]


def test_a_holder_that_waits_alone_has_half_and_with_nothing_reserved_all() -> None:
    counts = []
    for holder, reserves in (("a", True), ("a", False), ("", True)):
        line: Line[int] = Line(Shares("things", 4), spare=4, reserves=reserves)
        for number in range(9):
            line.add(holder, number)
        assert line.ready(9) > 0
        counts.append(sum(line.next() is not None for _ in range(9)))
        assert line.ready(9) == 0
        assert line.take_at_once("b") is False

    assert counts == [2, 4, 4]


def test_who_is_dropped_is_not_next() -> None:
    line: Line[str] = Line(Shares("things", 4))
    line.add("a", "one")
    line.add("a", "two")

    assert [line.drop("a", "one"), line.drop("a", "one"), line.drop("b", "two")] == [True, False, False]
    assert [line.has("a"), line.has("b")] == [True, False]
    assert [line.next(), line.next()] == ["two", None]
    assert line.count == 0
