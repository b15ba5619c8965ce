"""The parity report: for each call, which channels agree and which differ. Pure.

The fields named `ways` and `way` hold channels; they are published by `signet parity --json`.
"""

from __future__ import annotations

import difflib
from typing import Any, Final

import msgspec

from signet.door_messages import Observation, as_text, differences, most_frequent

from .corpus import CorpusCall

__all__ = ["OK", "SAME", "Difference", "Observation", "ParityReport", "RecordFields", "ReportRow", "compare"]

OK: Final = "OK"
SAME: Final = "same"
NOBODY: Final = "NOBODY"
"""The reference that channels are compared with if none of them answered a call."""
MAX_DIFF_LINES: Final = 120
MAX_LINE_CHARS: Final = 400

RecordFields = dict[str, Any]


class ReportRow(msgspec.Struct, frozen=True):
    """One call through all channels."""

    name: str
    tool: str
    outcome: str
    """The outcome in most channels: OK, or a canonical code."""
    ways: dict[str, str]
    """For each channel `same`, or its own code, or the part that differs (`result`, `record`)."""

    @property
    def agrees(self) -> bool:
        """Whether all channels agree on this call."""
        return all(cell == SAME for cell in self.ways.values())


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
        return self.first is None


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
    shown = [line if len(line) <= MAX_LINE_CHARS else line[:MAX_LINE_CHARS] + "…" for line in lines]
    more = [f"… {len(shown) - MAX_DIFF_LINES} more lines"] if len(shown) > MAX_DIFF_LINES else []
    return Difference(call.name, channel, against, fields, "\n".join(shown[:MAX_DIFF_LINES] + more))
