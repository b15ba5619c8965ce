"""The words behind `signet` that serve the same tools on stdio, for a client that starts the server itself.

    signet serve tools.py --port 9000            ──▶  stdio /home/me/tools.py
    signet wrap --serve --pool session -- npx x  ──▶  wrap --pool session -- npx x

A client starts the server in a folder of its own, so paths are absolute. What one process alone may write (a recording,
a journal, an audit log) is left out, and so are the settings of an HTTP server.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from typing import Any, Final

from signet.lock.file import DEFAULT_PATH
from signet.settings.catalogue import TOOLSETS
from signet.settings.fields import Setting, split_list
from signet.settings.names import known_settings
from signet.system.redaction import redact_user_info

__all__ = ["serve_words", "wrap_words"]

Flags = tuple[tuple[str, str, dict[str, Any]], ...]
"""Flags of a command: the flag, its help text and what else `add_argument` is given."""
OF_STDIO: Final = ("sandbox", "validation", "call_timeout_s", "replay")
"""The settings of the process that decide what a call answers."""
OF_WRAP: Final = ("call_timeout_s", "replay")
DOCUMENT: Final = "openapi:"
NOT_PASSED_ON: Final = ("--serve",)
PATH_FLAGS: Final = ("--header-file", "--config", "--cwd", "--contracts", "--lock-file")
LOCK_FILE: Final = "--lock-file"


def serve_words(args: argparse.Namespace, config: str | None) -> tuple[str, ...]:
    """Return the words for the command line of `signet serve`; `config` is the file of settings that is in effect."""
    known = known_settings()
    named = [*getattr(args, "targets", ()), *split_list(getattr(args, "toolsets", None) or "")]
    targets = [_target(one) for one in named]
    paths, toolsets = [one for one in targets if os.path.isabs(one)], [one for one in targets if not os.path.isabs(one)]
    words = ["stdio", *paths, *(("--toolsets", ",".join(toolsets)) if toolsets else ())]
    chosen = [name for name, field in known.items() if name in OF_STDIO or field.flag]
    words += _settings_words(args, {name: known[name] for name in chosen})
    return (*words, *(("--config", os.path.abspath(config)) if config else ()))


def wrap_words(args: argparse.Namespace, flags: Flags, *, for_display: bool) -> tuple[str, ...]:
    """Return the words for the command line of `signet wrap`; those that are displayed have no secret in them."""
    known = known_settings()
    words = ["wrap"]
    for flag, _, facts in flags:
        value = getattr(args, facts.get("dest") or flag.removeprefix("--").replace("-", "_"))
        if flag == LOCK_FILE and value is None:
            value = DEFAULT_PATH
        if flag in NOT_PASSED_ON or not value or value == facts.get("default"):
            continue
        for one in value if isinstance(value, list) else [value]:
            words += _flag_words(flag, one, for_display=for_display)
    words += _settings_words(args, {name: known[name] for name in OF_WRAP})
    command = tuple(args.command)
    if command and not args.cwd and any(map(_is_here, command)):
        words += ["--cwd", os.getcwd()]
    if command and for_display:
        from signet.lock.address import shown_command

        command = tuple(shown_command(command))
    return (*words, *(("--", *command) if command else ()))


def _flag_words(flag: str, value: str, *, for_display: bool) -> list[str]:
    """Return a flag of `signet wrap` with its value."""
    if flag == LOCK_FILE and not os.path.exists(value):
        return []
    if flag == "--env" and for_display:
        # The client has to set the variable.
        return [flag, value.partition("=")[0]]
    if flag == "--url" and for_display:
        from signet.lock.address import shown_url

        return [flag, shown_url(value)]
    if flag in PATH_FLAGS or (flag == "--openapi" and "://" not in value):
        return [flag, os.path.abspath(value)]
    return [flag, redact_user_info(value) if for_display else value]


def _settings_words(args: argparse.Namespace, fields: dict[str, Setting]) -> Iterator[str]:
    """Yield the flags of some settings that were given; secrets are left out."""
    for name, field in fields.items():
        value: Any = getattr(args, name, None)
        if value is None or field.secret:
            continue
        flag = f"--{name.replace('_', '-')}"
        if field.is_switch:
            yield flag if value else f"--no-{name.replace('_', '-')}"
            continue
        yield from (flag, os.path.abspath(value) if field.is_path else redact_user_info(str(value)))


def _target(word: str) -> str:
    """Return a target that is found from any folder."""
    if word.startswith(DOCUMENT):
        path, mark, rest = word.removeprefix(DOCUMENT).partition("#")
        return f"{DOCUMENT}{path if '://' in path else os.path.abspath(path)}{mark}{rest}"
    return os.path.abspath(word) if word not in TOOLSETS and os.path.exists(word) else word


def _is_here(word: str) -> bool:
    """Return whether a word names something that is found from the working folder alone."""
    return not os.path.isabs(word) and os.path.exists(word) and (os.sep in word or os.path.isfile(word))
