"""The outline of a JSON object: the same members and rows as a decoder finds, in steps of one row."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from signet.toolsets.boj.outline import ResultOutline, read_outline

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=8
)
members = st.dictionaries(st.text(), values, max_size=5)
indents = st.sampled_from([None, 1, "\t", "\r\n "])


def found(text: bytes, outline: ResultOutline) -> dict[str, Any]:
    return {name: json.loads(text[span.start : span.end]) for name, span in outline.members.items()}


@given(members, st.lists(values, max_size=5), st.integers(0, 5), indents, st.booleans())
def test_members_and_rows_are_those_of_a_decoder(
    others: dict[str, Any], rows: list[Any], place: int, indent: Any, escaped: bool
) -> None:
    names = {name.upper() for name in others}
    if len(names) < len(others) or "ROWS" in names:
        return
    pairs = list(others.items())
    pairs.insert(min(place, len(pairs)), ("Rows", rows))
    text = (" " + json.dumps(dict(pairs), indent=indent, ensure_ascii=escaped) + "\n").encode("utf-8", "surrogatepass")

    outline = read_outline(text, 0, "ROWS", 1_000)

    ends = iter(outline.rows)
    assert found(text, outline) == {name.upper(): value for name, value in pairs}
    assert [json.loads(text[start:end]) for start, end in zip(ends, ends, strict=True)] == rows


@given(values, st.integers(0, 60), st.sampled_from([b"", b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"x"]))
@example({"a": [1]}, 3, b"")
def test_a_changed_text_is_read_as_a_decoder_reads_it_or_refused(value: Any, at: int, mark: bytes) -> None:
    whole = json.dumps({"a": value, "R": [{"b": value}]}).encode()
    text = whole[:at] + mark + whole[at + 1 :]
    try:
        expected = json.loads(text)
        # Half a surrogate pair is no text, though Python reads it.
        json.dumps(expected, ensure_ascii=False).encode()
    except ValueError:
        expected = None

    try:
        outline = read_outline(text, 0, "R", 1_000)
    except ValueError:
        assert expected is None or not isinstance(expected, dict)
        return
    if isinstance(expected, dict):
        assert found(text, outline) == {name.upper(): one for name, one in expected.items()}


def test_of_equal_names_the_last_counts() -> None:
    text = b'{"R":[1,2],"a":1,"A":2,"r":[3]}'

    outline = read_outline(text, 0, "R", 10)

    assert found(text, outline) == {"R": [3], "A": 2}
    assert len(outline.rows) == 2


@pytest.mark.parametrize("member", ['"a{}":1', '"a":{}', '"R":[{}]'], ids=["names", "values", "rows"])
def test_members_are_counted_whether_or_not_their_names_are_equal(member: str) -> None:
    text = "{" + ",".join(member.replace("{}", str(number)) for number in range(10)) + "}"

    assert read_outline(text.encode(), 0, "R", 10).members
    with pytest.raises(ValueError, match="more than the 9 members that are read"):
        read_outline(text.encode(), 0, "R", 9)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"1",
        b'{"a"}',
        b'{"a":}',
        b'{"a":1',
        b'{"a":1,}',
        b'{"a":1}x',
        b'{"a":"',
        b"{a:1}",
        b'{"R":[1 2]}',
        b'{"R":[1',
        b'{"R":[{"a":1}',
        b'{"a":tru}',
        b'{"a":1"b":2}',
        b'{"R":[,]}',
    ],
)
def test_what_is_no_object_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_outline(text, 0, "R", 10)


@pytest.mark.parametrize("size", [1_048_575, 1_048_576, 1_048_577, 5_000_000])
@pytest.mark.parametrize(
    "make",
    [
        lambda size: b'"' + b"x" * size + b'"',
        lambda size: b'"' + b'\\"' * (size // 2) + b'"',
        lambda size: b"[" + b" " * size + b"]",
        lambda size: b"[" + b"1," * (size // 2) + b"1]",
        lambda size: b"{" + b"\n" * size + b"}",
        lambda size: b'{"a":"' + b"}" * size + b'"}',
    ],
    ids=["text", "escapes", "blanks", "numbers", "object", "brackets"],
)
def test_what_is_longer_than_a_step_is_found_too(make: Any, size: int) -> None:
    value = make(size)
    text = b'{"a":' + value + b',"R":[' + value + b" , " + value + b"]}"

    outline = read_outline(text, 0, "R", 10)

    span = outline.members["A"]
    assert (span.start, span.end) == (5, 5 + len(value))
    assert outline.rows[1] - outline.rows[0] == outline.rows[3] - outline.rows[2] == len(value)
