"""Words of texts: what is new among them, and told by name."""

from __future__ import annotations

from typing import Any

import pytest

from signet.lock.words import danger_of, property_paths

PLACES = [f"https://{letter}.example" for letter in "abcde"]


@pytest.mark.parametrize(
    ("count", "named"),
    [
        (1, "https://a.example"),
        (3, "https://a.example, https://b.example, https://c.example"),
        (4, "https://a.example, https://b.example, https://c.example and 1 more"),
        (5, "https://a.example, https://b.example, https://c.example and 2 more"),
    ],
)
def test_three_new_destinations_are_named_and_the_rest_counted(count: int, named: str) -> None:
    assert danger_of("", " ".join(PLACES[:count])) == f"it names a new destination: {named}"


@pytest.mark.parametrize(
    ("old", "new", "danger"),
    [
        ("", "plain words", ""),
        (PLACES[0], f"{PLACES[0]} again: {PLACES[0]}", ""),
        (PLACES[0], f"{PLACES[0]} {PLACES[1]} {PLACES[1]}", "it names a new destination: https://b.example"),
        ("", "write to me@example.org", "it names a new destination: me@example.org"),
        ("", "see www.example.org", "it names a new destination: www.example.org"),
        ("", "a\u200bb", "it hides characters that show nothing: U+200B"),
        ("a\u200bb", "b\u200ba", ""),
        ("a\u200bb", "a\u200bb\u200b", "it hides characters that show nothing: U+200B"),
        ("", f"\u200b {PLACES[0]}", "it hides characters that show nothing: U+200B"),
    ],
)
def test_a_text_is_more_than_a_text_by_what_is_new_in_it(old: str, new: str, danger: str) -> None:
    assert danger_of(old, new) == danger


def test_destinations_are_passed_over_where_they_are_expected() -> None:
    assert danger_of("", PLACES[0], destinations=False) == ""
    assert danger_of("", "\u2066", destinations=False) == "it hides characters that show nothing: U+2066"


@pytest.mark.parametrize(("depth", "is_read"), [(64, True), (65, False)])
def test_properties_may_be_nested_64_deep(depth: int, is_read: bool) -> None:
    schema: dict[str, Any] = {}
    for _ in range(depth):
        schema = {"properties": {"x": schema}}

    if is_read:
        assert property_paths(schema) == {("x",) * length for length in range(1, depth + 1)}
    else:
        with pytest.raises(ValueError, match=r"^its properties are nested deeper than 64$"):
            property_paths(schema)


@pytest.mark.parametrize("blank", [" ", "\n", "\t"])
def test_destinations_are_found_in_texts_of_any_length(blank: str) -> None:
    text = blank.join([*["word"] * 4_000, "https://a.example/x", *["word"] * 9_000, "me@b.example", "www.c.example"])

    assert danger_of("", text) == "it names a new destination: https://a.example/x, me@b.example, www.c.example"
    assert danger_of(text, f"{text} again, at www.c.example") == ""


def test_a_word_without_an_end_is_searched_in_pieces_that_overlap() -> None:
    text = "a" * 16_380 + "/see/https://a.example" + "a" * 20_000

    assert danger_of("", text).startswith("it names a new destination: ")
    assert danger_of(text, text) == ""
