"""One generation of the tools: a process that loads them afresh, says when it is ready, serves until it is replaced.

python -m signet.commands.development.generation PROGRAM stdio|serve CONTROL LISTENER WORD…

`PROGRAM` is the command as it was written, `CONTROL` a socket to the supervisor, `LISTENER` the socket to serve (-1:
bind one and hand it over).
"""

from __future__ import annotations

import asyncio
import socket
import sys
from argparse import Namespace
from functools import partial
from secrets import token_hex
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from signet.commands.arguments import USAGE, print_err, print_err_line
from signet.commands.cli import parser, settings_of_command
from signet.settings.catalogue import loaded_targets
from signet.settings.model import Settings
from signet.settings.usage import UsageError

from .files import Sources, sources_of

if TYPE_CHECKING:
    from signet.kernel.server import Server
    from signet.transports.http_server import HttpServer

__all__ = ["STOP", "STOPPED", "Ready", "main"]

STOP: Final = b"stop\n"
"""The supervisor's word: accept no further connection, answer the calls in flight, end."""
FIXED: Final = {"serve": ("port", "host", "dev"), "stdio": ("dev",)}
"""What was done by these settings at the start, no later process undoes."""
STOPPED: Final = b"stopped\n"
"""The answer: from now on every new connection is another generation's."""


class Ready(msgspec.Struct, frozen=True):
    """What a process tells its supervisor when its tools are loaded."""

    tools: int
    sources: Sources
    fixed: dict[str, str | int | bool]
    """The settings that hold until the whole program ends."""


def main(words: list[str]) -> int:
    """Serve one generation; return the exit status."""
    program, kind, control_fd, listener_fd, *given = words
    sys.argv = [program, *given]
    control = socket.socket(fileno=int(control_fd))
    args: Namespace = parser(given).parse_args(given)
    try:
        if kind == "stdio":
            return _stdio(args, control)
        _serve(args, control, int(listener_fd))
    except UsageError as error:
        print_err(error.trace)
        print_err_line("signet", error)
        return USAGE
    return 0


def _tell_ready(kind: str, control: socket.socket, settings: Settings, tools: int) -> None:
    """Tell the supervisor what was loaded, and the settings as they were given."""
    sources = sources_of(loaded_targets(), getattr(settings, "config", None))
    fixed = {name: getattr(settings, name) for name in FIXED[kind]}
    control.sendall(msgspec.json.encode(Ready(tools, sources, fixed)) + b"\n")


def _stdio(args: Namespace, control: socket.socket) -> int:
    from signet.app import build_server
    from signet.commands.stdio_process import run_stdio

    def build(settings: Settings) -> Server:
        server = build_server(replace(settings, dev=True))
        _tell_ready("stdio", control, settings, len(server.pipeline.toolbox.slugs))
        return server

    return run_stdio(lambda: settings_of_command(args), build)


def _serve(args: Namespace, control: socket.socket, listener_fd: int) -> None:
    from signet.commands.serve import greet, open_service
    from signet.commands.tool_page import page_of
    from signet.transports.workers import end_on_signals, serve

    end_on_signals()
    given = settings_of_command(args)
    settings = replace(given, dev=True, run_name=token_hex(16))
    listener = socket.socket(fileno=listener_fd) if listener_fd >= 0 else None
    service, toolbox, registry = open_service(settings, listener)
    if listener is None:
        tool = next(iter(toolbox), None)
        greet(settings, service.listener.getsockname(), page_of(tool, registry) if tool is not None else None)
        socket.send_fds(control, [b"L"], [service.listener.fileno()])
    tell = partial(_tell_ready, "serve", control, given, len(toolbox.slugs))
    serve(replace(service, on_start=lambda server: _obey(server, control, tell)))


def _obey(server: HttpServer, control: socket.socket, tell: partial[None]) -> None:
    """Tell the supervisor that the application is built, and stop when it says so or is gone."""
    tell()
    loop = asyncio.get_running_loop()

    def hear() -> None:
        heard = control.recv(len(STOP))
        server.stop()
        if heard:
            control.sendall(STOPPED)
        loop.remove_reader(control)

    loop.add_reader(control, hear)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
