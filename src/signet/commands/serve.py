"""`signet serve`: check the settings, bind the address, say where it is, serve."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from secrets import token_hex
from shlex import quote

from msgspec.structs import replace

from signet import __version__
from signet.app import build_app, check
from signet.kernel.tools import Toolbox
from signet.settings import Settings, UsageError
from signet.transports.guard import is_loopback
from signet.transports.uvicorn_server import bind, end_on_signals, serve
from signet.transports.web_app import App

from .arguments import print_err, redirect_to_null
from .terminal import paste_lines

__all__ = ["serve_http"]


def serve_http(read_settings: Callable[[], Settings]) -> int:
    """Serve over HTTP until a signal; return the exit status.

    Raises:
        UsageError: the settings cannot be used, or the address cannot be had.
    """
    end_on_signals()
    if sys.stdout is None:
        # Closed. Nothing is written there; but uvicorn asks it, in each process, whether it is a terminal.
        redirect_to_null(1)
        sys.stdout = os.fdopen(1, "w")
    settings = replace(read_settings(), run_name=token_hex(16))
    toolbox, _ = check(settings)
    _refuse_open_door(settings, toolbox)
    try:
        listener = bind(settings.host, settings.port)
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or error
        message = f"cannot listen on {settings.host}:{settings.port} ({why}); write another --host or --port, 0 for any"
        raise UsageError(message) from None
    print_err(_greeting(settings, listener.getsockname()[1], toolbox))
    serve(partial(_start_worker, settings), listener, settings.workers)
    return 0


def _start_worker(settings: Settings) -> App:
    """Return the application of one worker process; uvicorn calls this once in each."""
    if settings.keeps_journal:
        # For the whole process: the thread that writes the journal must not delay calls.
        from signet.journal.writer import shorten_switch_interval

        shorten_switch_interval()
    return build_app(settings)


def _refuse_open_door(settings: Settings, toolbox: Toolbox) -> None:
    """Require a token where others can reach the address, unless every tool is public.

    Raises:
        UsageError: there is no token.
    """
    private = [tool.name for tool in toolbox if not tool.public]
    if private and settings.token is None and not is_loopback(settings.host):
        message = f"{settings.host} can be reached by others and {private[0]} is not public: set SIGNET_TOKEN"
        raise UsageError(message)


def _greeting(settings: Settings, port: int, toolbox: Toolbox) -> str:
    """Return the address that the server listens on, and three lines to paste."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    url = f"http://{host}:{port}"
    text = f"Signet {__version__} is listening on {url}\n"
    if settings.sandbox:
        titles = [toolset.title for toolset, _ in reversed(settings.enabled()) if toolset.sandbox is not None]
        text += f"{' and '.join(titles)} answer from embedded sample data.\n" if titles else ""
    if settings.quiet:
        return text
    return text + paste_lines(url, next(iter(toolbox)), _flags_again(settings), secured=settings.token is not None)


def _flags_again(settings: Settings) -> str:
    """Return the flags with which `signet call` finds the same upstreams."""
    if settings.sandbox:
        return " --sandbox"
    if settings.replay:
        return f" --replay {quote(settings.replay)}"
    flags = ""
    for toolset, own in settings.enabled():
        if toolset.needs:
            flags += f" --{toolset.name}-{toolset.needs.replace('_', '-')} {getattr(own, toolset.needs)}"
    return flags
