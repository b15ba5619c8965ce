"""The rules of the clauses that are taken away: each removal fits the source, and every clause has one or a reason."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest
from mutation import clauses, markers, removals, results
from mutation.markers import MarkerError
from mutation.packages import ROOT
from mutation.removals import Change, Removal, RemovalError

BOOK = removals.read_removals()
CLAUSES = [one["id"] for one in tomllib.loads((ROOT / "tests/spec/clauses.toml").read_text(encoding="utf-8"))["clause"]]
MARKED = clauses.marked_tests()


def test_every_removal_fits_the_source_and_changes_it() -> None:
    for removal in BOOK.removal:
        for path, text in removal.texts().items():
            assert text != markers.unmarked((ROOT / path).read_text(encoding="utf-8"))[0], removal.what


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


def test_every_marker_in_the_source_is_there_once_and_is_used() -> None:
    used = {change.rule for one in BOOK.removal for change in one.all_changes() if not change.contract}
    used |= {reason.rule for reason in results.read_reasons().values()}

    assert {name: len(places) for name, places in markers.marked().items() if len(places) != 1} == {}
    assert markers.marked().keys() ^ used == set()


MARKED_TEXT = """\
TABLE = {
    "é": 1,  # rule: 1.one
    "b": 1,
}


# rule: 1.two
def double(value: int) -> int:
    total = value * 2  # rule: 1.three
    return total
"""


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A checkout with one module and one contract."""
    for name, text in (("box/module.py", MARKED_TEXT), ("schemas/tools/a.b.json", '{"a": 1, "b": 1}')):
        path = tmp_path / "src/signet" / name
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


PLAIN_TEXT = MARKED_TEXT.replace("  # rule: 1.one", "").replace("# rule: 1.two\n", "").replace("  # rule: 1.three", "")


@pytest.mark.parametrize(
    ("change", "before", "after"),
    [
        (Change("1.one", "1", "7"), '"é": 1', '"é": 7'),
        (Change("1.three", "", "total = 0"), "total = value * 2", "total = 0"),
        (Change("1.three", "2\n    return", "3\n    return"), "* 2", "* 3"),
        (Change("1.two", "total = value", "total = 9"), "total = value", "total = 9"),
    ],
)
def test_a_change_is_made_where_its_marker_is(change: Change, before: str, after: str, house: Path) -> None:
    """Wherever the module lies; the text without the rule has no markers."""
    (house / "src/signet/box").rename(house / "src/signet/other")

    assert Removal(["1.one"], "", changes=[change]).texts(house) == {
        "src/signet/other/module.py": PLAIN_TEXT.replace(before, after, 1)
    }


def test_several_changes_of_one_file_are_made_together(house: Path) -> None:
    both = Removal(["1.one"], "", changes=[Change("1.three", "2", "2_000"), Change("1.one", "1", "7")])

    assert both.texts(house) == {
        "src/signet/box/module.py": PLAIN_TEXT.replace('"é": 1', '"é": 7').replace("* 2", "* 2_000")
    }
    assert both.digest != Removal(["1.one"], "", "1.one", "1", "7").digest


def test_a_rule_of_a_contract_is_found_by_the_name_of_the_contract(house: Path) -> None:
    removal = Removal(["1.one"], "", before='"a": 1', after='"a": 2', contract="a.b")

    assert removal.texts(house) == {"src/signet/schemas/tools/a.b.json": '{"a": 2, "b": 1}'}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (Change("1.four", "", ""), "the source has 0 times the marker '# rule: 1.four'"),
        (Change("1.three", "TABLE", ""), "the statement at '# rule: 1.three' lacks what a removal takes away: 'TABLE'"),
        (Change("1.three", "total\n", ""), "the statement at '# rule: 1.three' lacks what a removal takes away"),
        (Change("", ": 1", "", "a.b"), "a.b has 2 times what one removal takes away: ': 1'"),
        (Change("", "a", "", "a.c"), "the source has 0 contracts with the name a.c"),
    ],
)
def test_a_change_whose_place_is_not_there_is_none(change: Change, why: str, house: Path) -> None:
    with pytest.raises((MarkerError, RemovalError), match=re.escape(why)):
        Removal(["1.one"], "", changes=[change]).texts(house)


def test_a_marker_that_stands_twice_marks_nothing(house: Path) -> None:
    (house / "src/signet/second.py").write_text("x = 1  # rule: 1.three\n", encoding="utf-8")

    with pytest.raises(MarkerError, match=r"2 times the marker '# rule: 1.three', .*module.py, .*second.py"):
        markers.place_of("1.three", house)


def test_a_reason_speaks_of_the_function_around_its_marker(house: Path) -> None:
    reason = results.Reason("1.three", "constant · 2 → 3", "", equivalent=True)

    assert reason.key(house) == "src/signet/box/module.py · double · constant · 2 → 3"
