"""The imports of a tree, inside functions and in dotted strings too: its rooms, their edges, cycles, lonely modules."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Mapping
from importlib.util import resolve_name
from typing import Final

from .tree import PACKAGE_FILES, Module, docstrings_in, nodes_in

__all__ = ["cycles", "edges", "imports_in", "mergeable", "room_of", "rooms"]

MAX_MODULE_LINES: Final = 500
ROOT: Final = "signet"
FLOORS: Final = {"features", "domains"}
"""The folders each folder of which is a room."""
FEATURE_TABLE: Final = "signet.features"
"""The table of features, which names modules of all of them."""
DOTTED: Final = re.compile(r"(signet(?:\.\w+)+)(:\w+)?")

Imports = Mapping[str, set[str]]


def imports_in(modules: list[Module]) -> Imports:
    """Return the modules of the package that each module imports; the package itself is left out."""
    files = {module.name: module.path.name for module in modules if module.name != ROOT}
    return {module.name: _imports_of(module, files) for module in modules if module.name != ROOT}


def _imports_of(module: Module, files: Mapping[str, str]) -> set[str]:
    package = module.name if module.path.name == "__init__.py" else module.name.rpartition(".")[0]
    names: set[str] = set()
    for node in nodes_in(module.tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), package)
            names |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
    if module.name != FEATURE_TABLE:
        names |= _named_in(module, files)
    return names & files.keys() - {module.name}


def _named_in(module: Module, files: Mapping[str, str]) -> set[str]:
    """Return the modules whose dotted paths are strings; a package counts with a name: `signet.lock` is a file."""
    docstrings = docstrings_in(module.tree)
    found = (
        match
        for node in nodes_in(module.tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings
        if (match := DOTTED.fullmatch(node.value))
    )
    return {match[1] for match in found if match[2] or files.get(match[1], "__init__.py") != "__init__.py"}


def room_of(name: str) -> str:
    """Return the room of a module: a folder or module at the top, or a folder below a floor."""
    parts = name.split(".")
    return "/".join(parts[1 : 3 if parts[1] in FLOORS else 2])


def rooms(imports: Imports) -> list[str]:
    """Return all rooms."""
    return sorted({room_of(name) for name in imports})


def edges(imports: Imports) -> list[str]:
    """Return the pairs of rooms of which one imports the other."""
    pairs = {(room_of(importer), room_of(name)) for importer, names in imports.items() for name in names}
    return [f"{importer} -> {room}" for importer, room in sorted(pairs) if importer != room]


def mergeable(modules: list[Module], imports: Imports) -> list[str]:
    """Return the modules that have one importer, lie in its folder and would fit into it; no `__init__` takes part."""
    by_name = {module.name: module for module in modules}
    importers: dict[str, list[Module]] = defaultdict(list)
    for importer, names in imports.items():
        for name in names:
            importers[name].append(by_name[importer])
    pairs = [(module, importers[module.name][0]) for module in modules if len(importers[module.name]) == 1]
    return [
        f"{module.name} ({module.size}) into {importer.name} ({importer.size})"
        for module, importer in pairs
        if module.path.parent == importer.path.parent
        and module.size + importer.size <= MAX_MODULE_LINES
        and not {module.path.name, importer.path.name} & PACKAGE_FILES
    ]


def cycles(imports: Imports) -> list[str]:
    """Return the groups of modules that import each other, lazy and type-only imports counted."""
    reached = {name: _reached(imports, name) for name in imports}
    groups = {
        frozenset(one for one in reached[name] if name in reached[one]) for name in imports if name in reached[name]
    }
    return sorted(" <-> ".join(sorted(group)) for group in groups)


def _reached(imports: Imports, start: str) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = imports[waiting.pop()] - found
        found |= new
        waiting += new
    return found
