"""The process of a stdio server: standard output is claimed before anything can print, then one server runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from signet.settings.model import Settings
from signet.settings.usage import UsageError

from .arguments import print_err, while_starting

if TYPE_CHECKING:
    from signet.kernel.server import Server

    from .same_tools import SameTools

__all__ = ["is_person", "run_stdio", "tell_a_person"]

WAITING: Final = """\
signet: waiting for MCP messages on standard input, one JSON object per line.
An MCP client starts this command and writes them; Ctrl-D ends it.
"""


def is_person() -> bool:
    """Return whether standard input is a terminal."""
    return sys.stdin is not None and sys.stdin.isatty()


def tell_a_person(same: SameTools | None) -> None:
    """Print what the server waits for, and the commands that try its tools, if a command line finds them."""
    text = WAITING
    if same is not None:
        from signet.system.advice import advise

        commands = [advise(way, flags=same.flags, server=same.server) for way in ("tools.list", "call.same")]
        text += f"To try the tools by hand: {', '.join(commands)}\n"
    print_err(text)


def run_stdio(read_settings: Callable[[], Settings], build: Callable[[Settings], Server]) -> int:
    """Claim standard input and output, read the settings, build a server and serve until the input ends.

    Raises:
        UsageError: standard output is closed, or the settings cannot be used.
    """
    from signet.transports.pipes import claim_stdin, claim_stdout

    try:
        wire = claim_stdout()  # rule: 1.S3.3.stdio
    except OSError:
        raise UsageError("standard output is closed; start this with a pipe on it") from None
    source = claim_stdin()
    with while_starting():
        # Targets are imported here, and may print, or ask for input.
        settings = read_settings()
        from signet.transports.stdio import serve

        if settings.keeps_journal:
            # For the whole process: the thread that writes the journal must not delay calls.
            from signet.journal.writer import shorten_switch_interval

            shorten_switch_interval()
        server = build(settings)
        events = server.events
        if settings.audit_log is not None:
            from signet.settings.model import open_log
            from signet.team.exchanges import exchange_listeners

            events.add(exchange_listeners(settings, open_log(settings), server.pipeline.registry, is_http=False))
    try:
        left_behind = serve(server, wire, source=source, in_thread=settings.stdio_reader == "thread")
    finally:
        if events.end is not None:
            events.end()
    if left_behind:
        # A thread or a tool is still at work. Python would wait for it at exit, but all responses are written.
        print_err("")
        os._exit(0)
    return 0
