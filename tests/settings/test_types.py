"""The text of a variable as a value of a setting's type, and what people are told to write."""

from __future__ import annotations

import datetime as dt
import enum
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest

from signet.settings.fields import bare, expected, load, parsed


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Point(msgspec.Struct):
    x: int


@pytest.mark.parametrize(
    ("hint", "kind"),
    [(int, int), (int | None, int), (Annotated[str, "note"], str), (Annotated[float | None, "note"], float)],
)
def test_a_type_without_its_annotations_and_without_none(hint: Any, kind: type) -> None:
    assert bare(hint) is kind


@pytest.mark.parametrize(
    ("text", "hint", "value"),
    [
        ("a, b,,c", list[str], ["a", "b", "c"]),
        ("[1, 2]", tuple[int, ...], [1, 2]),
        ('{"a": 1}', dict[str, int], {"a": 1}),
        ('{"x": 1}', Point, {"x": 1}),
        ("a, b", str, "a, b"),
        ("2026-01-31", dt.date, "2026-01-31"),
    ],
)
def test_the_parts_of_a_text(text: str, hint: Any, value: Any) -> None:
    assert parsed(text, hint) == value


@pytest.mark.parametrize(("text", "hint"), [("[1,", list[int]), ("x", dict[str, int]), ("{", Point)])
def test_a_text_that_is_no_json_is_refused(text: str, hint: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        parsed(text, hint)


@pytest.mark.parametrize(
    ("value", "hint", "loaded"),
    [
        ({"x": 1}, Point, Point(1)),
        ("red", Colour, Colour.RED),
        ("2026-01-31", dt.date, dt.date(2026, 1, 31)),
        ("a/b", Path, Path("a/b")),
    ],
)
def test_a_value_of_a_type(value: Any, hint: Any, loaded: Any) -> None:
    assert load(value, hint) == loaded


@pytest.mark.parametrize(("value", "hint"), [("x", int), ("green", Colour), ({"x": "a"}, Point), (object(), str)])
def test_a_value_of_another_type_is_refused(value: Any, hint: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        load(value, hint)


@pytest.mark.parametrize(
    ("hint", "words"),
    [
        (str, "a text"),
        (int | None, "a whole number"),
        (Literal["a", "b", "c"], "a, b or c"),
        (Colour, "red or blue"),
        (list[str], "values with commas between them"),
        (Point, "a JSON object"),
        (dt.date, "a date such as 2026-01-31"),
        (Path, "a value that is a Path"),
    ],
)
def test_what_to_write(hint: Any, words: str) -> None:
    assert expected(hint) == words
