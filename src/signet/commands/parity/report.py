"""The parity report: for each call, which channels agree and which differ. Pure.

The fields named `ways` and `way` hold channels; they are published by `signet parity --json`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any, Final

import msgspec

from signet.console.door_messages import Observation, as_text, differences, most_frequent
from signet.system.text import cut

from .corpus import CorpusCall

__all__ = [
    "OK",
    "SAME",
    "Difference",
    "Observation",
    "ParityReport",
    "RecordFields",
    "ReportRow",
    "compare",
    "mark_varying",
]

OK: Final = "OK"
SAME: Final = "same"
NOBODY: Final = "NOBODY"
"""The reference that channels are compared with if none of them answered a call."""
VALUES: Final = frozenset((SAME, "result", "record"))
"""The cells of a row in which all channels have one outcome."""
MAX_DIFF_LINES: Final = 120
MAX_LINE_CHARS: Final = 400

RecordFields = dict[str, Any]


class ReportRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """One call through all channels."""

    name: str
    tool: str
    outcome: str
    """The outcome in most channels: OK, or a canonical code."""
    ways: dict[str, str]
    """For each channel `same`, or its own code, or the part that differs (`result`, `record`)."""
    varies: bool = False
    """Whether its result differs from call to call, so that the channels have only their outcome in common."""

    @property
    def agrees(self) -> bool:
        """Whether all channels agree on this call, as far as two calls can."""
        return self.varies or all(cell == SAME for cell in self.ways.values())

    @property
    def differs_in_values(self) -> bool:
        """Whether the channels agree on the outcome, and differ in the values of the result alone."""
        return not self.agrees and set(self.ways.values()) <= VALUES


class Difference(msgspec.Struct, frozen=True):
    """One channel compared with the others."""

    call: str
    way: str
    against: str
    fields: list[str]
    """The paths of the fields that differ."""
    diff: str


class ParityReport(msgspec.Struct, frozen=True):
    """The comparison of a whole corpus."""

    ways: list[str]
    rows: list[ReportRow]
    first: Difference | None

    @property
    def agrees(self) -> bool:
        """Whether all channels agree on every call."""
        return all(row.agrees for row in self.rows)


def compare(calls: list[CorpusCall], channels: list[str], observations: list[list[Observation]]) -> ParityReport:
    """Compare the channels for each call; the observation of most channels is the reference for the others."""
    rows: list[ReportRow] = []
    first: Difference | None = None
    for call, observed in zip(calls, observations, strict=True):
        name, reference = _reference(channels, observed)
        cells = [_cell(reference, other) for other in observed]
        rows.append(ReportRow(call.name, call.tool, reference.code or OK, dict(zip(channels, cells, strict=True))))
        place = next((place for place, cell in enumerate(cells) if cell != SAME), None)
        if place is not None and first is None:
            first = _difference(call, (name, reference), (channels[place], observed[place]))
    return ParityReport(channels, rows, first)


def mark_varying(report: ParityReport, call_again: Callable[[int], bytes | None]) -> ParityReport:
    """Return a report that knows which results differ from call to call.

    `call_again` makes the call of a row through no channel at all, and returns its result, or None if it fails. It is
    asked twice for each row in which the channels differ in values alone.
    """
    rows = []
    for number, row in enumerate(report.rows):
        results = {call_again(number), call_again(number)} if row.differs_in_values else set()
        rows.append(msgspec.structs.replace(row, varies=len(results - {None}) > 1))
    kept = {row.name for row in rows if not row.agrees}
    first = report.first if report.first is not None and report.first.call in kept else None
    return msgspec.structs.replace(report, rows=rows, first=first)


def _reference(channels: list[str], observed: list[Observation]) -> tuple[str, Observation]:
    """Return the most frequent complete observation and the first channel that has it."""
    complete = [pair for pair in zip(channels, observed, strict=True) if pair[1].is_complete]
    place = most_frequent([observation.text() for _, observation in complete])
    return complete[place] if place is not None else (NOBODY, Observation(None, NOBODY, None))


def _cell(reference: Observation, other: Observation) -> str:
    if reference.code != other.code:
        return other.code or OK
    if as_text(reference.result) != as_text(other.result):
        return "result"
    return SAME if as_text(reference.record) == as_text(other.record) else "record"


def _difference(call: CorpusCall, reference: tuple[str, Observation], other: tuple[str, Observation]) -> Difference:
    (against, before), (channel, after) = reference, other
    fields = [path for path, _, _ in differences(msgspec.to_builtins(before), msgspec.to_builtins(after))]
    lines = difflib.unified_diff(
        before.text().splitlines(), after.text().splitlines(), against, channel, lineterm="", n=3
    )
    shown = [cut(line, MAX_LINE_CHARS) for line in lines]
    more = [f"… {len(shown) - MAX_DIFF_LINES} more lines"] if len(shown) > MAX_DIFF_LINES else []
    return Difference(call.name, channel, against, fields, "\n".join(shown[:MAX_DIFF_LINES] + more))
