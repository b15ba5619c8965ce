"""Digests, against the vectors of RFC 8785."""

from __future__ import annotations

import hashlib
import json
import struct

import pytest

from signet.system.canonical_json import canonical, comparable, decoded, digest_of

NUMBERS = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "ffefffffffffffff": "-1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "c340000000000000": "-9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}
"""Appendix B: a double by its bits, and how it is written."""


@pytest.mark.parametrize("bits", NUMBERS)
def test_a_number_is_written_as_ecmascript_writes_it(bits: str) -> None:
    value = struct.unpack(">d", bytes.fromhex(bits))[0]

    assert canonical(value).decode() == NUMBERS[bits]


def test_the_example_of_section_3_2_2() -> None:
    text = (
        b'{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],'
        rb'"string":"\u20ac$\u000F\u000aA' + b"'" + rb'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}'
    )

    assert canonical(decoded(text)).decode() == (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )


def test_keys_are_in_the_order_of_utf_16_as_in_section_3_2_3() -> None:
    names = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"]

    keys = list(json.loads(canonical(dict.fromkeys(names, 0))))

    assert keys == ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]


def test_a_digest_is_the_sha_256_of_the_canonical_form() -> None:
    text = decoded(b'{ "b" : [ ] , "a" : 1.0e2 , "c": {} }')

    assert digest_of(canonical(text)) == "sha256:" + hashlib.sha256(b'{"a":100,"b":[],"c":{}}').hexdigest()


@pytest.mark.parametrize("text", [b"12345678901234567890", b"12345678901234567890.0", b"1234567890123456789e1"])
def test_a_whole_number_beyond_doubles_is_written_as_the_nearest_double(text: bytes) -> None:
    assert canonical(decoded(text)) == b"12345678901234567000"


def test_what_only_looks_like_a_number_in_a_text_stays() -> None:
    value = {"a": ":1.50,2E9", "b": [1, 2], "\U0001f600": "[0.10"}

    assert json.loads(canonical(value)) == value


@pytest.mark.parametrize(
    "text",
    [
        b'{"a":1,"a":2}',
        b'{ "a" : 1 , "a" : 1 }',
        b'{"x":[{"b":1,"\\u0062":2}]}',
        b'{"a\\\\":1,"a\\u005c":2}',
        b'{"a":"\xff"}',
        b'"\\ud800"',
        b"[1e400]",
        b"NaN",
        b"{",
        b"",
        b"[" * 100_000 + b"]" * 100_000,
    ],
)
def test_what_two_readers_could_read_differently_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"it is|member twice"):
        decoded(text)


def test_a_number_that_no_double_holds_is_refused() -> None:
    with pytest.raises(ValueError, match="range of doubles"):
        canonical(10**400)


@pytest.mark.parametrize(
    ("number", "written"),
    [
        (9007199254740991, "9007199254740991"),
        (9007199254740992, "9007199254740992"),
        (9007199254740993, "9007199254740992"),
        (-9007199254740993, "-9007199254740992"),
        (9007199254740995, "9007199254740996"),
        (18014398509481985, "18014398509481984"),
    ],
)
def test_a_whole_number_beyond_the_exact_ones_is_written_as_its_double(number: int, written: str) -> None:
    assert canonical(number).decode() == written
    assert canonical({"a": [number]}).decode() == f'{{"a":[{written}]}}'


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (rb'{"v":"x\u0022:"}', {"v": 'x":'}),
        (rb'{"v":"x\":"}', {"v": 'x":'}),
        (rb'{"a\\":1,"b":2}', {"a\\": 1, "b": 2}),
    ],
)
def test_a_quote_and_a_colon_in_a_text_are_no_member(text: bytes, value: object) -> None:
    assert decoded(text) == value


def test_equal_values_have_one_comparable_text_and_integers_stay_exact() -> None:
    assert comparable({"b": [1.0, 1e3, 0.5], "a": True}) == b'{"a":true,"b":[1,1000,0.5]}'
    assert comparable(9007199254740993) != comparable(9007199254740992)
    assert canonical(9007199254740993) == canonical(9007199254740992)
