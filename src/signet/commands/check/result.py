"""Results: what each check says of each tool. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

import msgspec

from signet.kernel.tools import Tool
from signet.kernel.toolset import Toolset

__all__ = ["CHECKS", "CheckReport", "CheckResult", "CheckState", "Subject"]

CHECKS: Final = {
    "contract": "The input and output contracts of a tool load and compile.",
    "frozen": "The types agree with the contracts that were frozen, and nothing breaks without a higher version.",
    "satisfiable": "There are values that keep the input and the output contract.",
    "example": "A tool has an example, and a call with it succeeds and keeps both contracts.",
    "wrong-input": "Arguments that break the input contract are refused before the tool runs.",
    "parity": "The example has the same result through every door.",
    "client": "The clients of several makes take the tool as it is.",
    "secret": "No name, title, description, default or example holds a secret.",
}
"""What each check demands, in the order in which they run."""


class CheckState(StrEnum):
    """What a check says."""

    OK = "ok"
    WARNING = "warning"
    """Worth mending; it fails a strict check only."""
    FAILED = "failed"
    SKIPPED = "skipped"
    """Not run, because another check failed."""


class Subject(msgspec.Struct, frozen=True):
    """One tool that is checked."""

    toolset: Toolset
    tool: Tool

    @property
    def place(self) -> tuple[str, int] | None:
        """The file and the line of the tool's function."""
        if self.tool.defined_at is not None:
            return self.tool.defined_at
        code = getattr(self.tool.run, "__code__", None)
        return (code.co_filename, code.co_firstlineno) if code is not None else None

    def ok(self, check: str, message: str = "") -> CheckResult:
        """Return a result: the check holds."""
        return self._result(check, CheckState.OK, message)

    def warning(self, check: str, message: str) -> CheckResult:
        """Return a result: the check holds, with a remark."""
        return self._result(check, CheckState.WARNING, message)

    def failed(self, check: str, message: str) -> CheckResult:
        """Return a result: the check does not hold."""
        return self._result(check, CheckState.FAILED, message)

    def skipped(self, check: str, message: str) -> CheckResult:
        """Return a result: the check was not run."""
        return self._result(check, CheckState.SKIPPED, message)

    def _result(self, check: str, state: CheckState, message: str) -> CheckResult:
        return CheckResult(self.toolset.name, self.tool.slug, check, state, message, self.place)


class CheckResult(msgspec.Struct, frozen=True):
    """What one check says of one tool."""

    toolset: str
    tool: str
    """The slug; empty for what concerns the whole toolset."""
    check: str
    state: CheckState
    message: str = ""
    place: tuple[str, int] | None = None
    """The file and the line of the code."""


class CheckReport(msgspec.Struct, frozen=True):
    """All results of a run."""

    targets: list[str]
    results: list[CheckResult]
    is_strict: bool = False
    title: str = "signet check"
    """The command that reports."""
    rules: Mapping[str, str] = msgspec.field(default_factory=lambda: CHECKS)
    """What each check demands."""

    def fails(self, result: CheckResult) -> bool:
        """Return whether a result fails the run."""
        return result.state is CheckState.FAILED or (self.is_strict and result.state is CheckState.WARNING)

    @property
    def passes(self) -> bool:
        """Whether no result fails the run."""
        return not any(map(self.fails, self.results))

    def count(self, state: CheckState) -> int:
        """Return the number of results of a state."""
        return sum(result.state is state for result in self.results)
