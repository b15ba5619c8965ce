"""Two JSON values compared place by place, with the knobs of those who compare."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from signet.system.json_differences import json_differences

BEFORE = {"a": [1, {"b": 2}], "c": {"d": 1, "e": True}, "gone": None, "text": "x"}
AFTER = {"a": [1, {"b": 3}], "c": {"e": 1, "d": 1}, "text": "x", "new": 1}


def found(before: Any, after: Any, **options: Any) -> list[str]:
    return [one.pointer() for one in json_differences(before, after, msgspec.json.encode, **options)]


@pytest.mark.parametrize(
    ("options", "paths"),
    [
        ({}, ["/a/1/b", "/c/e", "/gone", "/new"]),
        ({"in_lists": False}, ["/a", "/c/e", "/gone", "/new"]),
        ({"depth": 1}, ["/a", "/c", "/gone", "/new"]),
        ({"depth": 0}, [""]),
    ],
)
def test_places_are_found_as_deep_as_is_asked(options: dict[str, Any], paths: list[str]) -> None:
    assert found(BEFORE, AFTER, **options) == paths


def test_another_order_of_the_same_members_is_a_difference_only_where_it_is_asked() -> None:
    before, after = {"a": {"x": 1, "y": 2}, "b": 1}, {"a": {"y": 2, "x": 1}, "b": 1}

    assert found(before, after) == []
    assert found(before, after, in_order=True) == ["/a"]
    assert found(before, {"b": 1, "a": before["a"]}, in_order=True) == [""]
    assert found({"a": 1, "b": 2}, {"b": 2, "a": 2}, in_order=True) == ["/a"]


def test_a_place_has_two_ways_to_be_written() -> None:
    [one] = json_differences({"a/b": {"~": [0]}}, {"a/b": {"~": [1]}}, msgspec.json.encode)

    assert (one.pointer(), one.dotted(), one.names) == ("/a~1b/~0/0", "a/b.~.0", ["a/b", "~", 0])


def test_values_of_any_depth_are_compared() -> None:
    before: Any = 1
    after: Any = 2
    for _ in range(100_000):
        before, after = [before], [after]

    [one] = json_differences(before, after, msgspec.json.encode)

    assert (one.before, one.after, len(one.names)) == (1, 2, 100_000)
