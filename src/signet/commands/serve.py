"""`signet serve`: check the settings, bind the address, say where it is, serve."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from secrets import token_hex
from shlex import quote
from socket import socket
from typing import Any, Final

from msgspec.structs import replace

from signet import __version__
from signet.app import build_app, check
from signet.kernel.errors import place_of
from signet.kernel.schemas import SchemaRegistry
from signet.kernel.tools import Toolbox
from signet.settings.fields import split_list
from signet.settings.model import Settings, open_log
from signet.settings.usage import UsageError
from signet.system.logs import INFO, WARN, Log
from signet.team.access import check_access, is_protected, open_public_url, refuse_open_door
from signet.team.exchanges import audit_head, check_exchange_log, keep_stdout
from signet.team.shared import try_store
from signet.transports.descriptors import with_descriptors
from signet.transports.guard import host_of
from signet.transports.listening import UNIX_PREFIX, bind, is_local, remove_own_paths
from signet.transports.pipes import stdout_kept
from signet.transports.slots import ConnectionLimits
from signet.transports.systemd import inherited_socket
from signet.transports.web_app import App
from signet.transports.workers import WorkerService, end_on_signals, serve

from .arguments import print_err
from .metrics import metrics_port, why_not
from .terminal import OAUTH_TOKEN, paste_lines
from .tool_lookup import flags_again
from .tool_page import ToolHelp, page_of

__all__ = ["LIMITS", "greet", "open_service", "serve_http"]

LIMITS: Final = ConnectionLimits()
EVERYWHERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared, not listened on
"""The addresses that stand for all, and the one by which this machine reaches them."""
START_S: Final = 60.0
"""The time for a worker to load its tools, after which it is killed."""
MAX_TRACE_CHARS: Final = 4000
"""The end of a traceback that a log line shows."""


def serve_http(read_settings: Callable[[], Settings]) -> int:
    """Serve over HTTP until a signal; return the exit status.

    Raises:
        UsageError: the settings cannot be used, or the address cannot be had.
    """
    end_on_signals()
    # A module of the user may print when it is loaded, and standard output may be kept for the audit log.
    with stdout_kept():
        settings = replace(read_settings(), run_name=token_hex(16))
    if settings.workers == 1:
        keep_stdout(settings)
    listener = _inherited()
    if listener is not None:
        settings = replace(settings, **_where(listener.getsockname()))
    with _spool(settings) as settings, audit_head(settings) as settings, metrics_port(settings) as (settings, beside):
        service, toolbox, registry = open_service(settings, listener)
        tool = next(iter(toolbox), None)
        greet(settings, service.listener.getsockname(), page_of(tool, registry) if tool is not None else None)
        try:
            serve(replace(service, beside=beside), settings.workers)
        finally:
            remove_own_paths()
    return 0


def _spool(settings: Settings) -> AbstractContextManager[Settings]:
    """Return what makes the folder in which several processes tell each other what the console shows."""
    if not settings.console or settings.workers == 1:
        return nullcontext(settings)
    from signet.console.spool import spool_folder

    return spool_folder(settings)


def open_service(settings: Settings, listener: socket | None = None) -> tuple[WorkerService, Toolbox, SchemaRegistry]:
    """Return what a process serves, on a new socket unless one is given, its tools and their contracts.

    Raises:
        UsageError: the settings cannot be used, or the address cannot be had.
    """
    if settings.dev:
        _refuse_exposure(settings)
        if settings.metrics_port is not None:
            raise UsageError("--dev replaces its process when the tools change: leave --metrics-port out")
    toolbox, registry = check(settings)
    check_access(settings)
    try_store(settings, open_log(settings))
    refuse_open_door(settings, toolbox, is_local=is_local(settings.host))
    check_exchange_log(settings, open_log(settings), registry)
    certificate = _certificate(settings)
    limits = _limits(settings)
    bound = listener or _listen(settings)
    service = WorkerService(
        partial(_start_worker, settings),
        bound,
        limits,
        certificate,
        partial(_warn, settings),
        tell=partial(_tell, settings),
        on_end=_on_worker_end(settings),
        drain_s=settings.drain_s,
        call_s=settings.call_timeout_s,
        start_s=START_S,
    )
    return service, toolbox, registry


def _limits(settings: Settings) -> ConnectionLimits:
    """Return the limits of the connections, of which there are fewer where the system allows few open files."""
    limits, why = with_descriptors(replace(LIMITS, per_address=settings.connections_per_address))
    if why:
        _warn(settings, why)
    return limits


def _inherited() -> socket | None:
    """Return the socket that systemd passes, if it does; raise UsageError if it cannot be used."""
    try:
        return inherited_socket(os.environ, os.getpid())
    except OSError as error:
        raise UsageError(f"LISTEN_FDS: {why_not(error)}; pass one listening socket") from None


def _where(address: Any) -> dict[str, Any]:
    """Return the settings that stand for a socket's address."""
    path = _path(address)
    return {"host": address[0], "port": address[1]} if path is None else {"host": UNIX_PREFIX + path}


def _path(address: Any) -> str | None:
    """Return the path of a socket's address, or its name behind `@` if it is abstract; None if it has a port."""
    if isinstance(address, bytes):
        return "@" + address[1:].decode(errors="backslashreplace")
    return address if isinstance(address, str) else None


def _refuse_exposure(settings: Settings) -> None:
    """Raise UsageError if others could read what development mode shows, or if there is more than one process."""
    if not is_local(settings.host):
        message = f"--dev shows tracebacks and values to every caller, and {settings.host} can be reached by others"
        raise UsageError(f"{message}: leave --host out, or leave --dev out")
    if settings.workers > 1:
        raise UsageError("--dev has one process, which it replaces when the tools change: leave --workers out")


def _listen(settings: Settings) -> socket:
    """Return the socket of the server's address; raise UsageError if it cannot be had."""
    try:
        return bind(settings.host, settings.port)
    except (OSError, UnicodeError) as error:
        why = why_not(error)
        is_path = settings.host.startswith(UNIX_PREFIX)
        where = settings.host if is_path else f"{settings.host}:{settings.port}"
        advice = "write another path" if is_path else "write another --host or --port, 0 for any"
        raise UsageError(f"cannot listen on {where} ({why}); {advice}") from None


def _start_worker(settings: Settings) -> App:
    """Return the application of one process."""
    keep_stdout(settings)
    if settings.keeps_journal or settings.console:
        # For the whole process: the thread that writes the journal must not delay calls.
        from signet.journal.writer import shorten_switch_interval

        shorten_switch_interval()
    return build_app(settings)


def _on_worker_end(settings: Settings) -> Callable[[], None]:
    """Return what keeps the journals of workers that have ended from being removed while the server runs."""
    if settings.workers == 1 or settings.log_dir is None or not settings.keeps_journal:
        return _nothing
    from signet.journal.retention import RunHold

    return RunHold(settings.log_dir, settings.run_name).take


def _nothing() -> None:
    """Do nothing."""


def _certificate(settings: Settings) -> tuple[str, str] | None:
    """Return the files of the certificate and its key.

    Raises:
        UsageError: they cannot be used, or one of them is missing.
    """
    certificate, key = settings.tls_cert, settings.tls_key
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise UsageError("--tls-cert and --tls-key go together: write both")
    from signet.transports.tls import load_context

    try:
        load_context(certificate, key)
    except OSError as error:
        raise UsageError(f"cannot use --tls-cert {certificate} with --tls-key {key} ({why_not(error)})") from None
    return certificate, key


def _warn(settings: Settings, text: str, error: BaseException | None = None) -> None:
    """Log what went wrong in the server itself."""
    facts = {} if error is None else {"cause": place_of(error)}
    if isinstance(error, UsageError):
        # Its text is for the user; that of any other exception may hold a secret.
        facts["error"] = str(error)
        if error.trace:
            facts["trace"] = error.trace[-MAX_TRACE_CHARS:]
    open_log(settings).line(WARN, "http", "server.warning", why=text, **facts)


def _tell(settings: Settings, text: str) -> None:
    """Log what happens to the processes."""
    open_log(settings).line(INFO, "http", "server.workers", what=text)


def greet(settings: Settings, address: Any, tool: ToolHelp | None) -> None:
    """Say which address the server listens on and where its page is, with three lines to paste; as JSON, in the log.

    The tools of wrapped servers are not known yet.
    """
    if settings.quiet and settings.port != 0:
        return
    url, public_url = _url(settings, address), open_public_url(settings)
    text = f"Signet {__version__} is listening on {url}\n"
    if public_url is not None:
        text += f"Clients reach it at {public_url}/mcp\n"
    if settings.log_format == "json":
        # At every level: whoever reads lines of JSON waits for this one too.
        Log("signet", "info", as_json=True).line(INFO, "", "server.listening", text=text[:-1])
        return
    if settings.sandbox:
        titles = [toolset.title for toolset, _ in reversed(settings.enabled()) if toolset.sandbox is not None]
        text += f"{' and '.join(titles)} answer from embedded sample data.\n" if titles else ""
    path = _path(address)
    if settings.quiet or tool is None:
        print_err(text)
    elif path is not None and public_url is None:
        flag, name = ("--abstract-unix-socket", path[1:]) if isinstance(address, bytes) else ("--unix-socket", path)
        print_err(f"{text}Try it: curl {flag} {quote(name)} http://localhost/api/tools\nCtrl-C stops it.\n")
    else:
        reached = str(public_url or _reached(settings, url, address))
        text += f"Open {reached} in a browser to see it.\n" if settings.console else ""
        print_err(text + paste_lines(reached, tool.name, tool.example, flags_again(settings), _token_of(settings)))


def _token_of(settings: Settings) -> str:
    """Return the variable that stands for a caller's token in lines to paste; empty where none is needed."""
    if settings.oauth_issuer is not None and settings.token is None and settings.tokens_file is None:
        return OAUTH_TOKEN
    return "SIGNET_TOKEN" if is_protected(settings) else ""


def _reached(settings: Settings, url: str, address: Any) -> str:
    """Return the URL to paste: of a server on all addresses, the first name that it answers to."""
    if settings.host not in EVERYWHERE:
        return url
    names = [name for name in split_list(settings.allowed_hosts) if name != "*"]
    name = host_of(names[0].rpartition("://")[2].partition("/")[0]) if names else EVERYWHERE[settings.host]
    host = f"[{name}]" if ":" in name else name
    return f"{url.partition('://')[0]}://{host}:{address[1]}"


def _url(settings: Settings, address: Any) -> str:
    """Return the URL of a socket's address; for a path there is none, so the path itself."""
    path = _path(address)
    if path is not None:
        return UNIX_PREFIX + path
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"{'http' if settings.tls_cert is None else 'https'}://{host}:{address[1]}"
