"""The styles of parameters are written as the tables of the specification and RFC 6570 have them."""

from __future__ import annotations

from typing import Any

import pytest

from signet.openapi.encoding import path_text, query_pairs, reserved, text_of, unquoted

COLORS = ["blue", "black", "brown"]
RGB = {"R": 100, "G": 200, "B": 150}


@pytest.mark.parametrize(
    ("style", "explode", "empty", "text", "listed", "named"),
    [
        ("matrix", False, ";color", ";color=blue", ";color=blue,black,brown", ";color=R,100,G,200,B,150"),
        ("matrix", True, ";color", ";color=blue", ";color=blue;color=black;color=brown", ";R=100;G=200;B=150"),
        ("label", False, ".", ".blue", ".blue,black,brown", ".R,100,G,200,B,150"),
        ("label", True, ".", ".blue", ".blue.black.brown", ".R=100.G=200.B=150"),
        ("simple", False, "", "blue", "blue,black,brown", "R,100,G,200,B,150"),
        ("simple", True, "", "blue", "blue,black,brown", "R=100,G=200,B=150"),
    ],
)
def test_a_parameter_of_a_path(style: Any, explode: bool, empty: str, text: str, listed: str, named: str) -> None:
    written = [path_text("color", value, style, explode=explode) for value in ("", "blue", COLORS, RGB)]

    assert written == [empty, text, listed, named]


@pytest.mark.parametrize(
    ("style", "explode", "value", "query"),
    [
        ("form", True, "", "color="),
        ("form", True, "blue", "color=blue"),
        ("form", True, COLORS, "color=blue&color=black&color=brown"),
        ("form", True, RGB, "R=100&G=200&B=150"),
        ("form", False, COLORS, "color=blue,black,brown"),
        ("form", False, RGB, "color=R,100,G,200,B,150"),
        ("form", False, [], ""),
        ("spaceDelimited", False, COLORS, "color=blue%20black%20brown"),
        ("spaceDelimited", False, RGB, "color=R%20100%20G%20200%20B%20150"),
        ("spaceDelimited", True, COLORS, "color=blue&color=black&color=brown"),
        ("pipeDelimited", False, COLORS, "color=blue%7Cblack%7Cbrown"),
        ("pipeDelimited", False, RGB, "color=R%7C100%7CG%7C200%7CB%7C150"),
        ("deepObject", True, RGB, "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"),
        ("deepObject", True, {"a": {"b": [1, 2]}}, "color%5Ba%5D%5Bb%5D%5B0%5D=1&color%5Ba%5D%5Bb%5D%5B1%5D=2"),
    ],
)
def test_a_parameter_of_a_query(style: Any, explode: bool, value: Any, query: str) -> None:
    pairs = query_pairs("color", value, style, explode=explode)

    assert "&".join(f"{name}={text}" for name, text in pairs) == query


def test_only_unreserved_characters_stay_as_they_are() -> None:
    every = "".join(map(chr, range(0x20, 0x7F)))

    encoded = path_text("x", every + "é€😀\n", "simple", explode=False)

    assert encoded == (
        "%20%21%22%23%24%25%26%27%28%29%2A%2B%2C-.%2F0123456789%3A%3B%3C%3D%3E%3F%40ABCDEFGHIJKLMNOPQRSTUVWXYZ"
        "%5B%5C%5D%5E_%60abcdefghijklmnopqrstuvwxyz%7B%7C%7D~%C3%A9%E2%82%AC%F0%9F%98%80%0A"
    )


def test_reserved_characters_that_would_end_a_value_are_encoded_even_where_reserved_ones_may_stay() -> None:
    assert reserved("a/b?c:d@e,f&g=h#i+j k") == "a/b?c:d@e,f%26g%3Dh%23i%2Bj%20k"


def test_a_header_is_not_percent_encoded() -> None:
    assert path_text("x", ["a b", "c/d"], "simple", unquoted, explode=False) == "a b,c/d"


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, "true"), (False, "false"), (None, ""), (10, "10"), (10.0, "10"), (0.5, "0.5"), (1e300, "1e300"),
     (2**63, "9223372036854775808"), ({"a": [1]}, '{"a":[1]}'), ("é", "é")],
)  # fmt: skip
def test_a_value_as_a_text(value: Any, text: str) -> None:
    assert text_of(value) == text
