"""Equal names in one object of a JSON text are found at any level, however they are written, and nothing else is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signet.kernel.equal_names import has_equal_members, has_equal_names, has_equal_names_in_pieces

TWICE = [
    '{"a":1,"a":2}',
    '{"a":1,"b":{"c":[{"d":1, "d" :2}]}}',
    '{"p":"/etc","p":"/ok","x" :1}',
    '{"p":1,"\\u0070":2,"q":"\\u0022:"}',
    '{"":1,"":2}',
    '{"a":1,"a" : 2,"x":"\\":"}',
    '[[],{"a\\/b":1,"a/b":2}]',
    '{"\\ud83d\\ude00":1,"\U0001f600":2}',
]
ONCE = [
    "{}",
    "[]",
    '"a"',
    '[{"a":1},{"a":1}]',
    '{"a":"\\":","b":"\\":\\":"}',
    ' { "a" : 1.50 ,\t"b":\r\n{"a":12345678901234567890123} } ',
    '{"\\u0061":"\\u0022:","A":1}',
    '{"a":{"a":{"a":{}}}}',
]


@pytest.mark.parametrize("text", TWICE)
def test_equal_names_are_found(text: str) -> None:
    assert has_equal_names(text.encode())


@pytest.mark.parametrize("text", ONCE)
def test_other_names_are_not(text: str) -> None:
    assert not has_equal_names(text.encode())


def test_a_text_that_cannot_be_read_counts_as_one_that_has_them() -> None:
    assert [has_equal_names(text) for text in (b"{", b'{"\xff":1}', b"[" * 100_000)] == [True] * 3


@pytest.mark.parametrize("size", [10, 70_000, 2_000_000])
def test_large_texts_are_read_in_pieces(size: int) -> None:
    """Up to 1 MiB even a name with an escape is read; beyond that it counts as twice there."""
    long = "x" * size
    assert not has_equal_names_in_pieces(json.dumps({"a": long, "b": [{"c": long}, {"c": 1}]}).encode())
    assert has_equal_names_in_pieces(f'{{"a":"{long}","b":[{{"c":1}},{{"c":1,"c":2}}]}}'.encode())
    assert has_equal_names_in_pieces(f'{{"a":"{long}","a":1}}'.encode())
    assert has_equal_members(f'{{"\\u0061":"{long}"}}'.encode()) == (size > 1_000_000)


def test_members_are_those_of_the_object_itself() -> None:
    assert has_equal_members(b'{"a":{"b":1}, "a" : 2}')
    assert not has_equal_members(b'{"a":{"b":1,"b":1}, "b" : 2}')
    assert has_equal_members(b"[]")


class Pairs(list[Any]):
    """The members of an object, of which several may have one name."""


NAMES = st.sampled_from(["a", "A", '"', ":", '":', "\\", "\u00e9", "\0", ""])
VALUES = st.recursive(
    st.one_of(st.integers(), st.text('":\\ab\u00e9', max_size=4)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.lists(st.tuples(NAMES, inner), max_size=3).map(Pairs)),
    max_leaves=12,
)


def written(value: Any, spaced: bool, escaped: bool) -> str:
    if isinstance(value, Pairs):
        between = (" , ", " : ") if spaced else (",", ":")
        members = (f"{json.dumps(n, ensure_ascii=escaped)}{between[1]}{written(v, spaced, escaped)}" for n, v in value)
        return "{" + between[0].join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(written(one, spaced, escaped) for one in value) + "]"
    return json.dumps(value, ensure_ascii=escaped)


def repeats(value: Any) -> bool:
    if isinstance(value, Pairs):
        return len({n for n, _ in value}) < len(value) or any(repeats(v) for _, v in value)
    return isinstance(value, list) and any(map(repeats, value))


@given(VALUES, st.booleans(), st.booleans())
def test_it_is_the_same_as_to_compare_all_names(value: Any, spaced: bool, escaped: bool) -> None:
    text = written(value, spaced, escaped).encode()
    assert has_equal_names(text) == has_equal_names_in_pieces(text) == repeats(value)
