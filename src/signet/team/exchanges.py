"""Who is told of each request and its answer: the audit log, the access log, the metrics."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from functools import cache, partial
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from signet.kernel.errors import Fault
from signet.settings.model import Settings
from signet.settings.usage import UsageError
from signet.system.logs import INFO, WARN, DroppingLog, Log

if TYPE_CHECKING:
    from signet.kernel.exchange import Exchange
    from signet.kernel.schemas import SchemaRegistry
    from signet.operations.audit.chain import Seal
    from signet.operations.audit.log import AuditLog
    from signet.operations.audit.stream import AuditStream
    from signet.operations.telemetry.telemetry import Telemetry

__all__ = ["ExchangeLog", "audit_head", "check_exchange_log", "keep_stdout", "open_exchange_log"]

MAX_SHOWN_CHARS: Final = 255
STDOUT: Final = "-"
"""Standard output, in place of the file of an audit log."""


class ExchangeLog:
    """Tells each exchange to all who listen; the audit log comes first, and may refuse the request."""

    def __init__(self, audit: AuditLog | None, *listeners: Callable[[Exchange], None]) -> None:
        self._audit = audit
        self._listeners = listeners
        self._is_closed = False

    @property
    def listener(self) -> Callable[[Exchange], None]:
        """Whom to tell: the only listener itself, if there is no other and none that may refuse."""
        is_only = self._audit is None and len(self._listeners) == 1
        return self._listeners[0] if is_only else self

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

    def start(self) -> None:
        """Write that this process serves from now on; raise UsageError if that cannot be written.

        Called when a signal to stop is heeded, so that a process that says so says that it stopped too.
        """
        if self._audit is not None:
            try:
                self._audit.start()
            except OSError as error:
                raise _unwritable(self._audit.path, error) from None

    def close(self) -> None:
        """Write what is left to write, once."""
        if self._audit is not None and not self._is_closed:
            self._is_closed = True
            self._audit.close()


def open_exchange_log(
    settings: Settings, log: Log, registry: SchemaRegistry, telemetry: Telemetry | None = None, *, is_http: bool = True
) -> ExchangeLog | None:
    """Return who is told of each exchange, if anybody wants to know; raise UsageError if it cannot be written."""
    listeners: list[Callable[[Exchange], None]] = []
    if settings.access_log and is_http:
        from signet.operations.telemetry.access_log import AccessLog

        listeners.append(AccessLog(partial(DroppingLog(log).line, INFO, "access", "request")).exchanged)
    if telemetry is not None and is_http:
        listeners.append(telemetry.exchanged)
    if settings.audit_log is None and not listeners:
        return None
    if settings.audit_log == STDOUT and not is_http:
        why = "standard output carries the messages of this server, so it cannot hold the audit log"
        raise UsageError(f"--audit-log - (SIGNET_AUDIT_LOG): {why}; name a file")
    audit = None if settings.audit_log is None else _open_audit(settings, log, registry)
    exchanges = ExchangeLog(audit, *listeners)
    if telemetry is not None:
        telemetry.before_close = exchanges.close
    return exchanges


def check_exchange_log(settings: Settings, log: Log, registry: SchemaRegistry) -> None:
    """Raise UsageError if the exchanges cannot be written down as the settings say."""
    if settings.audit_log == STDOUT:
        _check_stdout(settings)
    elif settings.audit_log is not None:
        _open_audit(settings, log, registry).release()


def audit_head(settings: Settings) -> AbstractContextManager[Settings]:
    """Return what makes the file by which several processes write one audit log to standard output, in their turns."""
    if settings.audit_log != STDOUT or settings.workers == 1:
        return nullcontext(settings)
    return _shared_head(settings)


@contextmanager
def _shared_head(settings: Settings) -> Iterator[Settings]:
    from signet.operations.audit.stream import shared_head

    with ExitStack() as stack:
        try:
            path = stack.enter_context(shared_head())
        except OSError as error:
            raise _unwritable(STDOUT, error) from None
        yield replace(settings, audit_head=path)


def _check_stdout(settings: Settings) -> None:
    """Raise UsageError if standard output cannot hold the audit log."""
    if settings.dev:
        raise UsageError("--dev replaces its process when the tools change, and the log with it: name a file, not -")
    try:
        os.fstat(1)
    except OSError as error:
        raise _unwritable(STDOUT, error) from None


def _open_audit(settings: Settings, log: Log, registry: SchemaRegistry) -> AuditLog:
    from signet.operations.audit.log import AuditLog, ContractDigests
    from signet.system.redaction import MIN_CHARS, SecretRedactor

    path = settings.audit_log or ""

    def warn(why: str) -> None:
        log.line(WARN, "audit", "audit.unwritable", why=why, file=path)

    try:
        stream = _open_stdout(settings) if path == STDOUT else None
        redactor = SecretRedactor(settings.secrets(), min_chars=MIN_CHARS)
        shown = partial(redactor.beginning, chars=MAX_SHOWN_CHARS)
        return AuditLog(path, settings.audit_key, ContractDigests(registry), warn, stream, shown=shown)
    except OSError as error:
        raise _unwritable(path, error) from None


def keep_stdout(settings: Settings) -> None:
    """Keep standard output for the audit log, if it is written there, before code of users is loaded."""
    if settings.audit_log == STDOUT:
        with suppress(OSError):
            _claimed_stdout()


@cache
def _claimed_stdout() -> int:
    from signet.transports.pipes import claim_stdout

    return claim_stdout()


def _open_stdout(settings: Settings) -> Callable[[Seal], AuditStream]:
    """Keep standard output for the audit log alone, and return what opens it with a seal."""
    from signet.operations.audit.stream import AuditStream

    stream = _claimed_stdout()
    return lambda seal: AuditStream(stream, seal, settings.audit_head)


def _unwritable(path: str, error: OSError) -> UsageError:
    return UsageError(f"the audit log {path} cannot be written ({error.strerror})")
