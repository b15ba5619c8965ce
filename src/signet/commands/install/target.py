"""The server that an entry starts: the absolute command, the words for a target, the name of the entry."""

from __future__ import annotations

import os
import re
import sys
from typing import Final

from signet.catalogue import TOOLSETS
from signet.settings import UsageError

__all__ = ["command_words", "default_name", "parse_env", "parse_url"]

DEFAULT_NAME: Final = "signet"
MODULE: Final = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*(?::[^\W\d]\w*(?:\.[^\W\d]\w*)*)?")
GROUP: Final = "signet.toolsets"
"""The entry points by which installed packages offer toolsets."""
MAX_NAME_CHARS: Final = 64


def command_words(target: str | None, flags: list[str]) -> list[str]:
    """Return the command that serves a target on stdio, by absolute paths: clients start with a short PATH.

    Raises:
        UsageError: there is no such target, or a word cannot be written into a file.
    """
    if not sys.executable:
        raise UsageError("this Python does not know its own path, which the entry needs")
    python = os.path.abspath(sys.executable)
    script = os.path.join(os.path.dirname(python), "signet.exe" if sys.platform == "win32" else "signet")
    program = [script] if os.path.isfile(script) and os.access(script, os.X_OK) else [python, "-m", "signet"]
    words = [*program, "stdio", *_target_words(target), *flags]
    return [_writable(word) for word in words]


def _target_words(target: str | None) -> list[str]:
    if target is None:
        return []
    if target in TOOLSETS or target in _installed_toolsets():
        return ["--toolsets", target]
    if os.path.exists(target):
        return [os.path.abspath(target)]
    is_path = os.sep in target or "/" in target or target.endswith(".py")
    if is_path or not MODULE.fullmatch(target):
        raise UsageError(f"there is no file or folder {target!r}")
    if "." not in target and ":" not in target and not _is_module(target):
        raise UsageError(f"there is no file, folder, module or toolset {target!r}; toolsets are {', '.join(TOOLSETS)}")
    return [target]


def _installed_toolsets() -> set[str]:
    from importlib.metadata import entry_points

    return {point.name for point in entry_points(group=GROUP)}


def _is_module(name: str) -> bool:
    """Whether there is a module of this name, without a dot; it is not imported."""
    from importlib.util import find_spec

    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def default_name(target: str | None) -> str:
    """Return the name of an entry: `signet`, or the stem of its target in the characters that every client takes."""
    if target is None:
        return DEFAULT_NAME
    stem = os.path.basename(os.path.abspath(target)).removesuffix(".py")
    if not os.path.exists(target) and MODULE.fullmatch(target) and not target.endswith(".py"):
        stem = target.partition(":")[0].rpartition(".")[2]
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
