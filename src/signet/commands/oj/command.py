"""The arguments of `signet oj`; every other module is imported when a command runs."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from signet.commands.arguments import Parser, add_settings, flags_of

if TYPE_CHECKING:
    from .problem import FoundProblem

__all__ = ["add"]

FAILED: Final = 1

EXAMPLES: Final = """\
examples:
  signet oj show https://codeforces.com/problemset/problem/1900/A
  signet oj show atcoder:abc300_a
  signet oj new codeforces:1900A --lang py           a folder with statement, samples and a stub
  signet oj test codeforces:1900A -- python3 main.py

Problems come from the backend at --oj-base-url (OJ_BASE_URL); --sandbox uses embedded sample problems.
Statements do not change: they are kept in the user's cache folder, and --offline reads them from there.
Judges forbid help during a contest: these commands are for practice.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the commands and flags of `signet oj`."""
    parser.epilog = EXAMPLES
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, prog=parser.prog)
    _command(commands, "show", _show, "print the statement of a problem")

    test = _command(commands, "test", _test, "run a program on each sample of a problem and compare what it prints")
    test.add_argument("program", nargs="+", metavar="CMD", help="the program and its arguments, behind --")
    test.add_argument(
        "--time-limit",
        type=_seconds,
        metavar="S",
        help="seconds that the program may take for a sample (default: the statement's limit, else 10)",
    )
    test.add_argument(
        "--tolerance",
        type=_tolerance,
        default=None,
        metavar="E",
        help="error that a number with a fraction may have, absolutely or relatively (default: 1e-6; 0 for none)",
    )

    new = _command(commands, "new", _new, "make a folder with the statement, the samples and a stub")
    new.add_argument("--lang", choices=("py", "cpp", "rs"), default="py", help="language of the stub (default: py)")
    new.add_argument("--out", metavar="DIR", help="the folder (default: JUDGE-ID here)")


def _command(commands: Any, name: str, run: Callable[[argparse.Namespace], int], text: str) -> Parser:
    """Add a command with the flags that all share."""
    command: Parser = commands.add_parser(name, help=text, description=text[:1].upper() + text[1:] + ".")
    command.add_argument("problem", metavar="URL|ID", help="a problem's URL, slug or id, or judge:id")
    command.add_argument("--offline", action="store_true", help="read the statement from the cache folder alone")
    command.add_argument("--no-cache", dest="keep", action="store_false", help="neither read nor keep statements")
    sandbox = "use embedded sample problems instead of a backend"
    add_settings(command, "config", "sandbox", "oj_base_url", "oj_token", sandbox=sandbox)
    add_settings(command, "oj_timeout_s", "oj_cache", "log")
    command.set_defaults(run=run)
    return command


def _seconds(text: str) -> float:
    return _number(text, 0.001, 3600, "seconds from 0.001 to 3600")


def _tolerance(text: str) -> float:
    return _number(text, 0, 1, "a number from 0 to 1, such as 1e-6")


def _number(text: str, least: float, most: float, words: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not least <= number <= most:
        raise argparse.ArgumentTypeError(f"'{text}' cannot be used; write {words}")
    return number


def _find(args: argparse.Namespace) -> FoundProblem | None:
    """Return the problem that the arguments name; say why there is none."""
    from signet.commands.terminal import say
    from signet.kernel.errors import Fault
    from signet.settings.reading import read_settings
    from signet.settings.usage import UsageError

    from .problem import find_problem

    if args.offline and not args.keep:
        raise UsageError("--offline reads the cache that --no-cache leaves out: write one of them")
    settings = read_settings(os.environ, {**flags_of(args), "toolsets": "oj-practice"})
    try:
        return find_problem(args.problem, settings, keep=args.keep, offline=args.offline)
    except Fault as fault:
        say(fault.message)
        return None


def _show(args: argparse.Namespace) -> int:
    from .show import show

    problem = _find(args)
    return FAILED if problem is None else show(problem)


def _test(args: argparse.Namespace) -> int:
    from .judging import judge
    from .verdict import TOLERANCE

    problem = _find(args)
    tolerance = TOLERANCE if args.tolerance is None else args.tolerance
    return FAILED if problem is None else judge(problem, args.program, args.time_limit, tolerance)


def _new(args: argparse.Namespace) -> int:
    from .new import make_folder

    problem = _find(args)
    return FAILED if problem is None else make_folder(problem, args.out, args.lang, _backend_flags(args))


def _backend_flags(args: argparse.Namespace) -> list[str]:
    """Return the flags that say where problems come from, for another folder; a token is a secret and not repeated."""
    from signet.settings.file import find_file

    if args.sandbox:
        return ["--sandbox"]
    file = find_file(os.environ, vars(args))
    flags = ["--config", os.path.abspath(file.path)] if file is not None and file.is_regular else []
    flags += ["--oj-base-url", args.oj_base_url] if args.oj_base_url is not None else []
    flags += ["--oj-cache", os.path.abspath(args.oj_cache)] if args.oj_cache is not None else []
    return flags + ["--offline"] * args.offline
