"""The rules of the clauses that are taken away: each removal fits the source, and every clause has one or a reason."""

from __future__ import annotations

import tomllib
from collections import Counter

import pytest
from mutation import clauses, removals
from mutation.packages import ROOT
from mutation.removals import Change, Removal, RemovalError

BOOK = removals.read_removals()
CLAUSES = [one["id"] for one in tomllib.loads((ROOT / "tests/spec/clauses.toml").read_text(encoding="utf-8"))["clause"]]
MARKED = clauses.marked_tests()
RULE = Change("src/signet/transports/rest.py", 'b"access-control-allow-headers", b"Content-Type"', "")


def test_every_removal_fits_the_source_and_changes_it() -> None:
    for removal in BOOK.removal:
        for path, text in removal.texts().items():
            assert text != (ROOT / path).read_text(encoding="utf-8"), removal.what


def test_every_removal_is_of_clauses_that_exist_and_says_what_it_takes_away() -> None:
    named = [*(clause for one in BOOK.removal for clause in one.clauses), *(one.clause for one in BOOK.without)]

    assert set(named) - set(CLAUSES) == set()
    assert all(one.what and one.clauses for one in BOOK.removal)
    assert all(one.why for one in BOOK.without)
    assert [clause for clause, number in Counter(named).items() if number > 2] == []


@pytest.mark.parametrize("spec", ["1", "2", "3", "4", "5"])
def test_every_clause_has_a_removal_that_was_noticed_or_a_reason(spec: str) -> None:
    """What was tried is the removal as it is written now: `make mutants ARGS="--clauses --resume"` tries the others."""
    trials, excused = clauses.load(), {one.clause for one in BOOK.without}
    here = [clause for clause in CLAUSES if clause.partition(".")[0] == spec]
    noticed = {
        clause
        for clause in here
        for one in BOOK.of(clause)
        if (trial := clauses.trial_of(trials, clause, one)) and trial.test.partition("[")[0] in MARKED[clause]
    }

    assert here
    assert [clause for clause in here if clause not in noticed | excused] == []
    assert noticed & excused == set()


def test_a_text_that_is_not_there_exactly_once_is_no_removal() -> None:
    source = (ROOT / RULE.path).read_text(encoding="utf-8")

    assert RULE.apply(source) == source.replace(RULE.before, "")
    for text in (source * 2, ""):
        with pytest.raises(RemovalError, match="what one removal takes away"):
            RULE.apply(text)


def test_changes_of_one_file_are_made_one_after_another() -> None:
    second = Change(RULE.path, "((),", "(")
    both = Removal(["4.cors.headers"], "", changes=[Change(RULE.path, RULE.before, "(),"), second])

    source = (ROOT / RULE.path).read_text(encoding="utf-8")

    assert both.texts() == {RULE.path: source.replace(f"({RULE.before}", "(")}
    assert both.digest != Removal(["4.cors.headers"], "", RULE.path, RULE.before, "(),").digest
