"""The command line, read: one sentence for what cannot be, which never repeats what might be a secret."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any, Final, NoReturn

from signet import __version__

__all__ = ["USAGE", "Formatter", "Parser", "add_drop_in", "add_recording", "print_err", "redirect_to_null"]

USAGE: Final = 2
"""The exit status of a command that was not written right."""

HELP_WIDTH: Final = 110


def print_err(text: str) -> None:
    """Write to standard error; whether anybody can be told there never decides what a command does."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):
        redirect_to_null(2)


def redirect_to_null(fd: int) -> None:
    """Let an output lead nowhere, here and in processes to come.

    A closed one would be the next descriptor's number; a full one would be tried once more when the interpreter ends.
    """
    null = os.open(os.devnull, os.O_WRONLY)
    if null == fd:
        os.set_inheritable(fd, True)  # noqa: FBT003 - the stdlib's own signature
    else:
        os.dup2(null, fd)
        os.close(null)


def Formatter(prog: str) -> argparse.HelpFormatter:  # noqa: N802 - argparse wants a class here
    """Format help to a fixed width: to ask the terminal, argparse would import shutil at every start."""
    return argparse.RawDescriptionHelpFormatter(prog, width=HELP_WIDTH, max_help_position=32)


class Parser(argparse.ArgumentParser):
    """argparse, with one sentence where it prints its usage."""

    behind: str | None = None
    """The arguments that may stand behind the flags too; argparse itself takes them from one place."""

    def __init__(self, **facts: Any) -> None:
        super().__init__(**{"allow_abbrev": False, "formatter_class": Formatter, **facts})
        self.add_argument(
            "--deterministic-ids",
            action="store_true",
            default=argparse.SUPPRESS,
            help="ids that follow from the call, not from chance",
        )

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Read all of a command line; what is left over is refused here, where it is known which command it was."""
        known, rest = super().parse_known_args(args, namespace)
        if self.behind is not None and not any(one.startswith("-") for one in rest):
            getattr(known, self.behind).extend(rest)
        elif rest:
            self._refuse(rest)
        return known, []

    def _refuse(self, rest: list[str]) -> NoReturn:
        """Say which flags are not known; a value beside one may be a secret that was meant for another."""
        flags = [one.partition("=")[0] for one in rest if one.startswith("-")]
        self.error(f"there is no {' and no '.join(flags)}" if flags else "an argument stands where none is expected")

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and where to look."""
        print_err(f"{self.prog.partition(' ')[0]}: {message}; '{self.prog} --help' shows what can be written\n")
        raise SystemExit(USAGE)


def add_recording(command: argparse.ArgumentParser) -> None:
    """Add the flags by which a run is recorded or replayed."""
    command.add_argument("--record", metavar="DIR", help="keep every exchange with an upstream, and every call, in DIR")
    command.add_argument("--replay", metavar="DIR", help="answer from what was recorded in DIR, with no network at all")


def add_drop_in(server: argparse.ArgumentParser) -> None:
    """Add what the drop-in servers have beside the flags of their specs."""
    server.add_argument("--log-dir", metavar="DIR", help="keep a journal of calls below this folder (none is kept)")
    add_recording(server)
    server.add_argument("--version", action="version", version=f"{server.prog} {__version__}")
