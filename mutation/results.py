"""What a run found, small enough to be committed: `results.json`; and the reasons of survivors: `equivalent.toml`."""

from __future__ import annotations

import datetime as dt
import tomllib
from collections import Counter
from pathlib import Path

import msgspec

from .markers import place_of, scope_at, unmarked
from .mutants import Mutant
from .packages import ROOT, Package
from .running import Verdict

__all__ = ["FILE", "REASONS", "Proof", "Reason", "Results", "Score", "collect", "load", "read_reasons", "save"]

FILE = Path(__file__).with_name("results.json")
REASONS = Path(__file__).with_name("equivalent.toml")
PROOFS = 6
QUICK_S = 2.0


class Proof(msgspec.Struct, frozen=True):
    """A mutant and the test that kills it."""

    key: str
    test: str


class Reason(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why a mutant lives."""

    rule: str
    """The marker of the statement that is changed."""
    change: str
    """The key of the mutant behind its path and its function."""
    reason: str
    equivalent: bool
    """True where no test could tell the mutant from the original: it does not count."""

    def key(self, root: Path = ROOT) -> str:
        """Return the key of the mutant, where its marker stands now.

        Raises:
            MarkerError: the marker is not there exactly once.
        """
        place = place_of(self.rule, root)
        text, _ = unmarked((root / place.path).read_text(encoding="utf-8"))
        return f"{place.path} · {scope_at(text, place.line)} · {self.change}"


class Score(msgspec.Struct, frozen=True):
    """The figures of a package."""

    package: str
    files: list[str]
    exist: int
    run: int
    kinds: dict[str, int]
    survivors: list[str]
    proofs: list[Proof]
    """A few mutants with tests that kill them quickly, which `make test` tries again."""

    def unlike(self, reasons: dict[str, Reason]) -> list[str]:
        """Return the survivors that are not equivalent."""
        return [key for key in self.survivors if not (key in reasons and reasons[key].equivalent)]

    def share(self, reasons: dict[str, Reason]) -> float:
        """Return which part of the mutants that are not equivalent was killed."""
        killed = sum(self.kinds.values())
        return killed / max(1, killed + len(self.unlike(reasons)))


class Results(msgspec.Struct, frozen=True):
    """The figures of a run."""

    date: dt.date
    scores: list[Score]


def collect(package: Package, mutants: list[Mutant], drawn: list[Mutant], verdicts: dict[str, Verdict]) -> Score:
    """Return the figures of a package."""
    found = [verdicts[mutant.key] for mutant in drawn if mutant.key in verdicts]
    killed = [one for one in found if one.outcome == "killed"]
    quick = sorted((one for one in killed if one.kind == "assert" and "::" in one.test), key=lambda one: one.cpu_s)
    return Score(
        package.name,
        package.paths(),
        len(mutants),
        len(found),
        dict(sorted(Counter(one.kind for one in killed).items())),
        sorted(one.key for one in found if one.outcome != "killed"),
        [Proof(one.key, one.test) for one in quick[:PROOFS] if one.cpu_s < QUICK_S],
    )


def save(results: Results, file: Path = FILE) -> None:
    """Write the figures."""
    file.write_bytes(msgspec.json.format(msgspec.json.encode(results), indent=1) + b"\n")


def load(file: Path = FILE) -> Results:
    """Read the figures."""
    return msgspec.json.decode(file.read_bytes(), type=Results)


def read_reasons(file: Path = REASONS) -> dict[str, Reason]:
    """Return the reasons of survivors by the keys of the mutants."""
    entries = tomllib.loads(file.read_text(encoding="utf-8")).get("mutant", [])
    return {one.key(): one for one in msgspec.convert(entries, type=list[Reason])}
