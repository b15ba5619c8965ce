"""The drop-in servers: the flags and variables that both have, and how their settings are read.

A drop-in server reads the variables that its help names, and no others: it may be started beside `signet`, whose
variables are none of its business.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from signet import __version__

from .arguments import CALL_FLAGS, Parser, add_settings, print_err_line

if TYPE_CHECKING:
    from signet.kernel.server import Server
    from signet.settings.model import Settings

__all__ = ["EMPTY_LISTS", "add_drop_in", "read_drop_in_settings", "run_drop_in"]

VARIABLES: Final = ("audit_key", "call_timeout_s", "journal", "stdio_reader", "validation")
"""The settings of every server on standard input and output that have no flag there."""

EMPTY_LISTS: Final = {
    "prompts/list": b'{"prompts":[]',
    "resources/list": b'{"resources":[]',
    "resources/templates/list": b'{"resourceTemplates":[]',
    "completion/complete": b'{"completion":{"values":[]}',
}
"""The methods that the original servers answer although they offer none of it, with the beginnings of the results."""


def add_drop_in(server: Parser, prefix: str, flags: Sequence[str], more: Sequence[str]) -> None:
    """Add the flags of a drop-in server, and name its variables in its help.

    Args:
        server: the parser of the command line.
        prefix: a part of the settings' names that the flags leave out.
        flags: the settings of its toolset that have a flag and a variable.
        more: the settings that have a variable alone, beside those of every server on standard input and output.
    """
    own = ("log_dir", "record", "replay")
    log_dir = "write a journal of calls below DIR (SIGNET_LOG_DIR, default: none)"
    add_settings(server, *flags, *own, prefix=prefix, log_dir=log_dir)
    # rule: 1.S1.3.version
    server.add_argument("-V", "--version", action="version", version=f"{server.prog} {__version__}")
    server.ends_with_dashes = True
    server.without_flag = tuple(sorted((*more, *CALL_FLAGS, *VARIABLES)))
    server.variables = (*flags, *own, "deterministic_ids", *server.without_flag)
    server.pending.append(lambda given: _name_variables(server) if given is None else None)


def _name_variables(server: Parser) -> None:
    """Name the variables that have no flag at the end of the help."""
    from signet.settings.names import variable_of

    names = ", ".join(map(variable_of, server.without_flag))
    note = f"Variables without a flag: {names}. Other settings of signet do not count."
    server.epilog = f"{server.epilog or ''}\n\n{note}"


def read_drop_in_settings(
    server: Parser, args: argparse.Namespace, prefix: str, fixed: Mapping[str, Any], defaults: Mapping[str, Any]
) -> Settings:
    """Return the settings of a drop-in server.

    Args:
        server: the parser of the command line, whose variables count.
        args: the flags.
        prefix: a part of the settings' names that the flags leave out.
        fixed: the values that nothing changes.
        defaults: the values where no variable says otherwise.

    Raises:
        UsageError: a flag or one of the server's variables has a value that cannot be used.
    """
    from signet.settings.model import Settings

    flags = {**vars(args), **fixed}
    return Settings.read(os.environ, flags, prefix=prefix, variables=server.variables, defaults=defaults)


def run_drop_in(read_settings: Callable[[], Settings], build: Callable[[Settings], Server], *, refused: int) -> int:
    """Run a drop-in server; return the exit status, which is `refused` if it cannot be started as requested."""
    from signet.settings.usage import UsageError

    from .stdio_process import run_stdio

    try:
        # The specs of the drop-in servers say what an answer holds.
        return run_stdio(lambda: replace(read_settings(), dev=False), build)
    except UsageError as error:
        print_err_line("error", error)
        return refused  # rule: 1.S1.1.before-handshake
    except KeyboardInterrupt:
        return 130
