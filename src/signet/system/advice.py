"""Commands that messages recommend: one table of situations, and one function that writes them for a shell.

A message says what is wrong; the command that solves it comes from `advise`, quoted for a POSIX shell, so that it works
when it is pasted. `tests/system/test_advice.py` sets up every situation of the table and runs its command.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Final

__all__ = ["COMMANDS", "advise", "program"]

COMMANDS: Final = {
    "boj.list": "signet call boj_get_metadata {arguments}",
    "cassette.record": "pytest --signet-record=once",
    "call.same": "signet call NAME {flags} {server}",
    "call.stdin": "signet call {tool} {given} {flags} {server}",
    "check": "signet check {target}",
    "client.install": "signet install {client} {words}",
    "client.url": "signet install {client} --url {url}",
    "contract.diff": "signet contract diff {old} {new}",
    "contract.freeze": "signet contract freeze {target}",
    "diagrams.files": "signet diagrams install",
    "diagrams.install": "{install} && signet diagrams install",
    "doctor": "signet doctor",
    "extra": "{install}",
    "file.private": "chmod 600 {file}",
    "file.protected": "chmod o-w {file}",
    "folder.writable": "chmod u+wx {folder}",
    "help": "signet {command} --help",
    "lock.accept": "signet lock --accept {name} {server}",
    "lock.accept_all": "signet lock --accept-all {server}",
    "lock.pin": "signet lock {server}",
    "lock.show": "signet lock {server}",
    "new": "signet new NAME --path {folder}",
    "oj.test": "signet oj test {problem} {backend} -- {program}",
    "packages.install": "{pip} {packages}",
    "recording.play": "signet stdio --replay {folder}",
    "project.check": "signet check && pytest",
    "project.editable": "{pip} --editable {folder}",
    "project.install": "pip install -e '.[dev]'",
    "serve": "signet serve",
    "serve.help": "signet serve --help",
    "serve.port": "signet serve --port 0",
    "serve.sandbox": "signet serve --sandbox",
    "serve.token": "SIGNET_TOKEN=SECRET signet serve {flags}",
    "token.list": "signet token list --tokens-file {file}",
    "token.new": "signet token new NAME --tokens-file {file}",
    "token.revoke": "signet token revoke {name} --old --tokens-file {file}",
    "tools.list": "signet tools {flags} {server}",
    "tools.remote": "signet tools --url {url}",
    "tools.show": "signet tools NAME {flags} {server}",
    "wrap.help": "signet wrap --help",
    "wrap.contracts": "signet wrap --contracts {folder}",
}
"""Situation → command.

A word in braces is a value: one word, or any number of words for a list. `{install}` is the command that adds optional
parts to this installation, `{pip}` the command that installs packages beside it, and `signet` the command as it can be
called here.
"""


def advise(situation: str, *, here: bool = True, **values: str | Sequence[str]) -> str:
    """Return the command for a situation, ready to be pasted into a POSIX shell.

    Args:
        situation: a key of `COMMANDS`.
        here: whether the reader is at this machine; callers elsewhere are shown none of its paths.
        **values: a text or a list of texts for each word in braces.
    """
    from shlex import quote

    words: list[str] = []
    for word in COMMANDS[situation].split():
        if word == "signet":
            words.append(program() if here else word)
        elif word == "{pip}":
            words.append(_pip())
        elif word.startswith("{"):
            value = values.pop(word[1:-1])
            given = [value] if isinstance(value, str) else value
            words.extend(_install(given) if word == "{install}" else map(quote, given))
        else:
            words.append(word)
    if values:
        raise TypeError(f"{situation} takes no {', '.join(values)}")
    return " ".join(words)


def _install(extras: Sequence[str]) -> list[str]:
    from .installation import install_command

    return [install_command(*extras)]


def _pip() -> str:
    from .installation import pip_command

    return pip_command()


def program() -> str:
    """Return the shell words that start `signet`: its name where the shell finds it, else its path."""
    import shutil
    from shlex import quote

    beside = os.path.join(os.path.dirname(sys.executable), "signet")
    if not os.path.exists(beside):
        return f"{quote(sys.executable)} -m signet"
    found = shutil.which("signet")
    return "signet" if found is not None and os.path.samefile(found, beside) else quote(beside)
