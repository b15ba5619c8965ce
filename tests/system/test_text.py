"""Texts from outside: nothing in them acts on a terminal or hides, and what is too long is cut."""

from __future__ import annotations

from typing import Any

import pytest

from signet.system.text import cut, fit, hidden_characters, one_line, printable, visible

HOSTILE = "a\x1b[31mb\n\u3000\x00c\u202e ä日"


@pytest.mark.parametrize(
    ("options", "safe"),
    [
        ({}, "a [31mb   c\\u202e ä日"),
        ({"keep": "\n"}, "a [31mb\n  c\\u202e ä日"),
        ({"keep": "\u3000"}, "a [31mb \u3000 c\\u202e ä日"),
        ({"substitute": "\ufffd"}, "a\ufffd[31mb\ufffd\ufffd\ufffdc\\u202e ä日"),
        ({"substitute": None}, "a\\u001b[31mb\\u000a\\u3000\\u0000c\\u202e ä日"),
    ],
    ids=["plain", "lines", "japanese", "visible", "escaped"],
)
def test_nothing_that_acts_on_a_terminal_is_printed(options: dict[str, Any], safe: str) -> None:
    assert printable(HOSTILE, **options) == safe


def test_an_unprintable_character_beyond_the_first_plane_is_escaped_as_json_escapes_it() -> None:
    assert printable("a\U000e0041", substitute=None) == "a\\udb40\\udc41"


def test_a_text_on_one_line_has_words_with_one_blank_between_them() -> None:
    assert one_line(" a\r\n\tb\u00a0\x1bc \u202e") == "a b c \\u202e"


@pytest.mark.parametrize(("text", "beginning", "whole"), [("abc", "abc", "abc"), ("abcd", "abc…", "ab…"), ("", "", "")])
def test_a_long_text_is_cut_with_an_ellipsis(text: str, beginning: str, whole: str) -> None:
    assert (cut(text, 3), fit(text, 3)) == (beginning, whole)


def test_every_character_that_is_not_ascii_is_spelled_where_it_has_to_be_even_a_bracket() -> None:
    assert visible("é⟨U+200B⟩\u200b", in_ascii=True) == "⟨U+00E9⟩⟨U+27E8⟩U+200B⟨U+27E9⟩⟨U+200B⟩"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, naïve, 日本語, 🏳️‍🌈", "plain, naïve, 日本語, 🏳️‍🌈"),
        ("a\u200bb", "a⟨U+200B⟩b"),
        ("a\u200db", "a⟨U+200D⟩b"),
        ("\u202eab", "⟨U+202E⟩ab"),
        ("x\U000e0068\U000e0069", "x⟨U+E0068 h⟩⟨U+E0069 i⟩"),
        ("x\U000e0100\ufe01", "x⟨U+E0100⟩⟨U+FE01⟩"),
        ("\x1b[2J\x07\x9b", "⟨U+001B⟩[2J⟨U+0007⟩⟨U+009B⟩"),
        ("a\u00adb\u3164\u2028", "a⟨U+00AD⟩b⟨U+3164⟩⟨U+2028⟩"),
        ("a\nb\rc\td", "a\nb⟨U+000D⟩c⟨U+0009⟩d"),
    ],
)
def test_what_shows_nothing_is_shown_by_its_code_point(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_hidden_characters_are_counted_and_line_ends_are_none() -> None:
    assert hidden_characters("a\u200b\u200b\r\n\tb\u2066") == ["U+200B", "U+200B", "U+2066"]
    assert hidden_characters("plain\n🏳️‍🌈 é") == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\ufe00", "a⟨U+FE00⟩"),
        ("a\ufe0f", "a⟨U+FE0F⟩"),
        ("é\ufe0f", "é\ufe0f"),
        ("é\u200c", "é\u200c"),
        ("\u200c", "⟨U+200C⟩"),
        ("é\ufe10", "é\ufe10"),
        ("é\U000e0100", "é⟨U+E0100⟩"),
        ("é\U000e01ef", "é⟨U+E01EF⟩"),
        ("\U000e0020\U000e007e\U000e007f", "⟨U+E0020  ⟩⟨U+E007E ~⟩⟨U+E007F⟩"),
        ("\U000e0001", "⟨U+E0001⟩"),
        ("\u115f\u1160\u2800\u3164\uffa0\u034f\u17b4\u17b5",
         "⟨U+115F⟩⟨U+1160⟩⟨U+2800⟩⟨U+3164⟩⟨U+FFA0⟩⟨U+034F⟩⟨U+17B4⟩⟨U+17B5⟩"),
        ("\ue000\u0378\u2029", "⟨U+E000⟩⟨U+0378⟩⟨U+2029⟩"),
        ("\x7f", "⟨U+007F⟩"),
    ],
)  # fmt: skip
def test_each_kind_of_what_shows_nothing_is_shown(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_a_line_end_is_kept_where_it_may_stand() -> None:
    assert visible("a\nb", keep="") == "a⟨U+000A⟩b"
    assert visible("é\tb", keep="\t") == "é\tb"
