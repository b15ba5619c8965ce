"""The rules of the specifications, taken away by hand: one file for each specification in `removals/`.

    [[removal]]                                    [[without]]
    clauses = ["4.cors.headers"]                   clause = "4.context.example"
    what = "any header is allowed"                 why = "…"
    path = "src/signet/transports/rest.py"
    before = '''…'''                               the text occurs exactly once in the file
    after = '''…'''

A removal that needs more than one change has `changes = [{path, before, after}, …]` instead, made one after another.
"""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path

import msgspec

from .packages import ROOT

__all__ = ["FOLDER", "Change", "Removal", "RemovalError", "Removals", "Without", "read_removals"]

FOLDER = Path(__file__).with_name("removals")


class RemovalError(ValueError):
    """The source is no longer what a removal was written for."""


class Change(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A text of a file and what takes its place."""

    path: str
    before: str
    after: str

    def apply(self, source: str) -> str:
        """Return the source with the change.

        Raises:
            RemovalError: the text does not occur exactly once.
        """
        if (number := source.count(self.before)) != 1:
            raise RemovalError(f"{self.path} has {number} times what one removal takes away: {self.before!r}")
        return source.replace(self.before, self.after)


class Removal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rule that is taken away, and the clauses whose tests must notice it."""

    clauses: list[str]
    what: str
    path: str = ""
    before: str = ""
    after: str = ""
    changes: list[Change] = []

    def all_changes(self) -> list[Change]:
        """Return the changes, however they were written down."""
        return self.changes or [Change(self.path, self.before, self.after)]

    def texts(self, root: Path = ROOT) -> dict[str, str]:
        """Return the files that are changed, as they are without the rule.

        Raises:
            RemovalError: a text does not occur exactly once in its file.
        """
        found: dict[str, str] = {}
        for change in self.all_changes():
            source = found.get(change.path) or (root / change.path).read_text(encoding="utf-8")
            found[change.path] = change.apply(source)
        return found

    @property
    def digest(self) -> str:
        """Return what tells this removal from an earlier one of the same clauses."""
        return hashlib.sha256(msgspec.json.encode(self.all_changes())).hexdigest()[:12]


class Without(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A clause that no removal can be written for."""

    clause: str
    why: str


class Removals(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the files say."""

    removal: list[Removal] = []
    without: list[Without] = []

    def of(self, clause: str) -> list[Removal]:
        """Return the removals of a clause."""
        return [one for one in self.removal if clause in one.clauses]


def read_removals(folder: Path = FOLDER) -> Removals:
    """Read the files of all specifications."""
    found = Removals()
    for path in sorted(folder.glob("*.toml")):
        more = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), type=Removals)
        found = Removals([*found.removal, *more.removal], [*found.without, *more.without])
    return found
