"""Shares: how much of a scarce thing one holder may have beside the others."""

from __future__ import annotations

from signet.kernel.caller import Caller, Principal
from signet.system.shares import Shares


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
