"""Names of arguments: which are ignored, which are near misses, and which nulls count as absent."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signet.kernel.arguments import names_in, plain_view, whole_numbers, without_nulls

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {name: {} for name in ("db", "codes", "lang", "start_date", "start_position", "limit", "id")},
    "required": ["db", "codes"],
}
NULL = {"type": "null"}


def near_miss(arguments: dict[str, Any]) -> tuple[str, str] | None:
    names = names_in(SCHEMA)
    assert names is not None
    return names.near_miss(arguments)


@pytest.mark.parametrize(
    ("given_name", "known"),
    [
        ("strat_date", "start_date"),
        ("startDate", "start_date"),
        ("start-date", "start_date"),
        ("START_DATE", "start_date"),
        ("startdat", "start_date"),
        ("start_dates", "start_date"),
        ("strt_dat", "start_date"),
        ("startPositon", "start_position"),
        ("limt", "limit"),
        ("Limit", "limit"),
        ("limits", "limit"),
        ("lnag", "lang"),
        ("ID", "id"),
        ("code", "codes"),
    ],
)
def test_a_slip_in_the_name_of_an_absent_argument_is_a_near_miss(given_name: str, known: str) -> None:
    assert near_miss({given_name: 1}) == (given_name, known)


@pytest.mark.parametrize(
    "name",
    ["toolCallId", "sessionId", "action", "chatInput", "language", "ids", "d", "", "_", "start", "date", "position",
     "ilmti", "trats_date", "x" * 65, "s" + "tart_date" * 10_000],
)  # fmt: skip
def test_any_other_name_is_none(name: str) -> None:
    assert near_miss({name: 1}) is None


def test_a_name_is_no_near_miss_of_an_argument_that_is_given() -> None:
    assert near_miss({"limit": 5, "limt": 5}) is None
    assert near_miss({"limit": None, "limt": 5}) == ("limt", "limit")


def test_the_nearest_name_is_meant() -> None:
    schema = {"properties": {"start_dates": {}, "start_date": {}}}
    names = names_in(schema)

    assert names is not None
    assert names.near_miss({"startDate": 1}) == ("startDate", "start_date")


@pytest.mark.parametrize("name", ["-", "__", " _"])
def test_separators_do_not_count_even_in_a_name_that_has_nothing_else(name: str) -> None:
    names = names_in({"properties": {"_": {}, "limit": {}}})

    assert names is not None
    assert names.near_miss({name: 1}) == (name, "_")


def test_only_the_first_unknown_names_are_compared() -> None:
    many = {f"other_{number}": 1 for number in range(20)}

    assert near_miss({**many, "limt": 5}) is None
    assert near_miss({"limt": 5, **many}) == ("limt", "limit")


def test_ignored_names_are_told_in_order_and_within_bounds() -> None:
    names = names_in(SCHEMA)
    assert names is not None

    few = names.ignored({"db": "X", "b": 1, "a": 2, "y" * 65: 3})
    many = names.ignored({f"n{number}": 1 for number in range(50_000)})
    all_but_one = names.ignored({"b": 1, "limt": 2, "a": 3}, refused="limt")

    assert few == ("b", "a", "y" * 64 + "…")
    assert (len(many), many[0], many[19], many[20]) == (21, "n0", "n19", "… and 49980 more")
    assert all_but_one == ("b", "a")


@pytest.mark.parametrize(
    "rule",
    [
        {"additionalProperties": True},
        {"additionalProperties": {"type": "string"}},
        {"patternProperties": {"^x": {}}},
        {"propertyNames": {}},
        {"allOf": [{"properties": {"more": {}}}]},
        {"$ref": "#/$defs/more"},
        {"properties": None},
    ],
)
def test_an_input_with_rules_for_further_names_has_no_unknown_ones(rule: dict[str, Any]) -> None:
    assert names_in({**SCHEMA, **rule}) is None


def test_a_closed_input_has_names_and_refuses_others_by_its_contract() -> None:
    names = names_in({**SCHEMA, "additionalProperties": False})

    assert names is not None
    assert names.optional == {"lang", "start_date", "start_position", "limit", "id"}


@given(
    st.dictionaries(st.text(max_size=3), st.none() | st.integers() | st.lists(st.none())), st.sets(st.text(max_size=3))
)
def test_nulls_with_some_names_are_left_out_and_nothing_else(arguments: dict[str, Any], names: set[str]) -> None:
    left = without_nulls(arguments, frozenset(names))

    assert left == {name: value for name, value in arguments.items() if not (value is None and name in names)}
    assert without_nulls(arguments) == {name: value for name, value in arguments.items() if value is not None}


@pytest.mark.parametrize("value", [None, [None], "x", 5])
def test_what_is_no_object_has_no_nulls(value: Any) -> None:
    assert without_nulls(value) is value


def test_a_plain_view_shows_what_a_property_is_when_it_is_not_null() -> None:
    text = {"type": "string", "maxLength": 5}
    other = {"anyOf": [text, {"type": "integer"}, NULL]}
    strict = {"anyOf": [text, NULL], "minLength": 2}
    schema = {
        "type": "object",
        "properties": {
            "a": {"anyOf": [text, NULL], "default": None, "description": "A."},
            "b": {"anyOf": [NULL, text]},
            "c": text,
            "d": other,
            "e": strict,
        },
    }

    plain, nullable = plain_view(schema)

    assert plain == {"type": "object", "properties": {"a": text, "b": text, "c": text, "d": other, "e": strict}}
    assert nullable == {"a", "b"}


@pytest.mark.parametrize("schema", [True, {}, {"properties": None}, {"properties": {"a": True}}, {"type": "object"}])
def test_a_schema_without_nulls_is_its_own_plain_view(schema: Any) -> None:
    assert plain_view(schema) == (schema, frozenset())
    assert plain_view(schema)[0] is schema


def test_whole_numbers_are_integers_wherever_they_stand() -> None:
    value = {"a": [1.0, 1.5, "1.0", True, None], "b": {"c": -2.0}}

    whole = whole_numbers(value)

    assert repr(whole) == "{'a': [1, 1.5, '1.0', True, None], 'b': {'c': -2}}"
