"""The check of parity: the examples give the same results through every door, each door a process of its own."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final

import msgspec

from signet.commands.parity.corpus import CorpusCall
from signet.commands.parity.engine import run_corpus
from signet.commands.parity.report import SAME, ParityReport, ReportRow, mark_varying
from signet.kernel.outcome import Outcome
from signet.kernel.toolset import Toolset
from signet.settings.fields import join_list, settings_of
from signet.settings.model import EnabledToolset, Settings
from signet.settings.names import PREFIX

from .calls import call_example, example_value
from .result import CheckResult, Subject

__all__ = ["check_parity"]

MAX_DIFF_CHARS: Final = 600


def check_parity(
    subjects: list[Subject], targets: list[str], settings: Settings, on_progress: Callable[[str], None]
) -> list[CheckResult]:
    """Make the call of each example through every door, and compare the results and the journals."""
    if not subjects:
        return []
    calls = [CorpusCall(one.tool.name, one.tool.name, one.tool.slug, example_value(one.tool)) for one in subjects]
    toolsets = list(dict.fromkeys(one.toolset.name for one in subjects))
    report = run_corpus(
        calls,
        toolsets,
        settings=_variables(targets, settings),
        on_progress=lambda call, channel: on_progress(f"parity: {call.tool} over {channel.name}"),
    )
    report = mark_varying(report, lambda number: _call_again(subjects[number], settings))
    return [_judged(one, row, report) for one, row in zip(subjects, report.rows, strict=True)]


def _judged(subject: Subject, row: ReportRow, report: ParityReport) -> CheckResult:
    doors = len(row.ways)
    if row.varies:
        return subject.ok("parity", f"its result differs from call to call; the outcome is the same over {doors} doors")
    if row.agrees:
        return subject.ok("parity")
    differing = {way: cell for way, cell in row.ways.items() if cell != SAME}
    told = ", ".join(f"{way}: {cell}" for way, cell in differing.items())
    first = report.first
    diff = f"\n{first.diff[:MAX_DIFF_CHARS]}" if first is not None and first.call == row.name else ""
    return subject.failed("parity", f"not all {doors} doors say {row.outcome} alike ({told}){diff}")


def _call_again(subject: Subject, settings: Settings) -> bytes | None:
    outcome = call_example(subject, settings)
    return outcome.body if isinstance(outcome, Outcome) and outcome.fault is None else None


def _variables(targets: list[str], settings: Settings) -> dict[str, str]:
    """Return the variables by which a process finds the same tools, settings and recording."""
    variables = {f"{PREFIX}TOOLSETS": join_list(targets), f"{PREFIX}CALL_TIMEOUT_S": f"{settings.call_timeout_s:g}"}
    if settings.replay:
        variables[f"{PREFIX}REPLAY"] = settings.replay
    for enabled in settings.enabled():
        if find_base(enabled.toolset).sandbox is None:
            variables |= _own_variables(enabled)
    return variables


def find_base(toolset: Toolset) -> Toolset:
    """Return the toolset whose settings and sandbox another one uses, or itself."""
    from signet.settings.catalogue import find_toolset

    return find_toolset(toolset.domain)


def _own_variables(enabled: EnabledToolset) -> dict[str, str]:
    """Return the settings of a toolset as variables, and the variables of its name that its code may read itself."""
    toolset, own = enabled
    prefix = f"{toolset.domain.replace('-', '_')}_".upper()
    given = {name: value for name, value in os.environ.items() if name.startswith(prefix)}
    values = {field.name: getattr(own, field.name) for field in settings_of(toolset.settings)}
    return given | {prefix + name.upper(): _text(value) for name, value in values.items() if value is not None}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
