"""All mutants of a package, and those of them that a run draws: the same ones in each run."""

from __future__ import annotations

from pathlib import Path

from .contracts import mutate_contract
from .mutants import Mutant
from .mutators import mutate_python
from .packages import ROOT, Package

__all__ = ["all_mutants", "drawn"]


def all_mutants(package: Package, root: Path = ROOT) -> list[Mutant]:
    """Return every mutant of a package."""
    return [mutant for path in package.paths(root) for mutant in mutants_of(path, root)]


def mutants_of(path: str, root: Path = ROOT) -> list[Mutant]:
    """Return every mutant of a file."""
    source = (root / path).read_text(encoding="utf-8")
    return mutate_python(path, source) if path.endswith(".py") else mutate_contract(path, source)


def drawn(mutants: list[Mutant], number: int) -> list[Mutant]:
    """Return a number of mutants that depend on their keys alone: a larger number holds those of a smaller one."""
    return sorted(mutants, key=lambda mutant: mutant.rank)[:number]
