"""Who is told of calls and refusals: the journal and the log."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from signet.kernel.errors import Fault
from signet.kernel.outcome import Outcome
from signet.kernel.pipeline import Observer
from signet.kernel.wire import encode
from signet.logs import DEBUG, ERROR, INFO, WARN, LimitedLog, Log
from signet.runs import Run
from signet.settings import Settings, UsageError

if TYPE_CHECKING:
    from signet.journal.retention import Retention
    from signet.journal.writer import JournalWriter
    from signet.kernel.exchange import Exchange
    from signet.kernel.schemas import SchemaRegistry
    from signet.operations.audit.log import AuditLog

__all__ = [
    "ExchangeLog",
    "check_exchange_log",
    "open_exchange_log",
    "open_journal",
    "open_log",
    "open_observer",
    "place_of",
    "refusal_log",
    "retention_of",
]

MEGABYTE: Final = 1_000_000


class ExchangeLog:
    """Tells each exchange to all who listen; the audit log comes first, and may refuse the request."""

    def __init__(self, audit: AuditLog | None, *listeners: Callable[[Exchange], None]) -> None:
        self._audit = audit
        self._listeners = listeners

    def __call__(self, exchange: Exchange) -> None:
        """Tell of an exchange before its answer is sent.

        Raises:
            Fault: the request has to be refused; the listeners are told of the refusal.
        """
        fault: Fault | None = None
        if self._audit is not None:
            try:
                self._audit(exchange)
            except Fault as error:
                fault = error
                exchange = replace(exchange, status=fault.status, refusal=fault.name, outcome=None)
        for listener in self._listeners:
            listener(exchange)
        if fault is not None:
            raise fault

    def close(self) -> None:
        """Write what is left to write."""
        if self._audit is not None:
            self._audit.close()


def open_exchange_log(settings: Settings, log: Log, registry: SchemaRegistry) -> ExchangeLog | None:
    """Return who is told of each exchange, if anybody wants to know; raise UsageError if it cannot be written."""
    if settings.audit_log is None:
        return None
    return ExchangeLog(_open_audit(settings, log, registry, starts=True))


def check_exchange_log(settings: Settings, log: Log, registry: SchemaRegistry) -> None:
    """Raise UsageError if the exchanges cannot be written down as the settings say."""
    if settings.audit_log is not None:
        _open_audit(settings, log, registry, starts=False)


def _open_audit(settings: Settings, log: Log, registry: SchemaRegistry, *, starts: bool) -> AuditLog:
    from signet.operations.audit.log import AuditLog, contract_digest

    path = settings.audit_log or ""

    def warn(why: str) -> None:
        log.line(WARN, "audit", "audit.unwritable", why=why, file=path)

    try:
        audit = AuditLog(path, settings.audit_key, partial(contract_digest, registry), warn)
        if starts:
            audit.start()
        else:
            audit.release()
    except OSError as error:
        raise UsageError(f"the audit log {path} cannot be written ({error.strerror})") from None
    return audit


def open_log(settings: Settings, name: str = "signet") -> Log:
    """Return the log that the settings describe; raise UsageError if its filter cannot be read."""
    try:
        return Log(name, settings.log, lenient=settings.log_lenient, secrets=settings.secrets())
    except ValueError as error:
        raise UsageError(str(error)) from None


def open_journal(settings: Settings, log: Log, run: Run) -> JournalWriter | None:
    """Return the journal, if one is to be kept; a recording run gets its calls from it too."""
    if settings.journal_max_age is not None:
        retention_of(settings)
    if settings.log_dir is None or not settings.journal:
        return None
    from signet.journal.record import Recorder
    from signet.journal.retention import remove_old
    from signet.journal.writer import JournalWriter

    retention = retention_of(settings)
    if retention.is_bounded:
        remove_old(settings.log_dir, retention)
    recorder = Recorder(deterministic_ids=settings.deterministic_ids, secrets=settings.secrets())
    # One folder, one warning.
    warn_once = run.warn_once if settings.log_dir == settings.record else None
    warn = warn_once or (lambda why: log.line(WARN, "journal", "journal.unwritable", why=why))
    return JournalWriter(settings.log_dir, recorder, warn, run.on_calls, settings.run_name, retention=retention)


def retention_of(settings: Settings) -> Retention:
    """Return how much of the journal is kept; raise UsageError if the settings cannot be read."""
    from signet.journal.retention import Retention, parse_age

    max_bytes = settings.journal_max_mb * MEGABYTE if settings.journal_max_mb is not None else None
    try:
        max_age_s = parse_age(settings.journal_max_age) if settings.journal_max_age is not None else None
    except ValueError as error:
        raise UsageError(f"--journal-max-age: {error}") from None
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
        who = {"principal": name} if name else {}
        log.line(DEBUG, "call", "call.done", tool=_slug(outcome), code=code, ms=round(took_s * 1000, 3), **who)
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
        log.line(ERROR, "call", "call.bug", tool=_slug(outcome), code=outcome.fault.code, cause=cause)


def _slug(outcome: Outcome) -> str:
    return outcome.tool.slug if outcome.tool else "-"


def place_of(error: BaseException) -> str:
    """Return an exception's class and the line that raised it; its text may hold a secret."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" at {os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}" if trace else ""
    return type(error).__name__ + where
