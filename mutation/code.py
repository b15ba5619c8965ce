"""Python source as the mutators see it: a tree with parents, spans in characters, and what is left alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator

__all__ = ["Code"]

LOG_NAMES = {"log", "_log", "logger", "logging", "debug", "info", "warning", "_warning", "print"}
FORM_KEYWORDS = {"frozen", "kw_only", "slots", "gc", "eq", "order", "weakref", "dict", "cache_hash", "repr", "maxsize",
                 "strict"}  # fmt: skip
"""Keywords of classes, fields and caches that make no difference to what is answered."""


class Code:
    """The tree of a module with the text of its nodes."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.tree = ast.parse(source)
        self.parents: dict[ast.AST, ast.AST] = {}
        self._lines = source.splitlines(keepends=True)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))

    def nodes(self) -> Iterator[ast.AST]:
        """Give each node that may be mutated, in the order of the source."""
        yield from self._below(self.tree)

    def _below(self, node: ast.AST) -> Iterator[ast.AST]:
        for name, value in ast.iter_fields(node):
            for child in value if isinstance(value, list) else [value]:
                if not isinstance(child, ast.AST):
                    continue
                self.parents[child] = node
                if name in {"annotation", "returns"}:
                    yield from self._constraints(child)
                elif not _left_alone(child):
                    yield child
                    yield from self._below(child)

    def _constraints(self, annotation: ast.AST) -> Iterator[ast.AST]:
        """Give the limits within an annotation: an annotation is left alone, `Meta(ge=1)` in it is a rule."""
        for node in ast.walk(annotation):
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node
        for node in ast.walk(annotation):
            if isinstance(node, ast.Call) and _name(node.func) == "Meta":
                for keyword in node.keywords:
                    if isinstance(keyword.value, ast.Constant) and not isinstance(keyword.value.value, str):
                        yield keyword.value

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return where the text of a node begins and ends."""
        return (
            self._offset(node.lineno, node.col_offset),  # type: ignore[attr-defined]
            self._offset(node.end_lineno, node.end_col_offset),  # type: ignore[attr-defined]
        )

    def _offset(self, line: int, column: int) -> int:
        text = self._lines[line - 1]
        return self._starts[line - 1] + (column if text.isascii() else len(text.encode()[:column].decode()))

    def text(self, node: ast.AST) -> str:
        """Return the text of a node."""
        start, end = self.span(node)
        return self.source[start:end]

    def line_of(self, offset: int) -> int:
        """Return the number of the line in which a character is."""
        return self.source.count("\n", 0, offset) + 1

    def function_of(self, node: ast.AST) -> str:
        """Return the dotted name of the function or class around a node."""
        names: list[str] = []
        while node in self.parents:
            node = self.parents[node]
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.insert(0, node.name)
        return ".".join(names) or "<module>"

    def enclosing(self, node: ast.AST, kind: type[ast.AST] | tuple[type[ast.AST], ...]) -> ast.AST | None:
        """Return the nearest node of a kind around a node."""
        while node in self.parents:
            node = self.parents[node]
            if isinstance(node, kind):
                return node
        return None


def _left_alone(node: ast.AST) -> bool:
    """Return True for what holds no rule: docstrings, `__all__`, blocks for type checkers, logs, `__repr__`."""
    if isinstance(node, ast.Expr):
        call = node.value.value if isinstance(node.value, ast.Await) else node.value
        return isinstance(call, ast.Constant) or (isinstance(call, ast.Call) and _logs(call.func))
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in ast.dump(node.test)
    if isinstance(node, ast.Assign):
        return any(isinstance(one, ast.Name) and one.id in {"__all__", "__slots__"} for one in node.targets)
    if isinstance(node, ast.keyword):
        return node.arg in FORM_KEYWORDS
    if isinstance(node, ast.Call):
        return _logs(node.func) or _name(node.func) in {"TypeVar", "overload", "cast", "lru_cache"}
    return isinstance(node, ast.FunctionDef) and node.name in {"__repr__", "__str__"}


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _logs(function: ast.expr) -> bool:
    return _name(function) in LOG_NAMES
