"""Who is told of each request and its answer: the audit log, the access log, the metrics."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from signet.kernel.errors import Fault
from signet.logs import INFO, WARN, DroppingLog, Log
from signet.settings import Settings, UsageError

if TYPE_CHECKING:
    from signet.kernel.exchange import Exchange
    from signet.kernel.schemas import SchemaRegistry
    from signet.operations.audit.log import AuditLog
    from signet.operations.telemetry.telemetry import Telemetry

__all__ = ["ExchangeLog", "check_exchange_log", "open_exchange_log"]


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
    audit = None if settings.audit_log is None else _open_audit(settings, log, registry)
    exchanges = ExchangeLog(audit, *listeners)
    if telemetry is not None:
        telemetry.before_close = exchanges.close
    return exchanges


def check_exchange_log(settings: Settings, log: Log, registry: SchemaRegistry) -> None:
    """Raise UsageError if the exchanges cannot be written down as the settings say."""
    if settings.audit_log is not None:
        _open_audit(settings, log, registry).release()


def _open_audit(settings: Settings, log: Log, registry: SchemaRegistry) -> AuditLog:
    from signet.operations.audit.log import AuditLog, ContractDigests

    path = settings.audit_log or ""

    def warn(why: str) -> None:
        log.line(WARN, "audit", "audit.unwritable", why=why, file=path)

    try:
        return AuditLog(path, settings.audit_key, ContractDigests(registry), warn)
    except OSError as error:
        raise _unwritable(path, error) from None


def _unwritable(path: str, error: OSError) -> UsageError:
    return UsageError(f"the audit log {path} cannot be written ({error.strerror})")
