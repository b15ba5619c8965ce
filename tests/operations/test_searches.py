"""How often an issuer is asked for keys that nobody knows, by a clock that these tests turn themselves."""

from __future__ import annotations

from signet.operations.access.searches import Searches


class Turned:
    """A clock, and the searches that it is read by."""

    def __init__(self) -> None:
        self.now = 50.0
        self.searches = Searches(lambda: self.now)

    def sought(self, kid: str | None, after_s: float = 0.0) -> bool:
        """Seek a key after some time, in vain; return whether that was allowed."""
        self.now += after_s
        allowed = self.searches.allow(kid)
        if allowed:
            self.searches.begin()
            self.searches.miss(kid)
        return allowed


def test_there_are_three_seconds_from_one_search_to_the_next() -> None:
    turned = Turned()

    assert [turned.sought("a"), turned.sought("b", 2.9), turned.sought("c", 0.1)] == [True, False, True]


def test_after_ten_searches_there_are_ten_in_a_minute() -> None:
    turned = Turned()
    allowed = [turned.sought(str(number), 3.0) for number in range(200)]

    # 600 s bring 100, beside the first ten.
    assert 108 <= sum(allowed) <= 110
    assert all(allowed[:10])


def test_a_key_that_was_not_found_is_not_sought_for_half_a_minute() -> None:
    turned = Turned()

    assert [turned.sought(None), turned.sought(None, 29.0), turned.sought("b"), turned.sought(None, 3.0)] == [
        True,
        False,
        True,
        True,
    ]


def test_a_search_that_is_forgiven_delays_no_other() -> None:
    turned = Turned()
    for _ in range(50):
        assert turned.searches.allow("a")
        turned.searches.begin()
        turned.searches.forgive()


def test_no_more_keys_are_remembered_than_there_is_room_for() -> None:
    turned = Turned()
    for number in range(5000):
        turned.searches.miss(str(number))

    assert len(turned.searches._missing) == 1000
    assert not turned.searches.allow("4999")
    assert turned.searches.allow("0")
