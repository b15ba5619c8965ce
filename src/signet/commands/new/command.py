"""The command `signet new`: write a project, and say what to do next."""

from __future__ import annotations

import argparse
import shlex
from typing import Final

from signet.commands.terminal import write
from signet.settings.usage import UsageError
from signet.system.advice import advise

from .names import name_project
from .project import TOOL, make_project

__all__ = ["add"]

EPILOG: Final = """\
The project has one tool with its frozen contract, an entry point by which an installation finds it, tests that show
every fixture of signet.testing, and a CI file. It passes 'signet check' and its own tests as it is.

examples:
  signet new weather
  signet new weather --path .     into this folder, which must be empty
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `signet new`."""
    parser.epilog = EPILOG
    parser.add_argument("name", metavar="NAME", help="name of the project, its package and its toolset")
    parser.add_argument("--path", metavar="DIR", help="folder to write, new or empty (default: NAME)")
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    """Write the project."""
    names = name_project(args.name)
    if args.path == "":
        raise UsageError("--path names no folder: write one, . for this one, or leave it out")
    folder = args.path or names.project
    count = make_project(folder, names)
    write(f"{folder}: {count} files, with the tool {TOOL} in src/{names.package}/tools.py. Next:")
    # The environment of the project need not be this one: its commands have no path.
    install, check = advise("project.install", here=False), advise("project.check", here=False)
    write(f"  cd {shlex.quote(folder)}\n  {install}\n  {check}")
    return 0
