"""Texts of servers as people see them."""

from __future__ import annotations

import pytest

from signet.lock.shown import Segment, difference, mixed_scripts


def test_a_difference_is_told_by_words() -> None:
    assert difference("Read a file.", "Read one\u200b file.") == (
        Segment("same", "Read "),
        Segment("removed", "a"),
        Segment("added", "one⟨U+200B⟩"),
        Segment("same", " file."),
    )


@pytest.mark.parametrize(
    ("old", "new", "segments"),
    [
        ("a b", "a\u00a0b", [("removed", " "), ("added", "⟨U+00A0⟩")]),
        ("a b", "a\u2003 b", [("removed", " "), ("added", "⟨U+2003⟩ ")]),
        ("one", "two\u00a0more", [("removed", "one"), ("added", "two⟨U+00A0⟩more")]),
        ("caf\u00e9", "cafe\u0301", [("removed", "caf⟨U+00E9⟩"), ("added", "cafe⟨U+0301⟩")]),
        ("K", "\u212a", [("removed", "K"), ("added", "⟨U+212A⟩")]),
        ("caf\u00e9", "caf\u00e8", [("removed", "caf\u00e9"), ("added", "caf\u00e8")]),
        (" \n" * 600, "\u00a0\n" * 600, [("removed", " \n" * 600), ("added", "⟨U+00A0⟩\n" * 600)]),
    ],
)
def test_a_difference_that_shows_nothing_is_spelled_out(old: str, new: str, segments: list[tuple[str, str]]) -> None:
    changed = [(one.kind, one.text) for one in difference(old, new) if one.kind != "same"]

    assert changed == segments


def test_a_long_passage_that_is_the_same_is_cut() -> None:
    head, removed, added, tail = difference("word " * 500 + "a" + " end" * 500, "word " * 500 + "b" + " end" * 500)

    assert (removed, added) == (Segment("removed", "a"), Segment("added", "b"))
    assert (head.text[:6], len(head.text), tail.text[-6:], len(tail.text)) == ("…word ", 61, "d end…", 61)


def test_long_texts_are_compared_by_lines_and_longer_ones_as_a_whole() -> None:
    lines = [f"this is line {number}" for number in range(300)]
    other = ["first", *lines[:100], "another line", *lines[101:], "last"]

    by_line = difference("\n".join(lines), "\n".join(other))
    as_a_whole = difference("a b\n" * 3_000, "a c\n" * 3_000)

    assert [segment.text for segment in by_line if segment.kind != "same"] == [
        "first\n", "this is line 100\n", "another line\n", "this is line 299", "this is line 299\nlast"
    ]  # fmt: skip
    assert [segment.kind for segment in as_a_whole] == ["removed", "added"]


def test_letters_of_scripts_that_look_alike_are_found_in_one_word() -> None:
    assert mixed_scripts("the we\u0430ther, Москва and Athens (Αθήνα), 東京tower") == ["we\u0430ther"]


@pytest.mark.parametrize(("length", "is_cut"), [(119, False), (120, True)])
def test_a_passage_is_cut_where_that_makes_it_shorter(length: int, is_cut: bool) -> None:
    same = "x" * length

    middle = difference(f"a {same} b", f"c {same} d")[2]

    assert ("…" in middle.text) is is_cut
    assert len(middle.text) == 121


@pytest.mark.parametrize(
    ("old", "new", "segments"),
    [
        ("a b c", "a c", (("same", "a "), ("removed", "b "), ("same", "c"))),
        ("a c", "a b c", (("same", "a "), ("added", "b "), ("same", "c"))),
        ("a", "a", (("same", "a"),)),
        ("a", "b", (("removed", "a"), ("added", "b"))),
        ("", "b", (("added", "b"),)),
        ("a", "", (("removed", "a"),)),
        ("a", "a b", (("same", "a"), ("added", " b"))),
        ("b", "a b", (("added", "a "), ("same", "b"))),
    ],
)
def test_a_difference_has_no_empty_segment(old: str, new: str, segments: tuple[tuple[str, str], ...]) -> None:
    assert difference(old, new) == tuple(Segment(*one) for one in segments)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("plain", []),
        ("\u0440\u0430ypal", ["\u0440\u0430ypal"]),
        ("\u0440\u0430ypal and \u0440\u0430ypal", ["\u0440\u0430ypal"]),
        ("кириллица", []),
        ("ラテンlatin", []),
        ("\u03b1pple \u039a1", ["\u03b1pple"]),
    ],
)
def test_words_of_mixed_scripts_are_told_once(text: str, words: list[str]) -> None:
    assert mixed_scripts(text) == words


@pytest.mark.parametrize(("end", "by_words"), [("", True), (" ", False)])
def test_five_hundred_parts_are_compared_by_words(end: str, by_words: bool) -> None:
    """250 words, the blanks between them and a sign are 500 parts; of 501 the lines are compared: one of each."""
    old, new = (" ".join(f"{letter}{number}" for number in range(250)) + end for letter in "ab")

    segments = difference(f"{old}.", f"{new}!")

    assert (len(segments) > 2) is by_words
