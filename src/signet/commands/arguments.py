"""The command line: flags made from the settings, and errors in one sentence that never repeats a secret."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

from signet.system.text import SPACES, printable

if TYPE_CHECKING:
    from signet.settings.fields import Setting

__all__ = [
    "CALL_FLAGS",
    "SERVE_FLAGS",
    "TOOLSET_FLAGS",
    "USAGE",
    "Parser",
    "add_server_command",
    "add_settings",
    "flags_of",
    "print_err",
    "print_err_line",
    "redirect_to_null",
    "while_starting",
]

USAGE: Final = 2
"""The exit status of a command that cannot be parsed."""

HELP_WIDTH: Final = 110
"""The widest help; a terminal may be narrower."""
LEAST_WIDTH: Final = 40

SERVE_FLAGS: Final = (
    *("tokens_file", "oauth_issuer", "oauth_audience", "oauth_jwks_url", "oauth_scopes"),
    *("public_url", "trusted_proxies", "console", "drain_s", "access_log", "metrics_port", "metrics_host"),
)
"""The settings of an HTTP server that a team runs."""
CALL_FLAGS: Final = (
    *("audit_log", "rate_limit", "store", "journal_keep", "journal_max_mb", "journal_max_age", "log_format"),
)
"""The settings of every server that a team runs."""
TOOLSET_FLAGS: Final = "*"
"""Stands for the flags of all toolsets."""
HELP: Final = frozenset(("-h", "--help"))

GivenFlags = frozenset[str] | None
"""The flags of a command line; None stands for all that a command has."""


def print_err(text: str) -> None:
    """Write safe text to standard error; a closed or full one never decides what a command does."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(printable(text, keep=SPACES + "\n\t"))
        sys.stderr.flush()
    except (OSError, ValueError):
        redirect_to_null(2)


def print_err_line(program: str, sentence: object) -> None:
    """Write one line to standard error; line breaks in the sentence, which may come from outside, forge no other."""
    print_err(f"{program}: {printable(str(sentence), keep=SPACES)}\n")


def redirect_to_null(fd: int) -> None:
    """Point a descriptor at /dev/null, also for child processes.

    Left closed, the next open() would reuse its number; left full, Python would retry the flush at exit and fail.
    """
    null = os.open(os.devnull, os.O_WRONLY)
    if null == fd:
        os.set_inheritable(fd, True)
    else:
        os.dup2(null, fd)
        os.close(null)


@contextmanager
def while_starting() -> Iterator[None]:
    """Look for no garbage, now or later, among what a start makes, which stays: it takes a twentieth of the start."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _help_width() -> int:
    """Return the width of help: that of the terminal or of COLUMNS. To find it, argparse would import shutil."""
    try:
        width = int(os.environ.get("COLUMNS") or os.get_terminal_size(1).columns) - 1
    except (ValueError, OSError):
        return HELP_WIDTH
    return min(max(width, LEAST_WIDTH), HELP_WIDTH)


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Wraps help to the terminal; lines that are indented, such as examples, stay as they are written."""

    def __init__(self, prog: str) -> None:
        width = _help_width()
        super().__init__(prog, width=width, max_help_position=min(32, width // 3))

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        from textwrap import fill

        lines: list[str] = []
        paragraph: list[str] = []
        for line in [*text.splitlines(), ""]:
            if line and not line.startswith(" "):
                paragraph.append(line)
                continue
            if paragraph:
                lines.append(fill(" ".join(paragraph), width, break_on_hyphens=False, break_long_words=False))
            lines.append(line)
            paragraph = []
        return "\n".join(indent + line for line in "\n".join(lines).rstrip().splitlines())

    def _split_lines(self, text: str, width: int) -> list[str]:
        from textwrap import wrap

        return wrap(" ".join(text.split()), width, break_on_hyphens=False, break_long_words=False)


class Parser(argparse.ArgumentParser):
    """argparse, with one sentence where it prints its usage, and the flags that all commands share at the end."""

    behind: str | None = None
    """The positional arguments that may stand after the flags too; argparse itself takes them from one place."""
    behind_dashes: str | None = None
    """Where the words behind `--` go, as they are written."""
    help_action: str = "help"
    """What `--help` does: print the help at once, or with `store_true` leave it to the command."""
    ends_with_dashes: bool = False
    """Whether `--` may stand at the end, with nothing behind it."""
    variables: tuple[str, ...] = ()
    """The settings that the environment may set, where those are not all."""
    without_flag: tuple[str, ...] = ()
    """Those of them that have no flag."""

    def __init__(self, **facts: Any) -> None:
        # rule: 1.S1.flags
        super().__init__(**{"allow_abbrev": False, "formatter_class": HelpFormatter, "add_help": False, **facts})
        self.pending: list[Callable[[GivenFlags], object]] = []
        self.made: set[str] = set()
        """The flags of settings that there are already."""
        self._is_loaded = False

    def load(self, words: Collection[str] | None = None) -> None:
        """Make the flags of settings, all or those among some words, and behind them the flags of every command."""
        is_whole = words is None or not HELP.isdisjoint(words)
        given = None if is_whole else frozenset([word.partition("=")[0] for word in words or ()])
        for make in self.pending:
            make(given)
        if is_whole:
            self.pending.clear()
        if self._is_loaded:
            return
        self._is_loaded = True
        text = "derive ids from the call (UUIDv5) instead of random ones"
        # A drop-in server names each variable that it reads.
        text += " (SIGNET_DETERMINISTIC_IDS)" if self.variables else ""
        self.add_argument("--deterministic-ids", action="store_true", default=argparse.SUPPRESS, help=text)
        self.add_argument("-h", "--help", action=self.help_action, help="show this help and exit")

    def format_help(self) -> str:
        """Return the help text, with the flags of settings."""
        self.load()
        return super().format_help()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse a command line; refuse unknown arguments here, where the command is known.

        A command that only groups others shows its help where none of them is named, with the exit status 0.
        """
        args = sys.argv[1:] if args is None else list(args)
        self.load(args)
        if not args and self._subparsers is not None:
            args = ["--help"]
        words: list[str] = []
        if self.ends_with_dashes and args[-1:] == ["--"]:
            args.pop()
        if self.behind_dashes is not None and "--" in args:
            place = args.index("--")
            args, words = args[:place], args[place + 1 :]
        known, rest = super().parse_known_args(args, namespace)
        if self.behind_dashes is not None:
            setattr(known, self.behind_dashes, words)
        if self.behind is not None and not any(one.startswith("-") for one in rest):
            getattr(known, self.behind).extend(rest)
        elif rest:
            self._refuse(rest)
        return known, []

    def _refuse(self, rest: list[str]) -> NoReturn:
        """Name the flags that are not known; a value beside one may be a secret."""
        flags = [one.partition("=")[0] for one in rest if one.startswith("-")]
        self.error(f"there is no {' and no '.join(flags)}" if flags else "an argument stands where none is expected")

    def error(self, message: str) -> NoReturn:
        """Print one sentence with the way to the help, and exit."""
        from signet.system.advice import advise

        name, *command = self.prog.split()
        page = advise("help", command=command) if name == "signet" else f"{self.prog} --help"
        print_err_line(name, f"{message}; '{page}' shows what can be written")
        raise SystemExit(USAGE)


def add_settings(
    command: Parser,
    *names: str,
    prefix: str = "",
    defaults: Mapping[str, Any] = MappingProxyType({}),
    **texts: str | Callable[[], str],
) -> None:
    """Give a command the flags of some settings, with the help text and the default that the settings state.

    The flags are made when the command is used: settings and toolsets are not loaded for any other.

    Args:
        command: the parser that gets the flags.
        names: the flat names of the settings, such as `boj_base_url`; `TOOLSET_FLAGS` stands for those of all toolsets.
        prefix: a part of the names that the flags leave out; the help shows the variables then.
        defaults: the defaults of the command, where they are not those of the settings.
        texts: help texts to use in place of the settings' own.
    """
    flags = _SettingFlags(command, names, prefix, texts, defaults)
    command.pending.append(flags.add)


def add_server_command(command: argparse.ArgumentParser) -> None:
    """Let the words behind `--` start a server of somebody else's, which the command is about then."""
    command.usage = f"{command.usage}\n         [-- COMMAND ...]"
    text = "variable that the server behind -- gets, beside PATH, HOME and the like; KEY=VALUE sets it; may be repeated"
    add = partial(command.add_argument, "--env", metavar="KEY", action="append", default=[], help=text)
    if isinstance(command, Parser):
        command.behind_dashes = "server_command"
        # Behind the flags that were added before it.
        command.pending.append(lambda _: add())
    else:
        add()


class _SettingFlags(NamedTuple):
    """The flags of some settings, which are made when it is known which of them a command line has."""

    command: Parser
    names: tuple[str, ...]
    prefix: str
    texts: Mapping[str, str | Callable[[], str]]
    defaults: Mapping[str, Any]

    def add(self, given: GivenFlags) -> None:
        """Add the given flags, or all; the command's arguments have the names of the others too."""
        from signet.settings.names import find_setting

        self.command.set_defaults(**dict.fromkeys([name for name in self.names if name != TOOLSET_FLAGS]))
        for name in self._all_names() if given is None else self._given_names(given):
            if (field := find_setting(name)) is not None:
                field = field._replace(default=self.defaults[name]) if name in self.defaults else field
                flag = "--" + "no-" * (field.default is True) + name.removeprefix(self.prefix).replace("_", "-")
                if flag not in self.command.made:
                    self.command.made.add(flag)
                    self._add(flag, name, field)

    def _add(self, flag: str, name: str, field: Setting) -> None:
        from signet.settings.names import variable_of

        text = self.texts.get(name) or _help(field, variable_of(name) if self.prefix else "")
        text = text() if callable(text) else text
        more: dict[str, Any] = {"dest": name, "help": f"do not {text}" if field.default is True else text}
        if field.is_switch:
            more |= {"action": "store_false" if field.default else "store_true", "default": None}
        else:
            more["metavar"] = field.metavar or None
        # The reference page names the variable beside the flag.
        self.command.add_argument(flag, **more).__dict__["variable"] = variable_of(name)

    def _all_names(self) -> list[str]:
        """Return the flat names of the settings, with those of all toolsets in the place of `TOOLSET_FLAGS`."""
        from signet.settings.names import known_settings

        if TOOLSET_FLAGS not in self.names:
            return list(self.names)
        flags = [name for name, field in known_settings().items() if field.flag]
        return [name for word in self.names for name in (flags if word == TOOLSET_FLAGS else [word])]

    def _given_names(self, given: frozenset[str]) -> list[str]:
        """Return the flat names of those settings that the flags may mean; no toolset is imported for the others."""
        from signet.settings.names import find_setting, toolset_of

        words = [flag[2:].replace("-", "_") for flag in given if flag.startswith("--")]
        words = [one for word in words for one in (word, word.removeprefix("no_"))]
        words += [self.prefix + word for word in words]
        found = [name for name in words if name in self.names]
        if TOOLSET_FLAGS in self.names:
            of_toolsets = [name for name in words if toolset_of(name) is not None]
            found += [name for name in of_toolsets if (field := find_setting(name)) is not None and field.flag]
        return list(dict.fromkeys(found))


def flags_of(args: argparse.Namespace) -> dict[str, Any]:
    """Return the flags of a command line that are settings, by their flat names."""
    from signet.settings.names import is_setting

    return {name: value for name, value in vars(args).items() if is_setting(name)}


def _help(field: Setting, variable: str) -> str:
    """Return the help text of a setting, with its variable where one is given, and its default."""
    notes = [variable, f"default: {field.shown_default}" if field.shown_default else ""]
    note = ", ".join(filter(None, notes))
    return f"{field.help} ({note})" if note else field.help
