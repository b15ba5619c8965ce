"""The metrics port of `signet serve`: its folder, its socket, and the page on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from socket import socket
from typing import TYPE_CHECKING

from msgspec.structs import replace

from signet.settings.model import Settings
from signet.settings.usage import UsageError
from signet.transports.listening import UNIX_PREFIX, bind, is_local

from .arguments import print_err

if TYPE_CHECKING:
    from signet.transports.metrics_app import MetricsApp

__all__ = ["metrics_port", "why_not"]

Beside = tuple[Callable[[], "MetricsApp"], socket]


@contextmanager
def metrics_port(settings: Settings) -> Iterator[tuple[Settings, Beside | None]]:
    """Open the port if there is to be one; yield settings that name its folder, and what is served on it.

    Raises:
        UsageError: the address cannot be had, or has no port.
    """
    if settings.metrics_port is None:
        if settings.metrics_host != Settings().metrics_host:
            raise UsageError("--metrics-host (SIGNET_METRICS_HOST) needs --metrics-port: write both, or neither")
        yield settings, None
        return
    from signet.system.figures.folder import MetricsFolder

    listener = _listen(settings.metrics_host, settings.metrics_port)
    folder = MetricsFolder.create()
    settings = replace(settings, metrics_dir=folder.path)
    if not settings.quiet and settings.log_format == "text":
        print_err(f"Metrics are at {_url(settings.metrics_host, listener)}\n")
    try:
        yield settings, (partial(_open_app, settings), listener)
    finally:
        folder.leave()


def why_not(error: Exception) -> str:
    """Return why an address or a file cannot be used."""
    return getattr(error, "strerror", None) or str(error)


def _listen(host: str, port: int) -> socket:
    try:
        return bind(host, port)
    except (OSError, UnicodeError) as error:
        advice = "write another --metrics-host or --metrics-port, 0 for any"
        raise UsageError(f"cannot listen on {host}:{port} ({why_not(error)}); {advice}") from None


def _url(host: str, listener: socket) -> str:
    address = listener.getsockname()
    if isinstance(address, str):
        return UNIX_PREFIX + address
    return f"http://{f'[{host}]' if ':' in host else host}:{address[1]}/metrics"


def _open_app(settings: Settings) -> MetricsApp:
    """Return the application of the port; each process can show the figures of all."""
    from signet.operations.telemetry.exposition import CONTENT_TYPE, exposition
    from signet.system.figures.folder import MetricsFolder
    from signet.transports.guard import LOOPBACK
    from signet.transports.metrics_app import MetricsApp

    folder = MetricsFolder(settings.metrics_dir)
    hosts = LOOPBACK | settings.host_names() | {settings.metrics_host.lower()}
    return MetricsApp(
        lambda: exposition(folder.figures()),
        CONTENT_TYPE,
        hosts,
        is_local=is_local(settings.metrics_host),
        on_close=folder.leave,
    )
