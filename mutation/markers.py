"""The places of rules in the source: a comment `# rule: NAME` marks a statement, wherever its module lies.

A marker ends a line of the statement, or stands on a line of its own above it. Contracts are JSON, which has no
comments: they are found by the names of their files.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .packages import ROOT

__all__ = ["MarkerError", "Place", "contract_path", "marked", "place_of", "scope_at", "unmarked"]

MARKER = re.compile(r"(?P<alone>^ *|  )# rule: (?P<name>[^ #]+)$")
SOURCE = "src/signet"


class MarkerError(ValueError):
    """The source has no such marker, or more than one."""


@dataclass(frozen=True)
class Place:
    """Where a marker stands, in the text of its file without any markers."""

    name: str
    path: str
    line: int
    """The line whose statement is marked."""

    def span(self, text: str) -> tuple[int, int]:
        """Return where the smallest statement around the line begins and ends."""
        lines = text.splitlines(keepends=True)
        statement = statement_at(ast.parse(text), self.line)
        start = sum(map(len, lines[: statement.lineno - 1])) + _chars(lines, statement.lineno, statement.col_offset)
        last = statement.end_lineno or statement.lineno
        end = sum(map(len, lines[: last - 1])) + _chars(lines, last, statement.end_col_offset or 0)
        return start, end

    def line_start(self, text: str) -> int:
        """Return where the line begins."""
        return sum(map(len, text.splitlines(keepends=True)[: self.line - 1]))


def _chars(lines: list[str], line: int, column: int) -> int:
    """Return a column of a syntax tree, which counts bytes, in characters."""
    return len(lines[line - 1].encode()[:column].decode())


def statement_at(tree: ast.Module, line: int) -> ast.stmt:
    """Return the smallest statement around a line."""
    around = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and line in _lines(node)]
    return min(around, key=lambda node: (len(_lines(node)), -node.col_offset))


def _lines(node: ast.stmt) -> range:
    """Return the lines of a statement, its decorators among them."""
    first = min(one.lineno for one in (node, *getattr(node, "decorator_list", ())))
    return range(first, (node.end_lineno or node.lineno) + 1)


def scope_at(text: str, line: int) -> str:
    """Return the dotted name of the function or class around a line."""
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    around = (node for node in ast.walk(ast.parse(text)) if isinstance(node, definitions))
    found = [node for node in around if line in _lines(node)]
    return ".".join(node.name for node in sorted(found, key=lambda node: node.lineno)) or "<module>"


def unmarked(text: str, path: str = "") -> tuple[str, list[Place]]:
    """Return a text without its markers, and their places in it."""
    kept: list[str] = []
    places = []
    for line in text.splitlines(keepends=True):
        found = MARKER.search(line.rstrip("\n"))
        if found is None:
            kept.append(line)
            continue
        is_alone = not line[: found.start("alone")].strip() and not found["alone"].strip() and found.start() == 0
        if not is_alone:
            kept.append(f"{line[: found.start()]}\n")
        places.append(Place(found["name"], path, len(kept) + is_alone))
    return "".join(kept), places


@functools.cache
def marked(root: Path = ROOT) -> dict[str, list[Place]]:
    """Return the places of all markers by their names."""
    found: dict[str, list[Place]] = {}
    for place in _all_places(root):
        found.setdefault(place.name, []).append(place)
    return found


def _all_places(root: Path) -> Iterator[Place]:
    for path in sorted((root / SOURCE).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "# rule: " in text:
            yield from unmarked(text, path.relative_to(root).as_posix())[1]


def place_of(name: str, root: Path = ROOT) -> Place:
    """Return the one place of a marker.

    Raises:
        MarkerError: there is none, or there are several.
    """
    places = marked(root).get(name, [])
    if len(places) != 1:
        where = "".join(f", {place.path}" for place in places)
        raise MarkerError(f"the source has {len(places)} times the marker '# rule: {name}'{where}")
    return places[0]


def contract_path(name: str, root: Path = ROOT) -> str:
    """Return the path of the contract with a name, such as `plantuml.encode` or `envelope.schema`.

    Raises:
        MarkerError: there is none, or there are several.
    """
    found = [path.relative_to(root).as_posix() for path in (root / SOURCE).rglob(f"{name}.json")]
    if len(found) != 1:
        raise MarkerError(f"the source has {len(found)} contracts with the name {name}")
    return found[0]
