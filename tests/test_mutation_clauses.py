"""The rules of the clauses, taken away one at a time: each removal fits the source, and a few are tried again."""

from __future__ import annotations

import ast
import datetime as dt
import itertools
import json
import tomllib
from collections import Counter
from collections.abc import Iterator

import pytest
from mutation import clauses, proving, removals
from mutation.packages import ROOT
from mutation.removals import Change, Removal, RemovalError
from mutation.running import Runner

BOOK = removals.read_removals()
CLAUSES = [one["id"] for one in tomllib.loads((ROOT / "tests/spec/clauses.toml").read_text(encoding="utf-8"))["clause"]]
MARKED = clauses.marked_tests()
RULE = Change("src/signet/transports/rest.py", 'b"access-control-allow-headers", b"Content-Type"', "")


def test_every_removal_fits_the_source_and_changes_it() -> None:
    for removal in BOOK.removal:
        for path, text in removal.texts().items():
            assert text != (ROOT / path).read_text(encoding="utf-8"), removal.what
            if path.endswith(".py"):
                ast.parse(text, f"{path} without the rule: {removal.what}")
            elif path.endswith(".json"):
                json.loads(text)


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


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    """Open a slot of this file's own."""
    runner = Runner(ROOT / "build/mutation/slot-clauses", str(tmp_path_factory.mktemp("tmp")))
    yield runner
    runner.close()


def recorded() -> list[tuple[str, Removal, str]]:
    """Return three recorded removals of tests that start no process, others each day."""
    trials = clauses.load()
    found = [
        (clause, one, trial.test)
        for one in BOOK.removal
        for clause in one.clauses[:1]
        if (trial := clauses.trial_of(trials, clause, one)) and trial.test and in_process(trial.test)
    ]
    day = dt.datetime.now(dt.UTC).date().toordinal()
    return list(itertools.islice(itertools.cycle(found), 3 * day % len(found), 3 * day % len(found) + 3))


def in_process(test: str) -> bool:
    """Return True if a test starts no process: it costs little."""
    return not clauses.starts_processes(test)


@pytest.mark.parametrize(("clause", "removal", "test"), recorded(), ids=lambda value: value if value in CLAUSES else "")
def test_a_recorded_removal_is_noticed_again(clause: str, removal: Removal, test: str, runner: Runner) -> None:
    found = proving.try_removal(runner, removal, clause, [test])

    assert found.test == test


def test_a_change_that_breaks_no_rule_is_noticed_by_no_test(runner: Runner) -> None:
    path = "src/signet/kernel/ids.py"
    removal = Removal(
        ["5.ids.uuid5"], "", path, "from __future__ import annotations\n", "from __future__ import annotations\n\n"
    )

    assert proving.try_removal(runner, removal, "5.ids.uuid5", ["tests/kernel/test_ids.py"]).test == ""


def test_a_module_that_cannot_be_imported_is_no_proof(runner: Runner) -> None:
    path = "src/signet/kernel/ids.py"
    removal = Removal(["5.ids.uuid5"], "", path, "from __future__ import annotations\n", "import nothing\n")

    assert proving.try_removal(runner, removal, "5.ids.uuid5", ["tests/kernel/test_ids.py"]).test == ""
