"""The server that an entry starts: the command, the words for a target, the name of the entry.

A client starts the command of its user's file in a folder of its own: what the working folder decides is written out.
The file of a project is shared, and its client starts in the project's folder: its paths are relative to that.
"""

from __future__ import annotations

import os
import re
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import Any, Final

from signet.settings.catalogue import TOOLSETS
from signet.settings.names import PREFIX
from signet.settings.usage import UsageError

from .module_file import find_module

__all__ = [
    "CONFIG_VARIABLE",
    "PROGRAM",
    "WRAP",
    "command_words",
    "config_variable",
    "default_name",
    "in_project",
    "parse_env",
    "parse_url",
    "target_words",
    "words_of",
    "wrapping_words",
]

DEFAULT_NAME: Final = "signet"
PROGRAM: Final = "signet"
"""The command that starts Signet wherever it is installed."""
MODULE: Final = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*(?::[^\W\d]\w*(?:\.[^\W\d]\w*)*)?")
PATH_IN_WORD: Final = re.compile(r"(-{0,2}\w[\w.-]*=|openapi:)?(.*)", re.DOTALL)
"""A word with a path: by itself, or behind a flag, a variable or the mark of a document."""
GROUP: Final = "signet.toolsets"
"""The entry points by which installed packages offer toolsets."""
MAX_NAME_CHARS: Final = 64
PLAIN_STEM: Final = "tools"
"""The stem of the tools of many packages, which tells them apart no more than `__init__` does."""
CONFIG_FLAG: Final = "--config"
CONFIG_VARIABLE: Final = f"{PREFIX}CONFIG"
CONFIG_FILE: Final = "signet.toml"
WRAP: Final = "wrap"
"""The first word behind `--` where the entry wraps a server."""


def command_words(target: str | None, flags: list[str], env: Mapping[str, str], *, project: bool = False) -> list[str]:
    """Return the command that serves a target on stdio, by absolute paths: clients start with a short PATH.

    Args:
        target: what to serve; None for what the file of settings names, or the defaults.
        flags: the server's own.
        env: the variables that the entry sets.
        project: whether the entry is for all who have the working folder: it has no path of this machine then.

    Raises:
        UsageError: there is no such target or file of settings, or a word cannot be written into a file.
    """
    served = [] if target is None else target_words(target)
    if project and target is not None and os.path.isabs(served[-1]):
        served = [*served[:-1], _in_project(served[-1])]
    config, others = _split_config(flags)
    if config is None and CONFIG_VARIABLE not in env:
        config = _config_in_effect()
    path = _existing(config) if config is not None else ""
    named = [CONFIG_FLAG, _in_project(path) if project else path] if path else []
    return [_writable(word) for word in (*_program(project=project), "stdio", *served, *others, *named)]


def _program(*, project: bool) -> list[str]:
    """Return the words that start Signet: those of this installation, for a project the command of any."""
    if not sys.executable:
        raise UsageError("this Python does not know its own path, which the entry needs")
    python = os.path.abspath(sys.executable)
    script = os.path.join(os.path.dirname(python), "signet.exe" if sys.platform == "win32" else "signet")
    words = [script] if os.path.isfile(script) and os.access(script, os.X_OK) else [python, "-m", "signet"]
    if not project:
        return words
    inside = _relative(words[0])
    return [PROGRAM] if inside is None else [inside, *words[1:]]


def _in_project(path: str) -> str:
    """Return a path relative to the working folder; raise UsageError if it is outside of it."""
    relative = _relative(path)
    if relative is None:
        advice = "copy it into the project, or leave out --project"
        raise UsageError(f"{path} is outside of the project, whose file others share: {advice}")
    return relative


def _relative(path: str) -> str | None:
    """Return a path in the working folder, as every system reads it, or None for another path."""
    folder = os.path.join(os.getcwd(), "")
    for whole in (os.path.abspath(path), os.path.realpath(path)):
        if os.path.join(whole, "").startswith(folder):
            return f"./{whole[len(folder) :].replace(os.sep, '/')}"
    return None


def in_project(word: str) -> str:
    """Return a word of a command for the file of a project: a path of this machine is made relative to the folder.

    Raises:
        UsageError: it is outside of the working folder.
    """
    found = PATH_IN_WORD.fullmatch(word)
    before, path = found.groups("") if found is not None else ("", word)
    return f"{before}{_in_project(path)}" if os.path.isabs(path) else word


def wrapping_words(words: list[str], *, project: bool) -> list[str]:
    """Return the command of a `signet wrap` command line, by absolute paths; for a project as it is written.

    Raises:
        UsageError: a word cannot be written into a file, or the command line names no server.
    """
    from signet.commands.launching import wrap_words
    from signet.commands.wrap.command import FLAGS

    args = _parsed(words)
    if not (args.command or args.url or args.client_file or args.replay or args.openapi):
        raise UsageError("which server? write it behind 'wrap', such as: -- wrap -- npx -y some-server")
    served = words if project else wrap_words(args, FLAGS, for_display=False)
    return [_writable(word) for word in (*_program(project=project), *served)]


def _parsed(words: list[str]) -> Namespace:
    from signet.commands.cli import parser

    return parser(words).parse_args(words)


def config_variable(*, project: bool) -> dict[str, str]:
    """Return the variable that names the file of settings that is in effect here, if there is one."""
    config = _config_in_effect()
    path = _existing(config) if config is not None else ""
    return {CONFIG_VARIABLE: _in_project(path) if project else path} if path else {}


def target_words(target: str, *, may_be_gone: bool = False) -> list[str]:
    """Return the words that name a target to `signet stdio`.

    Args:
        target: a toolset, a path or a module.
        may_be_gone: return the words also where there is nothing now.

    Raises:
        UsageError: there is no such target.
    """
    if target in TOOLSETS or target in _installed_toolsets():
        return ["--toolsets", target]
    if os.path.exists(target):
        return [os.path.abspath(target)]
    is_path = os.sep in target or "/" in target or target.endswith(".py")
    is_path = is_path or not MODULE.fullmatch(target)
    if may_be_gone and is_path:
        return [os.path.abspath(target)]
    if is_path:
        raise UsageError(f"there is no file or folder {target!r}")
    return [_module_word(target, may_be_gone=may_be_gone)]


def _module_word(target: str, *, may_be_gone: bool) -> str:
    """Return a module as a client can find it: by its name, or in the working folder by its file."""
    name, _, attribute = target.partition(":")
    module = find_module(name)
    if module is None and not may_be_gone:
        raise UsageError(f"there is no file, folder, module or toolset {target!r}; toolsets are {', '.join(TOOLSETS)}")
    if module is None or not module.is_here:
        return target
    if attribute and not may_be_gone:
        advice = f"write {os.path.relpath(module.path)}, or install its package"
        raise UsageError(f"{target!r} is found only in the working folder, and clients start in another: {advice}")
    return target if attribute else module.path


def _installed_toolsets() -> set[str]:
    from importlib.metadata import entry_points

    return {point.name for point in entry_points(group=GROUP)}


def _split_config(flags: list[str]) -> tuple[str | None, list[str]]:
    """Return the file of settings that flags name, the last one, and the other flags."""
    config, others, words = None, [], iter(flags)
    for word in words:
        name, equals, value = word.partition("=")
        if name != CONFIG_FLAG:
            others.append(word)
        else:
            config = value if equals else next(words, "")
    return config, others


def _config_in_effect() -> str | None:
    """Return the file of settings that `signet stdio` would read here, or None."""
    return os.environ.get(CONFIG_VARIABLE) or (CONFIG_FILE if os.path.exists(CONFIG_FILE) else None)


def _existing(config: str) -> str:
    """Return the absolute path of a file of settings."""
    if not config or not os.path.exists(config):
        raise UsageError(f"there is no file {config!r} with settings ({CONFIG_FLAG}, {CONFIG_VARIABLE})")
    return os.path.abspath(config)


def default_name(target: str | None, flags: Sequence[str] = ()) -> str:
    """Return the name of an entry: `signet`, or the stem of its target in the characters that every client takes.

    That of a wrapped server is the server's own.

    The tools of a package, in `tools.py` or `__init__.py`, have the name of the package.
    """
    if target is None:
        return _name_of_server(list(flags)) if flags[:1] == [WRAP] else DEFAULT_NAME
    folder, base = os.path.split(os.path.abspath(target))
    stem, package = base.removesuffix(".py"), ""
    if not os.path.exists(target) and MODULE.fullmatch(target) and not target.endswith(".py"):
        package, _, stem = target.partition(":")[0].rpartition(".")
        package = package.rpartition(".")[2]
    elif base.endswith(".py") and os.path.exists(os.path.join(folder, "__init__.py")):
        package = os.path.basename(folder)
    stem = package if package and stem in {PLAIN_STEM, "__init__"} else stem
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", stem).strip("-_")
    return name[:MAX_NAME_CHARS] or DEFAULT_NAME


def _name_of_server(words: list[str]) -> str:
    from signet.commands.wrap.command import name_of_server

    args = _parsed(words)
    return DEFAULT_NAME if args.client_file else name_of_server(args) or DEFAULT_NAME


def words_of(entry: Any) -> list[str]:
    """Return the command of an entry, in the form of any client."""
    words: list[str] = []
    for key in ("command", "cmd", "args") if isinstance(entry, dict) else ():
        value = entry.get(key, [])
        words += [value] if isinstance(value, str) else map(str, value) if isinstance(value, list) else []
    return words


def parse_url(text: str) -> str:
    """Return the address of a server's MCP door, written with or without /mcp.

    Raises:
        UsageError: the text is no such address, or holds a password.
    """
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(text)
        valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        valid = False
    if not valid or not text.isprintable() or " " in text:
        raise UsageError("--url takes the address of a server, such as http://127.0.0.1:8080/mcp")
    if "@" in parts.netloc:
        raise UsageError("--url must not hold a user or a password: it would be written into a file")
    return parts._replace(path="/mcp").geturl() if parts.path in {"", "/"} else _writable(text)


def parse_env(pairs: list[str]) -> dict[str, str]:
    """Return the variables that an entry sets.

    Raises:
        UsageError: a pair is not NAME=VALUE; the value is not repeated.
    """
    env = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise UsageError("--env takes NAME=VALUE")
        env[name] = _writable(value)
    return env


def _writable(word: str) -> str:
    """Return a word that a file in UTF-8 can hold."""
    try:
        word.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{word!r} is not UTF-8 and cannot be written into a file") from None
    return word
