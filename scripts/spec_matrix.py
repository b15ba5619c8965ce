"""Write docs/spec-matrix.md: each clause of the specifications, our reading of it, and the tests that prove it.

    tests/spec/clauses.toml ──┐
                              ├── matrix ── docs/spec-matrix.md
    marks in tests/**/*.py ───┘

Marks are read from the source text, so that no test is imported. With --check nothing is written:
a clause without a test, a mark without a clause or a page that has drifted is told, and the status is 1.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["Book", "Clause", "Mark", "main", "marks_in", "page", "read_clauses", "read_marks", "troubles"]

ROOT = Path(__file__).resolve().parent.parent
CLAUSES = Path("tests/spec/clauses.toml")
PAGE = Path("docs/spec-matrix.md")


class Clause(NamedTuple):
    """One sentence of a specification, in our words."""

    id: str
    text: str
    reading: str


class Book(NamedTuple):
    """Everything that the clauses' file says."""

    titles: dict[str, str]
    clauses: list[Clause]
    not_tested: list[tuple[str, str]]


class Mark(NamedTuple):
    """One clause id on one test."""

    clause: str
    path: str
    test: str


def read_clauses(text: str) -> Book:
    """Read the clauses' file.

    Raises:
        ValueError: a clause stands there twice, has an unknown key or belongs to no specification.
    """
    raw = tomllib.loads(text)
    book = Book(
        raw["specs"],
        [Clause(**{"reading": "", **one}) for one in raw["clause"]],
        [(one["part"], one["why"]) for one in raw.get("not_tested", [])],
    )
    ids = [clause.id for clause in book.clauses]
    wrong = sorted({one for one in ids if ids.count(one) > 1 or one.split(".")[0] not in book.titles})
    if wrong:
        message = f"these clauses stand twice or belong to no specification: {', '.join(wrong)}"
        raise ValueError(message)
    return book


def read_marks(root: Path) -> list[Mark]:
    """Read the marks of every test below a checkout, in the order of their files."""
    return [
        mark
        for path in sorted((root / "tests").rglob("test_*.py"))
        for mark in marks_in(path.read_text(encoding="utf-8"), path.relative_to(root).as_posix())
    ]


def marks_in(source: str, path: str) -> list[Mark]:
    """Read the marks of one test module: on functions, in their parameters, or for the whole module.

    Raises:
        ValueError: a mark is not plain text or hangs on something that is no test.
    """
    if "mark.spec" not in source:
        return []
    module = ast.parse(source, path)
    tests = [
        node
        for node in module.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    ]
    whole = [node.value for node in module.body if _is_pytestmark(node)]  # type: ignore[attr-defined]
    shared = [clause for value in whole for clause in _clauses(value, path)]
    own = {test.name: [c for one in test.decorator_list for c in _clauses(one, path)] for test in tests}
    placed = len(shared) + sum(map(len, own.values()))
    if placed != len(list(_clauses(module, path))):
        message = f"{path}: a spec mark hangs on something that is no test function"
        raise ValueError(message)
    return [Mark(clause, path, test.name) for test in tests for clause in dict.fromkeys([*shared, *own[test.name]])]


def _is_pytestmark(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "pytestmark" for t in node.targets)


def _clauses(tree: ast.AST, path: str) -> Iterator[str]:
    """Give the arguments of every `pytest.mark.spec(…)` below a node."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.spec"):
            continue
        for argument in node.args:
            if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
                message = f"{path}:{node.lineno}: a spec mark takes plain text only"
                raise ValueError(message)  # noqa: TRY004 - the text is wrong, not a caller's type
            yield argument.value


def troubles(book: Book, marks: list[Mark]) -> list[str]:
    """Say which clauses have no test, and which marks no clause."""
    known = {clause.id for clause in book.clauses}
    proven = {mark.clause for mark in marks}
    bare = [clause.id for clause in book.clauses if clause.id not in proven]
    stray = [mark for mark in marks if mark.clause not in known]
    return [
        *(f"no test carries the clause {clause}" for clause in bare),
        *(f"{mark.path}::{mark.test} carries {mark.clause}, which is no clause" for mark in stray),
    ]


def page(book: Book, marks: list[Mark]) -> str:
    """Write the page."""
    lines = [
        "# Spec matrix",
        "",
        "Every clause of the specifications, our reading where they contradict themselves or are silent, and the tests",
        "that prove it. Generated by `scripts/spec_matrix.py` from `tests/spec/clauses.toml` and the tests' marks.",
    ]
    for spec, title in book.titles.items():
        lines += ["", f"## Spec {spec}: {title}", "", "| clause | sentence | reading | tests |", "|---|---|---|---|"]
        lines += [
            _row(f"`{clause.id}`", clause.text, clause.reading, _links(clause.id, marks))
            for clause in book.clauses
            if clause.id.split(".")[0] == spec
        ]
    if book.not_tested:
        lines += ["", "## Not tested", "", "| part | why |", "|---|---|"]
        lines += [_row(part, why) for part, why in book.not_tested]
    return "\n".join(lines) + "\n"


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _links(clause: str, marks: list[Mark]) -> str:
    return "<br>".join(f"[{mark.test}](../{mark.path})" for mark in marks if mark.clause == clause)


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Write the page, or with --check compare it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 on drift, gaps or unknown marks")
    check = parser.parse_args(arguments).check

    book, marks = read_clauses((root / CLAUSES).read_text(encoding="utf-8")), read_marks(root)
    fresh, target = page(book, marks), root / PAGE
    found = troubles(book, marks)
    if check:
        stale = target.read_text(encoding="utf-8") if target.exists() else ""
        found += difflib.unified_diff(
            stale.splitlines(), fresh.splitlines(), PAGE.as_posix(), "what it should be", lineterm=""
        )
    else:
        target.parent.mkdir(exist_ok=True)
        target.write_text(fresh, encoding="utf-8", newline="\n")
    for line in found:
        print(line, file=sys.stdout if check else sys.stderr)
    return 1 if check and found else 0


if __name__ == "__main__":
    sys.exit(main())
