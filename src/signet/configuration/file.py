"""The file of settings, `signet.toml`: found, read and parsed; it is read within a bound, and only if it is there."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from signet.settings.fields import Given
from signet.settings.names import given_settings
from signet.settings.usage import UsageError
from signet.system.files import NO_WAIT

__all__ = ["ConfigurationFile", "find_file", "open_file"]

FILE: Final = "signet.toml"
MAX_BYTES: Final = 1_048_576
MAX_KEY_CHARS: Final = 100
MAX_DOTS: Final = 50
OTHERS_READ: Final = stat.S_IRGRP | stat.S_IROTH


class ConfigurationFile(NamedTuple):
    """A file of settings as it was read."""

    path: str
    table: Mapping[str, Any]
    lines: Mapping[str, int]
    """The line of each key, by its whole name."""
    is_regular: bool = True
    is_shared: bool = False
    """Whether others than its owner can read it."""

    def given(self, key: str, value: Any) -> Given:
        """Return a value with its place in the file."""
        return Given(value, f"{self.path}:{key[:MAX_KEY_CHARS]}", self.lines.get(key, 0))

    def refused(self, key: str, why: str) -> UsageError:
        """Return the error for a key."""
        return UsageError(f"{self.given(key, None).place}: {why}")

    def relative(self, path: str) -> str:
        """Return a path that the file names, which is relative to the file's folder."""
        return os.path.join(os.path.dirname(self.path), path) if path and self.is_regular else path


def find_file(environ: Mapping[str, str], flags: Mapping[str, Any], *, search: bool = True) -> ConfigurationFile | None:
    """Return the file that a flag or a variable names, or the one in the working folder, if there is one.

    Raises:
        UsageError: a named file is missing, or the file cannot be read, or is not TOML.
    """
    named = given_settings(environ, {"config": flags.get("config")}, names=("config",)).get("config")
    return open_file(named, search=search)


def open_file(named: Given | None, *, search: bool = True) -> ConfigurationFile | None:
    """Return the file with a name that is given, or else the one in the working folder, if there is one.

    Raises:
        UsageError: as `find_file` does.
    """
    if named is None and not search:
        return None
    path = FILE if named is None else str(named.value)
    try:
        # A FIFO without a writer is empty.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | NO_WAIT)) as opened:
            mode = os.fstat(opened.fileno()).st_mode
            if hasattr(os, "set_blocking"):
                os.set_blocking(opened.fileno(), True)
            data = opened.read(MAX_BYTES + 1)
    except FileNotFoundError:
        if named is None:
            return None
        raise UsageError(f"{named.source}: there is no file {path}; write another name, or leave it out") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read ({getattr(error, 'strerror', None) or error})") from None
    text = _decoded(path, data)
    is_regular = stat.S_ISREG(mode)
    is_shared = is_regular and os.name == "posix" and bool(mode & OTHERS_READ)
    return ConfigurationFile(path, _parsed(path, text), _lines_of(text), is_regular, is_shared)


def _decoded(path: str, data: bytes) -> str:
    if len(data) > MAX_BYTES:
        raise UsageError(f"{path} is larger than {MAX_BYTES:,} bytes, which no list of settings is")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{path} is not UTF-8 text (line {line}); write it in UTF-8") from None


def _parsed(path: str, text: str) -> dict[str, Any]:
    if not text.strip():
        return {}
    for number, line in enumerate(text.splitlines(), 1):
        if _dots_in_keys(line.strip()) > MAX_DOTS:
            raise UsageError(f"{path} is not a list of settings: a key has too many parts (line {number})")
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        end = f"at line {len(text.splitlines())}, the end"
        raise UsageError(f"{path} is not TOML: {str(error).replace('at end of document', end)}") from None
    except RecursionError:
        raise UsageError(f"{path} is not a list of settings: it is nested too deeply") from None
    except ValueError:
        raise UsageError(f"{path} is not TOML: a number has too many digits") from None


def _dots_in_keys(line: str) -> int:
    """Return how many dots the keys of a line may have: for many of them the parser takes a quadratic time."""
    key, equals, value = line.partition("=")
    if line.startswith("#") or not (equals or line.startswith("[")):
        return 0
    return key.count(".") + (value.count(".") if "{" in line else 0)


def _lines_of(text: str) -> dict[str, int]:
    """Return the line of each key, by its whole name; one that is written in another way than usual is left out."""
    lines: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if bare.startswith("["):
            table = bare.lstrip("[ \t").partition("]")[0].strip() + "."
            lines.setdefault(table[:-1], number)
        elif "=" in bare and not bare.startswith("#"):
            lines.setdefault(table + bare.partition("=")[0].strip().strip("\"'"), number)
    return lines
