"""Contract changes labelled by hand: none that breaks is called compatible, and what breaks is shown by an example.

A pair is an old and a new schema of one side of a tool. `reading: closed` marks an argument that an open object would
still take and drop: there the example checks once the new object is closed to what it does not name.
"""

from __future__ import annotations

import functools
import json
from collections import Counter
from typing import Any

import jsonschema
import pytest
from msgspec import UNSET

from processes import ROOT
from signet.compatibility.open_objects import closed
from signet.compatibility.verdict import Verdict, compare_schemas

PAIRS: list[dict[str, Any]] = json.loads((ROOT / "tests/contracts/pairs/pairs.json").read_text())
BREAKING = [pair for pair in PAIRS if pair["verdict"] == "breaking"]
COMPATIBLE = [pair for pair in PAIRS if pair["verdict"] == "compatible"]
FALSE_ALARMS = [
    ("a pattern is widened", "input"),
    ("a tree's values are narrowed", "output"),
]
"""Compatible changes that cannot be proven: one pattern for another, a change inside a recursive schema."""


def name_of(pair: dict[str, Any]) -> str:
    return f"{pair['name']} ({pair['side']})"


@functools.cache
def verdict_of_place(place: int) -> Verdict:
    pair = PAIRS[place]
    return compare_schemas(pair["old"], pair["new"], pair["side"])


def verdict_of(pair: dict[str, Any]) -> Verdict:
    return verdict_of_place(PAIRS.index(pair))


def is_valid(schema: Any, value: Any) -> bool:
    """Validate by another library, which checks formats, too."""
    checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
    return jsonschema.Draft202012Validator(schema, format_checker=checker).is_valid(value)


def checks(pair: dict[str, Any], example: object) -> bool:
    """Return True for an input that was valid and is no longer, or an output that may come and was not promised."""
    new = closed(pair["new"]) if pair.get("reading") == "closed" else pair["new"]
    admits, refuses = (pair["old"], new) if pair["side"] == "input" else (new, pair["old"])
    return is_valid(admits, example) and not is_valid(refuses, example)


def test_the_pairs_are_many_and_of_both_kinds_and_sides() -> None:
    assert len({name_of(pair) for pair in PAIRS}) == len(PAIRS) >= 60
    assert min(Counter((pair["verdict"], pair["side"]) for pair in PAIRS).values()) >= 20


@pytest.mark.parametrize("pair", BREAKING, ids=name_of)
def test_a_change_that_breaks_is_never_called_compatible(pair: dict[str, Any]) -> None:
    assert not verdict_of(pair).compatible


@pytest.mark.parametrize("pair", BREAKING, ids=name_of)
def test_an_example_if_there_is_one_is_confirmed_by_another_validator(pair: dict[str, Any]) -> None:
    example = verdict_of(pair).example
    assert example is UNSET or checks(pair, example), verdict_of(pair)


def test_nine_of_ten_changes_that_break_come_with_an_example() -> None:
    shown = [
        pair for pair in BREAKING if verdict_of(pair).example is not UNSET and checks(pair, verdict_of(pair).example)
    ]

    print(f"{len(shown)} of {len(BREAKING)} breaking pairs have an example that checks")
    assert len(shown) >= 0.9 * len(BREAKING)


def test_few_compatible_changes_are_called_breaking() -> None:
    alarms = [(pair["name"], pair["side"]) for pair in COMPATIBLE if not verdict_of(pair).compatible]

    print(f"{len(alarms)} of {len(COMPATIBLE)} compatible pairs are called breaking: {alarms}")
    assert alarms == FALSE_ALARMS


def test_what_cannot_be_proven_says_so() -> None:
    alarms = [pair for pair in COMPATIBLE if (pair["name"], pair["side"]) in FALSE_ALARMS]

    assert {verdict_of(pair).why for pair in alarms} == {"it cannot be proven compatible, and that counts as breaking"}
