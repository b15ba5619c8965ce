"""The size of a pattern, estimated from its text."""

from __future__ import annotations

import pytest

from signet.kernel.pattern_size import measure_pattern


@pytest.mark.parametrize(
    ("pattern", "atoms"),
    [
        ("", 0), ("a", 1), ("abc", 3), ("a{3}", 3), ("a{2,5}", 5), ("a{2,}", 3), ("a{,4}", 4), ("a{0}", 1), ("a+b*", 2),
        ("(ab){3}", 9), ("((a{2}){2}){2}", 14), ("(?:a|b)+", 5), ("[a-z]{4}", 4), ("[]a]{4}", 4),
        ("[^]a]{4}b", 5), (r"[\]]{3}", 3), ("[[a-c]&&[b]]{2}", 2), (r"\d{2}", 2), (r"\{3}", 3), ("{", 1), ("a{x}", 4),
        ("(", 0), ("(a{9}", 9), (")", 1), ("[a", 1), ("\\", 1), ("a{99999999999}", 1_000_000),
    ],
)  # fmt: skip
def test_the_atoms_of_a_pattern_are_those_that_are_written_out(pattern: str, atoms: int) -> None:
    assert measure_pattern(pattern).atoms == atoms


@pytest.mark.parametrize(
    "pattern", ["(?=a)", "(?!a)", "(?<=a)", "(?<!a)", "(?>a)", r"(a)\1", r"(?<n>a)\k<n>", "a++", "a*+", "a?+"]
)
def test_a_pattern_that_looks_around_or_back_is_fancy(pattern: str) -> None:
    assert measure_pattern(pattern).is_fancy


@pytest.mark.parametrize("pattern", ["(?:a)", "(?i)a", "(?P<n>a)", r"\d+", "[a+]+", r"a\+", "(?i:a)"])
def test_any_other_pattern_is_not(pattern: str) -> None:
    assert not measure_pattern(pattern).is_fancy


@pytest.mark.parametrize(
    ("large", "small"),
    [
        (r"\p{L}", r"\w"), (r"[\p{L}]", "[a-z]"), (r"\PL", "L"), (".", "a"), ("[^a]", "[a]"), ("[á-ž]", "[a-z]"),
        (r"\S", r"\d"),
        ("(?i)abc", "(?:)abc"), ("(?si:abc)", "(?s:abc)"),
    ],
)  # fmt: skip
def test_wide_classes_and_folded_case_are_larger(large: str, small: str) -> None:
    assert measure_pattern(large).program_bytes > measure_pattern(small).program_bytes


@pytest.mark.parametrize("pattern", ["^.{1,4000}$", "^[a-z0-9_-]{1,64}$", r"^\w+$", r"^[^\]]{3,}", "^a*$", "^[a]"])
def test_of_one_class_so_many_times_a_text_is_at_one_place(pattern: str) -> None:
    assert measure_pattern(pattern).is_steady


@pytest.mark.parametrize(
    "pattern",
    [
        ".{1,4000}$",
        "^(?:.){1,4000}$",
        "^.{1,9}.{1,9}$",
        "^(.{1,9}){1,9}$",
        "^a|b{1,9}$",
        "^a{1,9}+$",
        "^[a[b]]{9}$",
        "^[a",
    ],
)
def test_of_any_other_pattern_it_may_be_at_many(pattern: str) -> None:
    assert not measure_pattern(pattern).is_steady
