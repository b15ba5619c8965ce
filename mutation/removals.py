"""The rules of the specifications, taken away by hand: one file for each specification in `removals/`.

    [[removal]]                                    [[without]]
    clauses = ["4.cors.headers"]                   clause = "4.context.example"
    what = "any header is allowed"                 why = "…"
    rule = "4.cors.headers"                        the statement with the comment `# rule: 4.cors.headers`
    before = '''…'''                               the first such text from the marked line on; without it, all of the
    after = '''…'''                                statement is replaced

A removal that needs more than one change has `changes = [{rule, before, after}, …]` instead. A rule of a contract has
`contract`, the name of its file, in place of `rule`, and its text occurs exactly once there.
"""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path

import msgspec

from .markers import contract_path, place_of, unmarked
from .packages import ROOT

__all__ = ["FOLDER", "Change", "Removal", "RemovalError", "Removals", "Without", "read_removals"]

FOLDER = Path(__file__).with_name("removals")


class RemovalError(ValueError):
    """The source is no longer what a removal was written for."""


class Change(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A text of a marked statement, or of a contract, and what takes its place."""

    rule: str = ""
    before: str = ""
    after: str = ""
    contract: str = ""

    def path(self, root: Path = ROOT) -> str:
        """Return the path of the file that is changed."""
        return contract_path(self.contract, root) if self.contract else place_of(self.rule, root).path

    def span(self, text: str, root: Path = ROOT) -> tuple[int, int]:
        """Return what is replaced of a text without markers.

        Raises:
            RemovalError: the text is not where the marker is, or occurs more than once in a contract.
        """
        if self.contract:
            if (number := text.count(self.before)) != 1:
                raise RemovalError(f"{self.contract} has {number} times what one removal takes away: {self.before!r}")
            start = text.index(self.before)
            return start, start + len(self.before)
        place = place_of(self.rule, root)
        begin, end = place.span(text)
        if not self.before:
            return begin, end
        start = text.find(self.before, place.line_start(text))
        if not 0 <= start < end:
            where = f"the statement at '# rule: {self.rule}'"
            raise RemovalError(f"{where} lacks what a removal takes away: {self.before!r}")
        return start, start + len(self.before)


class Removal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rule that is taken away, and the clauses whose tests must notice it."""

    clauses: list[str]
    what: str
    rule: str = ""
    before: str = ""
    after: str = ""
    contract: str = ""
    changes: list[Change] = []

    def all_changes(self) -> list[Change]:
        """Return the changes, however they were written down."""
        return self.changes or [Change(self.rule, self.before, self.after, self.contract)]

    def texts(self, root: Path = ROOT) -> dict[str, str]:
        """Return the files that are changed, as they are without the rule, and without markers.

        Raises:
            RemovalError: a text is not where its marker is.
            MarkerError: a marker is not there exactly once.
        """
        found: dict[str, str] = {}
        for path, changes in self._by_path(root).items():
            text, _ = unmarked((root / path).read_text(encoding="utf-8"))
            # From the end on, so that the earlier spans stay where they are.
            for (start, end), after in sorted(((one.span(text, root), one.after) for one in changes), reverse=True):
                text = f"{text[:start]}{after}{text[end:]}"
            found[path] = text
        return found

    def _by_path(self, root: Path) -> dict[str, list[Change]]:
        found: dict[str, list[Change]] = {}
        for change in self.all_changes():
            found.setdefault(change.path(root), []).append(change)
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
