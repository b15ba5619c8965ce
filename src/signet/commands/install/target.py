"""The server that an entry starts: the absolute command, the words for a target, the name of the entry.

A client starts the command in a folder of its own: what the working folder decides is written out.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from typing import Final

from signet.catalogue import TOOLSETS
from signet.settings import PREFIX, UsageError

from .module_file import find_module

__all__ = ["command_words", "default_name", "parse_env", "parse_url", "target_words"]

DEFAULT_NAME: Final = "signet"
MODULE: Final = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*(?::[^\W\d]\w*(?:\.[^\W\d]\w*)*)?")
GROUP: Final = "signet.toolsets"
"""The entry points by which installed packages offer toolsets."""
MAX_NAME_CHARS: Final = 64
PLAIN_STEM: Final = "tools"
"""The stem of the tools of many packages, which tells them apart no more than `__init__` does."""
CONFIG_FLAG: Final = "--config"
CONFIG_VARIABLE: Final = f"{PREFIX}CONFIG"
CONFIG_FILE: Final = "signet.toml"


def command_words(target: str | None, flags: list[str], env: Mapping[str, str]) -> list[str]:
    """Return the command that serves a target on stdio, by absolute paths: clients start with a short PATH.

    Args:
        target: what to serve; None for what the file of settings names, or the defaults.
        flags: the server's own.
        env: the variables that the entry sets.

    Raises:
        UsageError: there is no such target or file of settings, or a word cannot be written into a file.
    """
    if not sys.executable:
        raise UsageError("this Python does not know its own path, which the entry needs")
    python = os.path.abspath(sys.executable)
    script = os.path.join(os.path.dirname(python), "signet.exe" if sys.platform == "win32" else "signet")
    program = [script] if os.path.isfile(script) and os.access(script, os.X_OK) else [python, "-m", "signet"]
    served = [] if target is None else target_words(target)
    config, others = _split_config(flags)
    if config is None and CONFIG_VARIABLE not in env:
        config = _config_in_effect()
    named = [] if config is None else [CONFIG_FLAG, _existing(config)]
    return [_writable(word) for word in (*program, "stdio", *served, *others, *named)]


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


def default_name(target: str | None) -> str:
    """Return the name of an entry: `signet`, or the stem of its target in the characters that every client takes.

    The tools of a package, in `tools.py` or `__init__.py`, have the name of the package.
    """
    if target is None:
        return DEFAULT_NAME
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
