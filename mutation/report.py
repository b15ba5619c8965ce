"""Write docs/mutation.md from the committed figures."""

from __future__ import annotations

from pathlib import Path

from .clauses import Trial, load, marked_tests, trial_of
from .packages import ROOT
from .removals import Removals, read_removals
from .results import Reason, Results, Score, read_reasons

__all__ = ["PAGE", "page", "write"]

PAGE = ROOT / "docs/mutation.md"
GOAL = 0.9
INTRO = """# Mutation check

Would the tests notice a bug? `make mutants` changes one rule of the source at a time and runs the tests that reach it:
a change that makes a test fail is *killed*, one that all tests let pass *survives*. This page is written by that
command from `mutation/results.json`; the reasons of survivors are in `mutation/equivalent.toml`.
"""
CAVEAT = """A score tells of the mutants that were run. Where tests were written for survivors of the same sample, it is
higher than for mutants that nobody has looked at; `--sample` with a larger number draws such ones."""
MUTATORS = """## What is changed

| mutator | change |
|---|---|
| comparison | `<` and `<=`, `>` and `>=`, `==` and `!=`, `in` and `not in`, `is` and `is not` take each other's place |
| and/or | `and` and `or` take each other's place, one at a time |
| not removed | `not x` becomes `x` |
| condition | what `if`, a conditional expression or the filter of a comprehension asks becomes True, or False |
| constant | a number becomes one more (also in defaults, slices and the limits of `Meta`), True and False change |
| return value | a value that is returned becomes None; of a function that returns a bool, the opposite |
| statement removed | a `raise`, or a call whose value nobody takes, is left out |
| arithmetic | `+` and `-` take each other's place |
| min/max | `min` and `max` take each other's place |
| jump | `continue` and `break` take each other's place |
| text | a text of a refusal is changed |
| contract | a bound moves by one, a member of `enum` or `required` or a `pattern` goes, `additionalProperties` flips |

Left alone: docstrings, annotations, `__all__`, `__repr__`, what only type checkers read, what only logs are told, and
keywords that change no answer (`frozen`, `slots`, `maxsize` and their like).

A mutant is written into a copy of the checkout with an environment of its own, so that the processes that tests start
run it too. First the tests that reach its lines are asked, those of the module's own test file ahead of others,
then the slow ones of its package. A test that fails by an assert, an exception that nobody expects, or a hang kills
the mutant. Which mutants of a package are run depends on their text alone, so that the next run tries the same ones.
"""


def write(results: Results) -> None:
    """Write the page."""
    text = page(results, read_reasons(), load(), read_removals())
    PAGE.write_text(text, encoding="utf-8", newline="\n")


def page(results: Results, reasons: dict[str, Reason], trials: dict[str, list[Trial]], removals: Removals) -> str:
    """Return the page."""
    lines = [INTRO, f"Run on {results.date.isoformat()}. Goal: {GOAL:.0%} of the mutants of each package die.", ""]
    lines += [
        "| package | mutants | run | killed | by assert, exception, hang | survived | of them equivalent | score |"
    ]
    lines += ["|---|---:|---:|---:|---|---:|---:|---:|", *(_row(score, reasons) for score in results.scores), ""]
    lines += [
        "The score counts the mutants that are not equivalent to the original; in brackets, all that were run.",
        "",
    ]
    lines += [CAVEAT, ""]
    lines += [MUTATORS, "## Which source is changed", "", "| package | files |", "|---|---|"]
    lines += [f"| {score.package} | {_files(score.files)} |" for score in results.scores]
    lines += ["", "## Survivors", ""]
    for score in results.scores:
        lines += _survivors(score, reasons)
    return "\n".join(lines) + "\n" + _clauses(trials, removals)


def _row(score: Score, reasons: dict[str, Reason]) -> str:
    killed = sum(score.kinds.values())
    kinds = ", ".join(str(score.kinds.get(kind, 0)) for kind in ("assert", "crash", "hang"))
    unlike = len(score.unlike(reasons))
    equivalent = len(score.survivors) - unlike
    share, whole = _share(killed, score.run - equivalent), _share(killed, score.run)
    numbers = f"{score.exist} | {score.run} | {killed} | {kinds} | {len(score.survivors)} | {equivalent}"
    return f"| {score.package} | {numbers} | {share} ({whole}) |"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "no mutant"


def _files(paths: list[str]) -> str:
    folders: dict[str, list[str]] = {}
    for path in paths:
        folders.setdefault(str(Path(path).parent.relative_to("src/signet")), []).append(Path(path).stem)
    return "; ".join(f"`{folder}/` {' '.join(f'`{name}`' for name in names)}" for folder, names in folders.items())


def _survivors(score: Score, reasons: dict[str, Reason]) -> list[str]:
    if not score.survivors:
        return [f"### {score.package}", "", "None.", ""]
    lines = [f"### {score.package}", "", "| where | change | reason |", "|---|---|---|"]
    for key in score.survivors:
        path, function, mutator, change = key.split(" · ", 3)
        found = reasons.get(key)
        told = "not yet explained" if found is None else f"{'changes nothing: ' * found.equivalent}{found.reason}"
        where = f"`{path.removeprefix('src/signet/')}` {_cell(function)}"
        lines.append(f"| {where} | {mutator}: {_cell(change)} | {_plain(told)} |")
    return [*lines, ""]


def _cell(code: str) -> str:
    """Return code for a cell of a table: its bars and backticks would end the cell or the code."""
    return f"`` {_plain(code)} ``"


def _clauses(trials: dict[str, list[Trial]], removals: Removals) -> str:
    known = marked_tests()
    bare = {clause: told for clause in known if (told := _why_bare(clause, trials, removals))}
    lines = [
        "## Clauses",
        "",
        "Would the tests of a clause notice that its rule is gone? `python -m mutation --clauses` takes the rules of",
        "`mutation/removals/` away, one at a time, and runs the tests that carry the clause; a test that fails has to",
        "pass again with the rule. `mutation/clauses.json` has each removal with the test that failed.",
        "",
        f"Of {len(known)} clauses of the specifications ([spec-matrix.md](spec-matrix.md)), {len(known) - len(bare)}",
        "have a removal that a test of the clause noticed:",
        "",
        "| specification | clauses | noticed |",
        "|---|---:|---:|",
    ]
    for spec in sorted({clause.partition(".")[0] for clause in known}):
        here = [clause for clause in known if clause.partition(".")[0] == spec]
        lines.append(f"| {spec} | {len(here)} | {len([clause for clause in here if clause not in bare])} |")
    if bare:
        lines += ["", "| clause without such a removal | reason |", "|---|---|"]
        lines += [f"| `{clause}` | {_plain(reason)} |" for clause, reason in sorted(bare.items())]
    return "\n".join(lines) + "\n"


def _why_bare(clause: str, trials: dict[str, list[Trial]], removals: Removals) -> str:
    """Return why no test of a clause has noticed a removal; empty where one has."""
    tried = [(one, trial_of(trials, clause, one)) for one in removals.of(clause)]
    if any(trial and trial.test for _, trial in tried):
        return ""
    reasons = [one.why for one in removals.without if one.clause == clause]
    reasons += [f"{'no test notices' if trial else 'not tried yet'}: {one.what}" for one, trial in tried]
    return "; ".join(reasons) or "no removal is written"


def _plain(text: str) -> str:
    return text.replace("|", chr(92) + "|")
