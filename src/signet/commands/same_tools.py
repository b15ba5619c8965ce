"""The words of a command line that choose its tools, for the commands that messages recommend."""

from __future__ import annotations

from argparse import Namespace
from typing import NamedTuple

from signet.settings.names import known_settings
from signet.system.advice import advise
from signet.system.redaction import redact_user_info

__all__ = ["SameTools", "list_again", "same_tools"]

CHOOSING = ("config", "sandbox", "replay")
"""The settings of the process that choose tools, beside the flags of toolsets."""


class SameTools(NamedTuple):
    """The words with which another command finds the same tools."""

    flags: list[str]
    server: list[str]
    """`--` and the command of a wrapped server, or nothing."""


def same_tools(args: Namespace) -> SameTools:
    """Return the words with which another command finds the tools of this command line.

    Secrets are left out of the flags and redacted in the words behind `--`.
    """
    flags: list[str] = []
    named = [*getattr(args, "targets", ()), *filter(None, [getattr(args, "toolsets", None)])]
    if named:
        flags += ["--toolsets", ",".join(named)]
    for name, field in known_settings().items():
        value = getattr(args, name, None)
        if value is None or field.secret or not (field.flag or name in CHOOSING):
            continue
        flag = name.replace("_", "-")
        if field.is_switch:
            flags.append(f"--{flag}" if value else f"--no-{flag}")
        else:
            flags += [f"--{flag}", redact_user_info(str(value))]
    command = getattr(args, "server_command", None)
    if not command:
        return SameTools(flags, [])
    from signet.lock.address import shown_command

    return SameTools(flags, ["--", *shown_command(command)])


def list_again(args: Namespace) -> str:
    """Return the end of a sentence: the command that lists the tools of a command line."""
    flags, server = same_tools(args)
    return f"'{advise('tools.list', flags=flags, server=server)}' lists what there is"
