"""The listeners of exchanges that the settings ask for: the audit log and the access log."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from functools import cache, partial
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from signet.kernel.events import Events
from signet.settings.model import Settings
from signet.settings.usage import UsageError
from signet.system.logs import INFO, WARN, DroppingLog, Log

if TYPE_CHECKING:
    from signet.kernel.schemas import SchemaRegistry
    from signet.operations.audit.chain import Seal
    from signet.operations.audit.log import AuditLog
    from signet.operations.audit.stream import AuditStream

__all__ = ["audit_head", "check_exchange_log", "exchange_listeners", "keep_stdout"]

MAX_SHOWN_CHARS: Final = 255
STDOUT: Final = "-"
"""Standard output, in place of the file of an audit log."""


def exchange_listeners(settings: Settings, log: Log, registry: SchemaRegistry, *, is_http: bool = True) -> Events:
    """Return the listeners of exchanges that the settings ask for; raise UsageError if they cannot write."""
    events = Events()
    if settings.access_log and is_http:
        from signet.operations.telemetry.access_log import AccessLog

        access_log = AccessLog(partial(DroppingLog(log).line, INFO, "access", "request"))
        events.http_exchange = access_log.exchanged
    if settings.audit_log == STDOUT and not is_http:
        why = "standard output carries the messages of this server, so it cannot hold the audit log"
        raise UsageError(f"--audit-log - (SIGNET_AUDIT_LOG): {why}; name a file")
    if settings.audit_log is not None:
        audit = _open_audit(settings, log, registry)
        events.exchange = audit
        events.start = partial(_start, audit)
        # Once, however often it is called.
        events.end = cache(audit.close)
    return events


def _start(audit: AuditLog) -> None:
    """Write that this process serves from now on; raise UsageError if that cannot be written.

    Called when a signal to stop is heeded, so that a process that says so says that it stopped too.
    """
    try:
        audit.start()
    except OSError as error:
        raise _unwritable(audit.path, error) from None


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
