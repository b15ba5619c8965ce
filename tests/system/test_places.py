"""Shares of one scarce thing, a line before it and turns: the holder that has least is next, and none is lost."""

from __future__ import annotations

import asyncio

import pytest

from signet.kernel.caller import Caller, Principal
from signet.system.places import FairTurns, Line, Shares


def test_the_first_may_have_one_half_and_the_next_one_half_of_the_rest() -> None:
    shares = Shares("places", 64)

    taken = {holder: sum(shares.take(holder) for _ in range(100)) for holder in "abc"}

    assert taken == {"a": 32, "b": 16, "c": 8}
    assert shares.held == 56


def test_the_places_are_used_up_by_the_seventh_of_those_who_take_all_they_may_have() -> None:
    shares = Shares("places", 64)

    taken = [sum(shares.take(f"holder {number}") for _ in range(100)) for number in range(8)]

    assert taken == [32, 16, 8, 4, 2, 1, 1, 0]


def test_what_is_given_back_is_there_for_others() -> None:
    shares = Shares("bytes", 90)
    assert shares.take("a", 45)
    assert not shares.take("b", 30)

    shares.give_back("a", 15)

    assert shares.take("b", 30)
    assert (shares.of("a"), shares.of("b"), shares.held) == (30, 30, 60)


def test_one_holder_has_no_more_than_the_most_for_each() -> None:
    shares = Shares("subscriptions", 10_000, most=2)

    assert [shares.take("a") for _ in range(3)] == [True, True, False]
    assert shares.take("b")


def test_callers_who_cannot_be_told_apart_may_have_everything() -> None:
    shares = Shares("threads", 4)

    assert [shares.take("") for _ in range(5)] == [True, True, True, True, False]


def test_the_greediest_is_the_one_who_has_most() -> None:
    shares = Shares("connections", 100)
    for holder, amount in (("a", 1), ("b", 3), ("c", 3)):
        shares.hold(holder, amount)

    assert shares.greediest() == "b"
    shares.give_back("b", 3)
    assert shares.greediest() == "c"


def test_a_share_is_that_of_the_principal_else_of_the_address() -> None:
    assert Caller(Principal("alice"), "127.0.0.2").holder == Caller(Principal("alice"), "127.0.0.3").holder
    assert Caller(None, "127.0.0.2").holder != Caller(None, "127.0.0.3").holder
    assert Caller(None, "2001:db8::1").holder == Caller(None, "2001:db8::2").holder
    assert Caller(Principal("127.0.0.2")).holder != Caller(None, "127.0.0.2").holder
    assert Caller().holder == ""


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


async def waiting(turns: FairTurns, *holders: str) -> list[asyncio.Future[None]]:
    """Let holders wait for a turn, one behind the other; those who have one at once are done."""
    asked = [asyncio.ensure_future(turns.take(holder)) for holder in holders]
    await asyncio.sleep(0)
    return asked


def test_a_turn_goes_to_the_holder_that_has_least_and_not_to_who_came_first() -> None:
    async def scenario() -> list[str]:
        turns, order = FairTurns("things", 2), list[str]()

        async def work(holder: str) -> None:
            async with turns.turn(holder):
                order.append(holder)
                await asyncio.sleep(0)

        await asyncio.gather(*map(work, ["a", "a", "a", "a", "b", "c"]))
        return order

    assert asyncio.run(scenario()) == ["a", "a", "b", "a", "c", "a"]


@pytest.mark.parametrize(("reserves", "given"), [(False, 4), (True, 2)])
def test_one_holder_has_all_turns_or_leaves_as_many_as_it_has(reserves: bool, given: int) -> None:
    async def scenario() -> tuple[int, bool, bool]:
        turns = FairTurns("things", 4, reserves=reserves)
        asked = await waiting(turns, *"aaaa")
        has = turns.of("a"), turns.must_wait("a"), turns.may_have("b")
        for one in asked:
            one.cancel()
        await asyncio.wait(asked)
        return has

    assert asyncio.run(scenario()) == (given, True, reserves)


def test_holders_that_cannot_be_told_apart_have_all_turns() -> None:
    async def scenario() -> tuple[int, int]:
        turns = FairTurns("things", 4, reserves=True)
        asked = await waiting(turns, *[""] * 5)
        held = turns.held, turns.count
        turns.give_back("")
        await asyncio.gather(*asked)
        return held

    assert asyncio.run(scenario()) == (4, 1)


def test_of_those_who_may_wait_each_holder_has_a_share() -> None:
    async def scenario() -> list[bool]:
        turns = FairTurns("things", 1, 4)
        await turns.take("a")
        asked = await waiting(turns, "a", "a")
        may = [turns.may_wait(holder) for holder in ("a", "b", "")]
        for _ in asked:
            turns.give_back("a")
        await asyncio.gather(*asked)
        return [*may, turns.may_wait("a")]

    assert asyncio.run(scenario()) == [False, True, True, True]


def test_without_a_bound_as_many_may_wait_as_like() -> None:
    async def scenario() -> tuple[bool, bool, bool]:
        turns = FairTurns("things", 1)
        before = turns.has("a")
        asked = await waiting(turns, *"a" * 500)
        may, has = turns.may_wait("a"), turns.has("a")
        for one in asked:
            one.cancel()
        await asyncio.wait(asked)
        return before, may, has

    assert asyncio.run(scenario()) == (False, True, True)


def test_a_turn_ends_with_its_block_however_that_ends() -> None:
    async def scenario() -> int:
        turns = FairTurns("things", 1)
        with pytest.raises(ValueError, match="odd"):
            async with turns.turn("a"):
                raise ValueError("odd")
        return turns.held

    assert asyncio.run(scenario()) == 0


def test_a_turn_that_is_left_while_it_comes_goes_to_the_next() -> None:
    async def scenario() -> list[bool]:
        turns = FairTurns("things", 1)
        await turns.take("a")
        waiting = [asyncio.ensure_future(turns.take(holder)) for holder in ("a", "b", "c")]
        await asyncio.sleep(0)
        waiting[0].cancel()
        turns.give_back("a")
        waiting[1].cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        done = [not one.cancelled() for one in waiting]
        turns.give_back("c")
        return [*done, turns.held == 0, turns.count == 0]

    assert asyncio.run(scenario()) == [False, False, True, True, True]


@pytest.mark.parametrize("count", [1, 2])
def test_many_that_are_cancelled_at_once_leave_nothing(count: int) -> None:
    async def one(turns: FairTurns, holder: str) -> None:
        try:
            async with asyncio.timeout(0.01), turns.turn(holder):
                await asyncio.sleep(0.004)
        except TimeoutError:
            pass

    async def scenario() -> tuple[int, int]:
        turns = FairTurns("things", count, 500)
        await asyncio.gather(*(one(turns, f"holder {number % 7}") for number in range(300)))
        return turns.held, turns.count

    assert asyncio.run(scenario()) == (0, 0)
