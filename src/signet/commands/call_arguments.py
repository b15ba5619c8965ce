"""The arguments of a call as a person writes them: `key=value`, `key=@file`, `key=-`, or one JSON object."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from typing import Any, Final

from signet.kernel.wire import ProtocolError, decode
from signet.settings.usage import UsageError

from .terminal import say
from .tool_arguments import Argument, with_texts

__all__ = ["is_piped", "is_text", "read_arguments", "read_object"]

MAX_BYTES: Final = 4_194_304
"""The most that is read from a file or from standard input."""
STDIN: Final = ("-", "@-")


def read_arguments(arguments: Mapping[str, Argument], pairs: list[str], text: str | None) -> dict[str, Any]:
    """Return the arguments of a call, from pairs or from the text behind `--json`, in the types of the tool.

    Raises:
        UsageError: the arguments cannot be read.
    """
    if not all(map(is_text, pairs)):
        raise UsageError("an argument is not UTF-8 text; write it in UTF-8")
    if text is not None and pairs:
        raise UsageError("arguments are given twice: write either key=value or --json")
    if text is not None:
        return with_texts(read_object(text), arguments)
    values: dict[str, Any] = {}
    from_stdin = ""
    for pair in pairs:
        key, value = _split(pair)
        if value in STDIN:
            if from_stdin:
                raise UsageError(f"standard input can be read once: it is asked for by {from_stdin} and by {key}")
            from_stdin = key
        read = arguments[key].read if key in arguments else str
        found = read(_content(key, value))
        earlier = values.get(key)
        values[key] = earlier + found if isinstance(earlier, list) and isinstance(found, list) else found
    return values


def is_text(argument: str) -> bool:
    """Return whether an argument was UTF-8; Python turns other bytes into half surrogate pairs."""
    try:
        argument.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_piped() -> bool:
    """Return whether standard input is a pipe, or a file that is not empty."""
    try:
        status = os.fstat(sys.stdin.fileno())
    except (AttributeError, OSError, ValueError):
        return False
    return stat.S_ISFIFO(status.st_mode) or (stat.S_ISREG(status.st_mode) and status.st_size > 0)


def read_object(text: str) -> dict[str, Any]:
    """Return the JSON object behind `--json`: the text itself, a file behind `@`, or standard input for `-`.

    Raises:
        UsageError: it cannot be read, or is no object.
    """
    source = "--json"
    if text in STDIN:
        source, data = "standard input", _read_stdin("--json")
    elif text.startswith("@"):
        source, data = text[1:], _read_file(text[1:], "--json @FILE")
    else:
        data = text.encode(errors="surrogateescape")
    try:
        arguments = decode(data)
        if isinstance(arguments, dict):
            return arguments
        reason = "it is JSON, but no object"
    except ProtocolError as error:
        reason = str(error).removeprefix("Parse error: ")
    raise UsageError(f"""{source} cannot be read ({reason}); write a JSON object such as '{{"key": "value"}}'""")


def _split(pair: str) -> tuple[str, str]:
    key, equals, value = pair.partition("=")
    if not equals or not key:
        raise UsageError(f"'{pair}' is not an argument; write key=value")
    return key, value


def _content(key: str, value: str) -> str:
    """Return the text that a value stands for; the line end of a file of one line is left out.

    A value of several lines is never the name of a file: diagrams begin with @startuml.
    """
    if "\n" in value:
        return value
    if value.startswith("@@"):
        return value[1:]
    if value in STDIN:
        source, data = "standard input", _read_stdin(key)
    elif value.startswith("@"):
        source, data = value[1:], _read_file(value[1:], f"{key}=@FILE")
    else:
        return value
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise UsageError(f"{source} is not UTF-8 text; {key} takes text in UTF-8") from None
    line = text.removesuffix("\n").removesuffix("\r")
    return text if "\n" in line else line


def _read_file(path: str, form: str) -> bytes:
    """Return the content of a file, which may be a pipe of the shell's."""
    literal = "" if form.startswith("--json") else f", or {form.removesuffix('@FILE')}@@… for a text that begins with @"
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot read {path} ({why}); write {form} with a file that can be read{literal}") from None
    return _bounded(data, path)


def _read_stdin(reader: str) -> bytes:
    if sys.stdin is None:
        raise UsageError(f"standard input is closed, and {reader} is to be read from it")
    if sys.stdin.isatty():
        say(f"reading {reader} from the terminal; Ctrl-D on a line of its own ends it")
    return _bounded(sys.stdin.buffer.read(MAX_BYTES + 1), "standard input")


def _bounded(data: bytes, source: str) -> bytes:
    if len(data) > MAX_BYTES:
        raise UsageError(f"{source} has more than {MAX_BYTES:,} bytes, the most that an argument may have")
    return data
