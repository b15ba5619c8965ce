"""The `[servers.NAME]` tables of a file: servers of others, how each is reached and what is asked of it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from signet.system.files import read_regular
from signet.system.secret_patterns import is_token

from .catalogue import provider
from .file import SERVERS, ConfigurationFile, find_file
from .model import Settings
from .server_spec import ServerSpec, Wrapping
from .usage import UsageError
from .variables import nearest

__all__ = ["read_header_file", "read_servers", "read_variables", "servers_of", "with_servers", "with_servers_of_file"]

NAME: Final = re.compile(r"[a-z0-9_-]{1,60}")
VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,200}")
REACHED: Final = ("command", "url", "tape", "openapi")
"""The keys of which a server has one."""
CHOICES: Final = {
    "era": ("auto", "handshake", "modern"),
    "pool": ("shared", "session", "call"),
    "validation": ("enforce", "shadow", "relax", "off"),
}
ONLY_FOR: Final = {
    "include": "openapi",
    "base_url": "openapi",
    "headers_file": "url",
    "args": "command",
    "env": "command",
    "cwd": "command",
}
"""The keys that work for one kind of server alone."""
WHY: Final = {
    "include": "the tools of an MCP server are always served together; leave it out",
    "base_url": "it is the address of the service that a document describes; leave it out",
    "headers_file": "a command gets its secrets by 'env'; leave it out",
    "args": "no other kind of server has arguments; leave it out",
    "env": "no other kind of server has an environment; leave it out",
    "cwd": "no other kind of server has a working folder; leave it out",
}
PATHS: Final = ("cwd", "tape", "contracts")
MAX_HEADER_BYTES: Final = 65_536
HEADER: Final = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}):[ \t]*([\x20-\x7e]*)")


def servers_of(settings: Settings, environ: Mapping[str, str] = os.environ) -> tuple[ServerSpec, ...]:
    """Return the servers of the file that the settings were read from.

    Raises:
        UsageError: a key is not known, or a value cannot be used.
    """
    file = find_file({}, {"config": settings.config}) if settings.config else None
    return () if file is None else read_servers(file, environ, is_replay=bool(settings.replay))


def read_servers(
    file: ConfigurationFile, environ: Mapping[str, str], *, is_replay: bool = False
) -> tuple[ServerSpec, ...]:
    """Return the servers of a file; raise UsageError as `servers_of` does.

    A replay needs neither the variables nor the headers of a server; those that are there are still kept secret.
    """
    tables = file.table.get(SERVERS, {})
    if not isinstance(tables, dict):
        raise file.refused(SERVERS, "write a table for each server, such as [servers.files]")
    return tuple(_server(_Table(file, name, table, is_replay=is_replay), environ) for name, table in tables.items())


class _Table:
    """The table of one server."""

    def __init__(self, file: ConfigurationFile, name: str, table: Any, *, is_replay: bool = False) -> None:
        self.file, self.name, self.is_replay = file, name, is_replay
        if not NAME.fullmatch(name):
            raise file.refused(f"{SERVERS}.{name}", "name a server with a-z, 0-9, _ and -, up to 60 of them")
        if not isinstance(table, dict):
            raise file.refused(f"{SERVERS}.{name}", f"write a table: [servers.{name}]")
        self.values = {key.replace("-", "_"): value for key, value in table.items()}
        for key in self.values:
            if key not in KEYS:
                raise self.refused(key, f"there is no such key; {nearest(key, KEYS)}")

    def refused(self, key: str, why: str) -> UsageError:
        """Return the error for a key."""
        return self.file.refused(f"{SERVERS}.{self.name}.{key}", why)

    def text(self, key: str) -> str:
        """Return a text, which is one of a few for some keys, and a path from the working folder for others."""
        value = self.values.get(key, "")
        if not isinstance(value, str):
            raise self.refused(key, "write a text")
        choices = CHOICES.get(key)
        if value and choices and value not in choices:
            raise self.refused(key, f"write one of: {', '.join(choices)}")
        return self.file.relative(value) if key in PATHS else value

    def texts(self, key: str) -> tuple[str, ...]:
        """Return an array of texts."""
        value = self.values.get(key, [])
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise self.refused(key, 'write an array of texts, such as ["a", "b"]')
        return tuple(value)


def _server(table: _Table, environ: Mapping[str, str]) -> ServerSpec:
    reached = [key for key in REACHED if table.values.get(key)]
    if len(reached) != 1:
        raise table.file.refused(f"{SERVERS}.{table.name}", f"write one of: {', '.join(REACHED)}")
    for key, kind in ONLY_FOR.items():
        if key in table.values and kind not in reached:
            raise table.refused(key, f"this key works for a server with '{kind}' only: {WHY[key]}")
    fields: dict[str, Any] = {key: read(table, environ) for key, read in READERS.items() if key in table.values}
    named = {FIELDS.get(key, key): value for key, value in fields.items()}
    headers = table.file.relative(table.text("headers_file"))
    return ServerSpec(name=table.name, config=table.file.path, header_file=headers, **named)


def _command(table: _Table, _: Mapping[str, str]) -> tuple[str, ...]:
    value = table.values["command"]
    words = table.texts("command") if isinstance(value, list) else (table.text("command"),)
    return (*words, *table.texts("args"))


def _env(table: _Table, environ: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return variables: by their names, with the values that they have here, or with values of their own."""
    value = table.values["env"]
    if isinstance(value, dict):
        if not all(isinstance(one, str) for one in value.values()):
            raise table.refused("env", 'write texts as values, such as {KEY = "value"}')
        return tuple(value.items())
    try:
        return read_variables(table.texts("env"), environ, may_be_unset=table.is_replay)
    except UsageError as error:
        raise table.refused("env", str(error)) from None


def read_variables(
    given: Iterable[str], environ: Mapping[str, str], *, may_be_unset: bool = False
) -> tuple[tuple[str, str], ...]:
    """Return variables for a server: `KEY` has the value that it has here, and `KEY=VALUE` sets one.

    With `may_be_unset`, a variable that is not set is left out.

    Raises:
        UsageError: a variable is not set, or has no name; no error repeats a value.
    """
    variables = {}
    for text in given:
        name, has_value, value = text.partition("=")
        # A token in the place of a name is not repeated either.
        if not VARIABLE.fullmatch(name) or is_token(name):
            raise UsageError("write a variable as KEY or KEY=VALUE, its name with letters, digits and _")
        if has_value or name in environ:
            variables[name] = value if has_value else environ[name]
        elif not may_be_unset:
            raise UsageError(f"the variable {name} is not set; write {name}=VALUE, or set it")
    return tuple(variables.items())


def _headers(table: _Table, _: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    path = table.file.relative(table.text("headers_file"))
    if table.is_replay and not os.path.exists(path):
        return ()
    return read_header_file(path)


def read_header_file(path: str) -> tuple[tuple[str, str], ...]:
    """Return the headers of a file with lines `Name: value`; lines that begin with # are passed over.

    Raises:
        UsageError: it cannot be read; no error repeats a value.
    """
    try:
        data = read_regular(path, follow_link=True)
        text = data[:MAX_HEADER_BYTES].decode()
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read ({getattr(error, 'strerror', None) or 'it is not UTF-8'})") from None
    if len(data) > MAX_HEADER_BYTES:
        raise UsageError(f"{path} is larger than {MAX_HEADER_BYTES:,} bytes, which no list of headers is")
    headers = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = HEADER.fullmatch(line.rstrip())
        if match is None:
            raise UsageError(f"{path}:{number}: write a header as Name: value, in printable ASCII")
        headers.append((match[1], match[2]))
    return tuple(headers)


def _validation(table: _Table, _: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    value = table.values["validation"]
    if not isinstance(value, dict):
        return (("", table.text("validation")),)
    modes = CHOICES["validation"]
    for tool, mode in value.items():
        if mode not in modes:
            raise table.refused(f"validation.{tool}", f"write one of: {', '.join(modes)}")
    return (("", "enforce"), *value.items()) if "" not in value else tuple(value.items())


def _openapi(table: _Table, _: Mapping[str, str]) -> str:
    value = table.text("openapi")
    return value if "://" in value else table.file.relative(value)


def _timeout(table: _Table, _: Mapping[str, str]) -> float:
    value = table.values["call_timeout_s"]
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= MAX_TIMEOUT_S:
        raise table.refused("call_timeout_s", f"write a number of seconds, up to {MAX_TIMEOUT_S}")
    return float(value)


MAX_TIMEOUT_S: Final = 86_400
FIELDS: Final = {"headers_file": "headers"}
"""The field of a value, where it has another name than its key."""
READERS: Final[dict[str, Callable[[_Table, Mapping[str, str]], Any]]] = {
    "command": _command,
    "url": lambda table, _: table.text("url"),
    "headers_file": _headers,
    "env": _env,
    "cwd": lambda table, _: table.text("cwd"),
    "tape": lambda table, _: table.text("tape"),
    "openapi": _openapi,
    "base_url": lambda table, _: table.text("base_url"),
    "include": lambda table, _: table.texts("include"),
    "era": lambda table, _: table.text("era"),
    "pool": lambda table, _: table.text("pool"),
    "validation": _validation,
    "contracts": lambda table, _: table.text("contracts"),
    "call_timeout_s": _timeout,
}
KEYS: Final = (*READERS, "args")
"""The keys of a table."""


def with_servers(settings: Settings, wrapping: Wrapping) -> Settings:
    """Return settings that serve some servers, beside the toolsets that they name; documents are open already.

    Raises:
        UsageError: there is more than one process.
    """
    relayed = tuple(one for one in wrapping.servers if not one.openapi)
    names = [settings.toolsets] if settings.toolsets else []
    names += [one.name for one in wrapping.servers if one.openapi]
    if relayed and settings.workers > 1:
        raise UsageError("wrapped servers are served by one process: leave --workers out")
    return replace(
        settings,
        toolsets=",".join(names),
        wrapping=_wrapping(settings, wrapping, relayed) if relayed else None,
    )


def _wrapping(settings: Settings, wrapping: Wrapping, relayed: tuple[ServerSpec, ...]) -> Wrapping:
    return replace(
        wrapping,
        servers=relayed,
        limited=_limited(settings),
        record=settings.record or "",
        replay=settings.replay or "",
    )


def _limited(settings: Settings) -> tuple[str, ...]:
    """Return the tools with limits that are of no toolset."""
    if not settings.limits:
        return ()
    names: tuple[str, ...] = provider("limits.foreign")(settings.limits)
    return names


def with_servers_of_file(settings: Settings, *, is_private: bool) -> Settings:
    """Return settings that serve the servers of `signet.toml` too, if it names any."""
    servers = servers_of(settings)
    if not servers:
        return settings
    return with_servers(settings, Wrapping(servers=servers, prefixed=True, is_private=is_private))
