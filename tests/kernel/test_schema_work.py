"""Work of checks: how large a value is, and how the work of several schemas is joined."""

from __future__ import annotations

from typing import Any

import pytest

from signet.kernel.schema_work import NOTHING, Work, measure_value, one_level
from signet.kernel.spending import ValueSize

EVERYTHING = 1_000_000


@pytest.mark.parametrize(
    ("value", "values", "chars", "strings", "names", "levels"),
    [
        (1, 1, 0, 0, 0, 1),
        ("four", 1, 4, 1, 0, 1),
        ({"ab": "c", "d": [1, 2]}, 5, 4, 1, 2, 3),
        ([[[[7]]]], 5, 0, 0, 0, 5),
        ([{"a": None}] * 3, 7, 3, 0, 3, 3),
    ],
)
def test_a_value_is_measured_by_its_parts(
    value: Any, values: int, chars: int, strings: int, names: int, levels: int
) -> None:
    size = measure_value(value, EVERYTHING)

    assert size[:5] == (values, chars, strings, names, levels)


@pytest.mark.parametrize(("number", "values"), [(1 << 62, 1), (1 << 640, 101), (1e300, 21), (-1e300, 21)])
def test_a_very_long_number_counts_as_many(number: float, values: int) -> None:
    assert measure_value(number, EVERYTHING).values == values


@pytest.mark.parametrize(
    ("value", "long_numbers", "holders"),
    [
        ([1, 1.5, 2**53 - 1, "9007199254740992", None, True], 0, 1),
        ([2**53, -(2**53), 1e300, 2**64], 4, 1),
        ([2**256], 3, 1),
        ({"a": [[], [[]]], "b": {"c": 2**60}}, 1, 6),
    ],
)
def test_what_may_share_its_hash_with_others_is_counted(value: Any, long_numbers: int, holders: int) -> None:
    size = measure_value(value, EVERYTHING)

    assert (size.long_numbers, size.holders) == (long_numbers, holders)


def test_measuring_ends_behind_so_many_parts() -> None:
    size = measure_value([[1] * 1_000] * 1_000, 5_000)

    assert 5_000 < size.values <= 1_002_000
    assert size.levels == 2


def test_schemas_for_one_part_are_added_and_for_different_parts_the_dearest_counts() -> None:
    one, other = Work(3, 1, 0, 1, (3, 2)), Work(2, 5, 1, 0, (2,))

    assert one + other == Work(5, 6, 1, 1, (5, 2))
    assert one | other == Work(3, 5, 1, 1, (3, 2))
    assert one.times(3) == Work(9, 3, 0, 3, (9, 6))
    assert (one + NOTHING, NOTHING | other) == (one, other)


def test_work_grows_with_the_parts_and_characters_of_a_value() -> None:
    size = ValueSize(10, 100, 2, 3, 2, 10)

    assert one_level(4, 1).of(size) == 140
    assert one_level(4, 1, 1).of(size) == 140 + 2_000 * (5 * 5 + 10)
    assert one_level(4, 1, 1, looks=9).of(size) == 140 + 2_000 * (5 * 5 + 9 * 10)
    pairs = size._replace(long_numbers=100, holders=10)
    assert one_level(4, 1, pairs=2).of(pairs) == 140 + 2 * (22 * 100**2 + 10**2)


def test_no_value_below_the_free_size_can_cost_more_than_the_loop_has() -> None:
    assert one_level(1).free_bytes == 384_615
    assert one_level(1, 0, 1).free_bytes == 1_245
    assert one_level(1, 0, 1, looks=80).free_bytes == 249
    assert one_level(1, pairs=1).free_bytes == 8_092
