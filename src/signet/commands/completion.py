"""The command `signet completion SHELL`: print a script that completes commands, flags, choices and tools.

The script is whole: completing starts no process. It is made from the parsers and the contracts of this version.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from signet.app import SCHEMA_ROOT
from signet.kernel.schemas import SchemaRegistry, schema_of
from signet.settings.catalogue import TOOLSETS, find_toolset
from signet.system.logs import LEVELS

from .arguments import Parser
from .completion_scripts import SCRIPTS
from .terminal import write
from .tool_arguments import arguments_in

__all__ = ["CompletedCommand", "CompletedFlag", "add", "read_commands", "read_tools"]

EPILOG: Final = """\
The script completes commands, flags, choices, the names of tools and their arguments. Print it again after an upgrade.

bash, in ~/.bashrc:
  source <(signet completion bash)

zsh, in ~/.zshrc, behind compinit:
  source <(signet completion zsh)

fish:
  signet completion fish > ~/.config/fish/completions/signet.fish
"""
FILES: Final = ("FILE", "PATH", "OLD", "NEW", "TARGET")
FOLDERS: Final = ("DIR",)
LISTS: Final = {"toolsets": TOOLSETS, "log": LEVELS, "validation": ("enforce", "shadow", "off")}
"""The values of settings that argparse has no choices for."""


class CompletedFlag(msgspec.Struct, frozen=True):
    """A flag, and what may stand behind it."""

    names: list[str]
    help: str
    takes: str
    """`none`, `file`, `folder`, `choice` or `value`."""
    choices: list[str]


class CompletedCommand(msgspec.Struct, frozen=True):
    """A command by its words behind `signet`, such as `boj fetch`; `signet` itself has none."""

    words: str
    help: str
    flags: list[CompletedFlag]
    below: dict[str, str]
    """The commands below it, each with its help."""
    choices: list[str]
    """The words that may stand as its arguments."""
    takes_files: bool
    takes_tools: bool


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `signet completion`."""
    parser.epilog = EPILOG
    parser.add_argument("shell", choices=tuple(SCRIPTS), metavar="SHELL", help=f"one of: {', '.join(SCRIPTS)}")
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    """Print the script of a shell."""
    write(SCRIPTS[args.shell](read_commands(), read_tools()))
    return 0


def read_commands() -> list[CompletedCommand]:
    """Return every command, each behind the one that it belongs to."""
    from .cli import parser

    top = parser([])
    found = [_completed("", "", top)]
    for name, (text, _) in _below(top).items():
        found += _walk(name, text, _below(parser([name]))[name][1])
    words = {"help": list(_below(top)), "sandbox": [name for name in TOOLSETS if find_toolset(name).sandbox]}
    return [msgspec.structs.replace(one, choices=words.get(one.words, one.choices)) for one in found]


def read_tools() -> dict[str, dict[str, list[str]]]:
    """Return the arguments of every tool, each with the values that its contract lists."""
    tools = {}
    for toolset in map(find_toolset, TOOLSETS):
        roots = () if toolset.schema_root is None else (toolset.schema_root,)
        registry = SchemaRegistry(schema_root=SCHEMA_ROOT, tool_roots=roots)
        for tool in toolset.tools():
            arguments = arguments_in(schema_of(registry.load_bundle(tool.slug).input))
            tools[tool.name] = {name: [str(one) for one in argument.choices] for name, argument in arguments.items()}
    return tools


def _walk(words: str, text: str, command: argparse.ArgumentParser) -> list[CompletedCommand]:
    found = [_completed(words, text, command)]
    for name, (text_below, below) in _below(command).items():
        found += _walk(f"{words} {name}", text_below, below)
    return found


def _below(command: argparse.ArgumentParser) -> dict[str, tuple[str, argparse.ArgumentParser]]:
    """Return the commands below a command, each with its help."""
    for action in command._actions:  # noqa: SLF001 - argparse shows its arguments nowhere else
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - as above
            texts = {one.dest: one.help or "" for one in action._choices_actions}  # noqa: SLF001 - as above
            return {name: (texts.get(name, ""), parser) for name, parser in action.choices.items()}
    return {}


def _completed(words: str, text: str, command: argparse.ArgumentParser) -> CompletedCommand:
    if isinstance(command, Parser):
        command.load()
    actions = command._actions  # noqa: SLF001 - as above
    places = [one for one in actions if not one.option_strings and not isinstance(one, argparse._SubParsersAction)]  # noqa: SLF001 - as above
    return CompletedCommand(
        words,
        text,
        [_flag(one) for one in actions if one.option_strings and one.help is not argparse.SUPPRESS],
        {name: help_text for name, (help_text, _) in _below(command).items()},
        [str(value) for one in places for value in one.choices or ()],
        any(one.metavar in FILES for one in places),
        words in {"call", "tools"},
    )


def _flag(action: argparse.Action) -> CompletedFlag:
    listed: Iterable[Any] = action.choices or LISTS.get(action.dest, ())
    takes, choices = "value", [str(one) for one in listed]
    if action.nargs == 0:
        takes = "none"
    elif choices:
        takes = "choice"
    elif action.metavar in FILES or action.dest == "json":
        takes = "file"
    elif action.metavar in FOLDERS:
        takes = "folder"
    return CompletedFlag(list(action.option_strings), action.help or "", takes, choices)
