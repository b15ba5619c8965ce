"""The checks of a wrapped server that call its tools: only those that say that they only read, and only if asked to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from signet.app import build_server
from signet.commands.call import walk
from signet.commands.parity.corpus import CorpusCall
from signet.commands.parity.report import SAME, ReportRow
from signet.commands.parity.servers import run_servers
from signet.commands.wrapped import learn
from signet.kernel.errors import Code
from signet.kernel.outcome import Outcome
from signet.kernel.schemas import schema_of
from signet.proofs.examples import example_of
from signet.relay.listing import Listed
from signet.settings.model import Settings
from signet.settings.server_spec import ServerSpec, Wrapping

from .result import CheckResult, Subject
from .servers import CheckedServer, check_server

__all__ = ["check_servers"]

NOT_ASKED: Final = "it is called with --call only"
MAY_CHANGE: Final = "it does not say that it only reads, so no check calls it"
LOST: Final = "SERVER_LOST"
MAX_CHARS: Final = 300


def check_servers(
    specs: Sequence[ServerSpec],
    settings: Settings,
    on_progress: Callable[[str], None],
    lock_file: str,
    *,
    prefixed: bool,
    makes_calls: bool,
) -> list[CheckResult]:
    """Run every check on wrapped servers, and return the results, those of one tool together.

    Names of tools that are `prefixed` begin with the server's name, as several servers are served.
    """
    results: list[CheckResult] = []
    for spec in specs:
        checked = check_server(spec, lock_file, on_progress, prefix=f"{spec.name}_" if prefixed else "")
        found = [*checked.results, *_check_calls(checked, settings, on_progress, is_asked=makes_calls)]
        places = {tool: place for place, tool in enumerate(dict.fromkeys(one.tool for one in found))}
        results += sorted(found, key=lambda one: places[one.tool])
    return results


def _check_calls(
    checked: CheckedServer, settings: Settings, on_progress: Callable[[str], None], *, is_asked: bool
) -> list[CheckResult]:
    """Call each tool that only reads with arguments that keep its contract, here and then through every door."""
    results: list[CheckResult] = []
    wanted: list[tuple[Subject, Listed, dict[str, Any]]] = []
    for subject, one in checked.tools:
        reads_only = bool(one.tool.annotations.get("readOnlyHint"))
        arguments = example_of(schema_of(one.bundle.input)) if is_asked and reads_only else None
        if isinstance(arguments, dict):
            wanted.append((subject, one, arguments))
        else:
            why = "no arguments are found" if is_asked and reads_only else NOT_ASKED if reads_only else MAY_CHANGE
            results.append(subject.skipped("example", why))
    if not wanted:
        return results
    on_progress(f"calling {checked.spec.name}")
    outcomes = asyncio.run(_call_all(checked, settings, wanted))
    found = [_judged(subject, outcome) for (subject, _, _), outcome in zip(wanted, outcomes, strict=True)]
    return [*results, *found, *_parity(checked, wanted, on_progress)]


async def _call_all(
    checked: CheckedServer, settings: Settings, wanted: list[tuple[Subject, Listed, dict[str, Any]]]
) -> list[Outcome]:
    # Under its own names: what is checked is the server, not who it is served beside.
    wrapping = Wrapping(servers=(checked.spec,), lock="off", is_private=True)
    server = build_server(replace(settings, toolsets="", wrapping=wrapping))
    try:
        await learn(server)
        return [await walk(server, one.own_name, arguments) for _, one, arguments in wanted]
    finally:
        await server.close()


def _judged(subject: Subject, outcome: Outcome) -> CheckResult:
    fault = outcome.fault
    shown = msgspec.json.encode(outcome.call.arguments).decode()[:MAX_CHARS]
    if fault is None:
        return subject.ok("example", f"called with {shown}")
    told = f"{fault.code}: {fault.message}"[:MAX_CHARS]
    if fault.code is Code.INVALID_OUTPUT or fault.name == LOST:
        return subject.failed("example", f"a call with {shown} fails: {told}")
    return subject.ok("example", f"an error answers the made-up arguments {shown}, which promises nothing ({told})")


def _parity(
    checked: CheckedServer, wanted: list[tuple[Subject, Listed, dict[str, Any]]], on_progress: Callable[[str], None]
) -> list[CheckResult]:
    name = checked.spec.name
    calls = [
        CorpusCall(one.own_name, f"{name}_{one.own_name}", one.tool.slug, arguments) for _, one, arguments in wanted
    ]
    report = run_servers(
        calls, [checked.spec], lambda call, channel: on_progress(f"parity: {call.name} over {channel.name}")
    )
    return [_compared(subject, row) for (subject, _, _), row in zip(wanted, report.rows, strict=True)]


def _compared(subject: Subject, row: ReportRow) -> CheckResult:
    if row.agrees:
        return subject.ok("parity")
    differing = {way: cell for way, cell in row.ways.items() if cell != SAME}
    told = ", ".join(f"{way}: {cell}" for way, cell in differing.items())
    if row.differs_in_values:
        return subject.warning("parity", f"its results differ from call to call, or between doors ({told})")
    return subject.failed("parity", f"not all {len(row.ways)} doors say {row.outcome} alike ({told})")
