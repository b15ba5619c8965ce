"""The source files of a tree: their lines, functions, comments and words."""

from __future__ import annotations

import ast
import io
import re
import statistics
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

__all__ = [
    "PACKAGE_FILES",
    "Figure",
    "Module",
    "docstrings_in",
    "exceptions",
    "nodes_in",
    "read_modules",
    "repeated_classes",
    "sizes",
    "top_level",
    "words_in",
]

PACKAGE_FILES: Final = {"__init__.py", "__main__.py", "py.typed"}

Figure = str | int | list[str]
"""The value of a row; a list counts by its length and is printed with --verbose."""


class Module(NamedTuple):
    """One source file of the package."""

    path: Path
    name: str
    text: str
    tree: ast.Module
    size: int


def read_modules(package: Path) -> Iterator[Module]:
    """Read every module of the package, in the order of their paths."""
    for path in sorted(package.rglob("*.py")):
        name = ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__")
        text = path.read_text(encoding="utf-8")
        yield Module(path, name, text, ast.parse(text), text.count("\n"))


def comments_in(text: str) -> list[tokenize.TokenInfo]:
    """Return the comments of a source text; a `#` inside a string is none."""
    return [token for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type == tokenize.COMMENT]


@cache
def nodes_in(tree: ast.Module) -> list[ast.AST]:
    """Return all nodes of a module; they are gone through many times."""
    return list(ast.walk(tree))


def docstrings_in(tree: ast.Module) -> set[ast.AST]:
    """Return the docstrings of a module, its classes, functions and constants."""
    values = (node.value for node in nodes_in(tree) if isinstance(node, ast.Expr))
    return {value for value in values if isinstance(value, ast.Constant) and isinstance(value.value, str)}


def kinds_of_lines(module: Module) -> Counter[str]:
    """Count the lines of a module by kind; a blank line of a docstring is blank."""
    kinds = dict.fromkeys(range(1, module.size + 1), "code")
    kinds |= {token.start[0]: "comment" for token in comments_in(module.text) if token.line.lstrip().startswith("#")}
    for node in docstrings_in(module.tree):
        kinds |= dict.fromkeys(range(node.lineno, node.end_lineno + 1), "docstring")
    kinds |= {number: "blank" for number, line in enumerate(module.text.split("\n")[:-1], 1) if not line.strip()}
    return Counter(kinds.values())


def spread(values: Iterable[int]) -> str:
    """Return median, 90th percentile and maximum."""
    ordered = sorted(values) or [0]
    return f"{statistics.median(ordered):g} / {ordered[len(ordered) * 9 // 10]} / {ordered[-1]}"


def sizes(modules: list[Module]) -> dict[str, Figure]:
    """Return the figures of modules, functions and lines."""
    kinds = sum(map(kinds_of_lines, modules), Counter())
    nodes = [node for module in modules for node in nodes_in(module.tree)]
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {
        "modules": len(modules),
        "lines": kinds.total(),
        **{f"lines: {kind}": kinds[kind] for kind in ("code", "docstring", "blank", "comment")},
        "lines per module: median / p90 / max": spread(module.size for module in modules),
        "functions": len(functions),
        "lines per function: median / p90 / max": spread(node.end_lineno - node.lineno + 1 for node in functions),
    }


def repeated_classes(modules: list[Module]) -> list[str]:
    """Return the public names of classes that are defined more than once, with their places."""
    places: dict[str, list[str]] = defaultdict(list)
    for module in modules:
        for node in nodes_in(module.tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(module.name)
    return [f"{name}: {', '.join(names)}" for name, names in sorted(places.items()) if len(names) > 1]


def exceptions(root: Path, mark: str, folders: str) -> list[str]:
    """Return the places of the comments that switch a checker off."""
    return [
        f"{path.relative_to(root).as_posix()}:{comment.start[0]}"
        for path in sorted(path for folder in folders.split(", ") for path in (root / folder).rglob("*.py"))
        if mark in (text := path.read_text(encoding="utf-8"))
        for comment in comments_in(text)
        if re.search(rf"#\s*(ruff:\s*)?{mark}\b", comment.string)
    ]


def top_level(package: Path) -> list[str]:
    """Return the modules and folders at the top level of the package; a folder of caches only is none."""
    files = (path.relative_to(package).parts for path in package.rglob("*") if path.is_file())
    return sorted({parts[0] for parts in files if "__pycache__" not in parts} - PACKAGE_FILES)


@cache
def words_in(tree: ast.Module) -> str:
    """Return the identifiers and the string constants of a module, one a line; docstrings are left out."""
    values = (value for node in set(nodes_in(tree)) - docstrings_in(tree) for value in vars(node).values())
    words = (word for value in values for word in (value if type(value) is list else (value,)))
    return "\n".join(str(word) for word in words if isinstance(word, str | bytes))
