"""Unread answers: who may have how many bytes of them, who gives way, and what is counted."""

from __future__ import annotations

import pytest

from signet.transports import unread as module
from signet.transports.unread import CROWDED_BYTES, UNREAD_BYTES, UnreadAnswers, left_unread


class Place:
    """A place where an answer is held."""

    def __init__(self) -> None:
        self.has_given_way = 0

    def give_way(self) -> None:
        self.has_given_way += 1


def held(unread: UnreadAnswers, *amounts: tuple[str, int]) -> list[Place]:
    places = [Place() for _ in amounts]
    for place, (holder, amount) in zip(places, amounts, strict=True):
        unread.hold(place, holder, amount)
    return places


def given(places: list[Place]) -> list[int]:
    return [place.has_given_way for place in places]


def test_one_holder_may_have_half_and_is_refused_then_and_others_have_the_rest() -> None:
    unread = UnreadAnswers(100)
    places = held(unread, ("a", 30))

    assert [unread.has_room("a", amount) for amount in (20, 21, 30)] == [True, False, False]
    assert unread.has_room("b", 70)
    assert given(places) == [0]


def test_a_holder_without_any_has_room_at_the_cost_of_the_greediest() -> None:
    unread = UnreadAnswers(100)
    places = held(unread, ("a", 20), ("b", 30), ("b", 20), ("a", 20))

    assert unread.has_room("c", 30)

    assert given(places) == [0, 1, 0, 0]
    assert unread.shares.held == 60


def test_a_greedier_holder_makes_room_for_one_that_has_some() -> None:
    unread = UnreadAnswers(100)
    places = held(unread, ("a", 40), ("a", 40), ("b", 5))

    assert unread.has_room("b", 20)

    assert given(places) == [1, 0, 0]


def test_an_answer_larger_than_all_goes_out_where_nothing_else_is_held() -> None:
    unread = UnreadAnswers(100)
    assert unread.has_room("a", 500)
    [large] = held(unread, ("a", 500))
    assert not large.has_given_way

    assert not unread.has_room("a", 1)
    assert unread.has_room("b", 1)
    assert large.has_given_way == 1


def test_beyond_the_bound_the_oldest_of_the_greediest_gives_way_and_progress_makes_young() -> None:
    unread = UnreadAnswers(100)
    first, second, other = held(unread, ("a", 30), ("a", 30), ("b", 40))
    unread.hold(first, "a", 20)

    [third] = held(unread, ("b", 20))

    assert given([first, second, other, third]) == [0, 0, 1, 0]
    [fourth] = held(unread, ("a", 40))
    assert given([first, second, other, third, fourth]) == [0, 1, 1, 0, 0]


def test_what_is_released_is_counted_no_more() -> None:
    unread = UnreadAnswers(100)
    first, second = held(unread, ("a", 30), ("b", 40))
    unread.release(first)
    unread.release(first)
    unread.hold(second, "b", 0)

    assert (unread.shares.held, unread.shares.of("a"), unread.shares.of("b")) == (0, 0, 0)


def test_the_bound_is_the_one_that_is_documented_or_that_of_the_largest_answer() -> None:
    unread = UnreadAnswers()
    unread.fit(16 << 20)
    assert unread.shares.total == UNREAD_BYTES == 268_435_456
    unread.fit(300 << 20)
    assert unread.shares.total == 364 << 20


def test_callers_that_cannot_be_told_apart_may_have_everything() -> None:
    unread = UnreadAnswers(100)
    held(unread, ("", 90))

    assert [unread.has_room("", amount) for amount in (10, 11)] == [True, False]


def test_the_refusal_names_the_size_and_what_to_do() -> None:
    fault = left_unread(15_500_000)

    assert (fault.name, fault.status) == ("UNREAD_ANSWERS", 503)
    assert "14.8 MiB" in fault.message


def test_once_much_is_held_large_pieces_of_memory_are_given_back_when_they_are_free(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(module, "map_large_pieces", lambda: asked.append("now"))
    unread = UnreadAnswers()

    held(unread, ("a", CROWDED_BYTES))
    assert asked == []
    held(unread, ("b", 1), ("a", CROWDED_BYTES))
    assert asked == ["now"]
