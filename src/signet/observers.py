"""Who is told of calls, requests and refusals: the journal, the logs and the telemetry."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from signet.kernel.errors import place_of
from signet.kernel.outcome import Outcome
from signet.kernel.pipeline import Observer
from signet.kernel.wire import encode
from signet.runs import Run
from signet.settings.model import Settings, open_log
from signet.settings.usage import UsageError
from signet.system.logs import DEBUG, ERROR, INFO, WARN, LimitedLog, Log

if TYPE_CHECKING:
    from signet.console.watch import Watch
    from signet.journal.retention import Retention
    from signet.journal.writer import JournalWriter
    from signet.operations.telemetry.telemetry import Telemetry

__all__ = ["open_journal", "open_observer", "refusal_log", "retention_of"]

MEGABYTE: Final = 1_000_000
SIZES: Final = ("result_bytes", "max_result_bytes")
"""The facts of a fault that say by how much a result is too large."""


def open_journal(
    settings: Settings, log: Log, run: Run, telemetry: Telemetry | None = None, watch: Watch | None = None
) -> JournalWriter | None:
    """Return the journal, if one is to be kept or watched; a recording run gets its calls from it too."""
    if settings.journal_max_age is not None:
        retention_of(settings)
    log_dir = settings.log_dir if settings.journal else None
    if log_dir is None and watch is None:
        return None
    from signet.journal.record import Recorder
    from signet.journal.retention import remove_old
    from signet.journal.writer import JournalWriter

    retention = retention_of(settings)
    if retention.is_bounded and log_dir is not None:
        remove_old(log_dir, retention)
    recorder = Recorder(deterministic_ids=settings.deterministic_ids, secrets=settings.secrets())
    # One folder, one warning.
    warn_once = run.warn_once if log_dir == settings.record else None
    warn = warn_once or (lambda why: log.line(WARN, "journal", "journal.unwritable", why=why))
    told = [part.journal_written for part in (telemetry, watch) if part is not None]
    return JournalWriter(
        log_dir,
        recorder,
        warn,
        run.on_calls if log_dir is not None else None,
        settings.run_name,
        retention=retention,
        on_written=partial(_tell_all, told) if told else None,
        on_records=watch.records if watch is not None else None,
    )


def _tell_all(told: Sequence[Callable[[int, float], None]], records: int, lag_s: float) -> None:
    for one in told:
        one(records, lag_s)


def retention_of(settings: Settings) -> Retention:
    """Return how much of the journal is kept; raise UsageError if the settings cannot be read."""
    from signet.journal.retention import Retention, parse_age

    max_bytes = settings.journal_max_mb * MEGABYTE if settings.journal_max_mb is not None else None
    try:
        max_age_s = parse_age(settings.journal_max_age) if settings.journal_max_age is not None else None
    except ValueError as error:
        raise UsageError(f"--journal-max-age (SIGNET_JOURNAL_MAX_AGE): {error}") from None
    return Retention(settings.journal_keep, max_bytes, max_age_s)


def open_observer(log: Log, journal: JournalWriter | None, *, logs_calls: bool) -> Observer:
    """Return an observer for the journal and, where the filter lets its lines through, for the log."""
    on_bug = partial(_log_bug, log)
    if not logs_calls:
        return Observer(journal.push if journal is not None else None, on_bug, time.perf_counter)

    def on_outcome(outcome: Outcome, took_s: float) -> None:
        """Log names and codes, never arguments or results."""
        code = outcome.fault.code if outcome.fault else "OK"
        name = outcome.call.caller.name
        more = {"principal": name} if name else {}
        noted = outcome.shadow_violation
        if noted is not None and noted.stage == "output":
            more["violation"] = noted.message
        log.line(DEBUG, "call", "call.done", tool=_slug(outcome), code=code, ms=round(took_s * 1000, 3), **more)
        if journal is not None:
            journal.push(outcome, took_s)

    return Observer(on_outcome, on_bug, time.perf_counter)


def refusal_log(settings: Settings) -> Callable[[str, int, str], None]:
    """Return the function that logs a refused request, or one that does nothing if the filter suppresses its lines."""
    log = open_log(settings)
    if log.level_of("http") < INFO:
        return lambda _address, _status, _reason: None
    limited = LimitedLog(log)

    def on_refusal(address: str, status: int, reason: str) -> None:
        limited.line(INFO, "http", "request.refused", address=address or "-", status=status, reason=reason)

    return on_refusal


def _log_bug(log: Log, outcome: Outcome) -> None:
    """Log a fault that is the server's own, by the exception's class and place; in development mode any, in full."""
    if outcome.fault is not None and outcome.fault.details is not None:
        event, level = ("call.refused", WARN) if outcome.fault.__cause__ is None else ("call.bug", ERROR)
        facts = {name: encode(value).decode() for name, value in outcome.fault.details.items() if name != "traceback"}
        why = {"why": outcome.fault.message, **facts}
        log.line(level, "call", event, tool=_slug(outcome), code=outcome.fault.code, **why)
        if "traceback" in outcome.fault.details:
            log.text(level, "call", outcome.fault.details["traceback"])
    elif outcome.fault is not None and outcome.fault.__cause__ is not None:
        cause = place_of(outcome.fault.__cause__)
        sizes = {name: outcome.fault.data[name] for name in SIZES if name in outcome.fault.data}
        is_foreign = outcome.tool is not None and outcome.tool.is_foreign
        why = {"why": outcome.fault.message} if is_foreign else {}
        log.line(ERROR, "call", "call.bug", tool=_slug(outcome), code=outcome.fault.code, cause=cause, **sizes, **why)


def _slug(outcome: Outcome) -> str:
    return outcome.tool.slug if outcome.tool else "-"
