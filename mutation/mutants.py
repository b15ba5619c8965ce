"""One change of one source file, and the name by which it is known from run to run."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

__all__ = ["Mutant", "numbered", "shortened"]

MAX_SHOWN = 110


@dataclass(frozen=True)
class Mutant:
    """A span of a file and the text that takes its place."""

    path: str
    function: str
    """Where the span is: the dotted name of the function or class, or the JSON pointer of a contract's keyword."""
    mutator: str
    before: str
    """The code around the span on one line, as a reader knows it again."""
    after: str
    start: int
    end: int
    text: str
    line: int
    end_line: int
    number: int = 0
    """Which one of equal changes in the same function."""

    @property
    def key(self) -> str:
        """Return the name of the mutant, which stays when lines are moved."""
        number = f" #{self.number + 1}" if self.number else ""
        return f"{self.path} · {self.function} · {self.mutator} · {self.before} → {self.after}{number}"

    @property
    def rank(self) -> str:
        """Return the place of the mutant in the order in which mutants are drawn."""
        return hashlib.sha256(self.key.encode()).hexdigest()

    def apply(self, source: str) -> str:
        """Return the source with the change; all other text stays."""
        return source[: self.start] + self.text + source[self.end :]


def shortened(code: str) -> str:
    """Return code on one line, cut where it is long."""
    line = " ".join(code.split())
    return line if len(line) <= MAX_SHOWN else f"{line[: MAX_SHOWN - 1]}…"


def numbered(mutants: list[Mutant]) -> list[Mutant]:
    """Return the mutants with a number where several would have one key."""
    seen: dict[str, int] = {}
    result = []
    for mutant in mutants:
        number = seen.get(mutant.key, 0)
        seen[mutant.key] = number + 1
        result.append(Mutant(**{**vars(mutant), "number": number}))
    return result
