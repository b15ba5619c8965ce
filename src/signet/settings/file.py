"""The file of settings, `signet.toml`: found, read within a bound and parsed, and its values by the names of settings.

port = 9000               a setting of the process
toolsets = ["boj"]        decided first: its toolsets decide which other settings there are
[settings.boj]            the settings of one toolset
[limits]                  rates, quotas and concurrency: read by the limits themselves
[servers.NAME]            a wrapped server: `servers`
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from signet.kernel.toolset import Toolset
from signet.system.files import NO_WAIT

from .catalogue import TOOLSETS, find_toolset
from .fields import Given, Setting, join_list, settings_of, split_list
from .names import FILE, TOOLSETS_KEY, flat_name, given_settings, process_settings
from .usage import UsageError
from .variables import nearest

__all__ = [
    "LIMITS",
    "SERVERS",
    "ConfigurationFile",
    "find_file",
    "join_targets",
    "names_others",
    "open_file",
    "read_toolsets",
    "read_values",
]

LIMITS: Final = "limits"
SERVERS: Final = "servers"
"""The tables that are read for themselves."""
TABLES: Final = "settings"
"""The key below which each toolset has a table."""
LISTS: Final = (TOOLSETS_KEY, "allowed_hosts")
"""The settings that a file may write as arrays."""
UNIX_PREFIX: Final = "unix:"
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


def join_targets(targets: Iterable[str]) -> str:
    """Return targets as `--toolsets` takes them; a file or a folder that is there keeps the commas in its name."""
    return ",".join(join_list([target]) if os.path.exists(target) else target for target in targets)


def read_toolsets(file: ConfigurationFile) -> dict[str, Given]:
    """Return the toolsets that a file chooses: they must be loaded before its other values can be read."""
    fields = {field.name: field for field in process_settings() if field.name == TOOLSETS_KEY}
    return dict(_read_table(file, "", {key: file.table[key] for key in file.table if key == TOOLSETS_KEY}, fields))


def read_values(file: ConfigurationFile, *, is_chosen: bool) -> dict[str, Given]:
    """Return the values of a file by the flat names of their settings.

    Raises:
        UsageError: a key is not known, or has not the shape of a setting.
    """
    own = {field.name: field for field in process_settings() if field.help and field.name != "config"}
    plain = {key: file.table[key] for key in file.table if key not in (TABLES, LIMITS, SERVERS)}
    values = dict(_read_table(file, "", plain, own))
    tables = file.table.get(TABLES, {})
    if not isinstance(tables, dict):
        raise file.refused(TABLES, "write a table for each toolset, such as [settings.boj]")
    may_be_unknown = is_chosen and names_others(values)
    documents = _names_of_documents(file)
    seen: set[str] = set()
    for name, table in tables.items():
        is_document = name.replace("-", "_") in documents
        toolset = _find_domain(file, name, may_be_unknown=may_be_unknown or is_document)
        if toolset is None:
            continue
        if not isinstance(table, dict):
            raise file.refused(f"{TABLES}.{name}", f"write a table: [settings.{name}]")
        fields = {field.name: field for field in settings_of(toolset.settings)}
        if toolset.name in seen:
            why = "its table is there twice, with a hyphen and with an underscore; write it once"
            raise file.refused(f"{TABLES}.{name}", why)
        seen.add(toolset.name)
        read = _read_table(file, f"{TABLES}.{name}.", table, fields)
        values |= {flat_name(toolset, field): value for field, value in read}
    return values


def _names_of_documents(file: ConfigurationFile) -> set[str]:
    """Return the names of the servers that are OpenAPI documents: a command that serves none of them opens none."""
    servers = file.table.get(SERVERS, {})
    tables = servers.items() if isinstance(servers, dict) else ()
    return {name.replace("-", "_") for name, table in tables if isinstance(table, dict) and "openapi" in table}


def names_others(values: Mapping[str, Given]) -> bool:
    """Return whether a file chooses toolsets that are not loaded where another choice leaves them out."""
    entries = split_list(values[TOOLSETS_KEY].value) if TOOLSETS_KEY in values else []
    return any(entry not in TOOLSETS for entry in entries)


def _read_table(
    file: ConfigurationFile, above: str, table: Mapping[str, Any], fields: Mapping[str, Setting]
) -> Iterator[tuple[str, Given]]:
    """Yield the values of a table by the names of their settings, in which a hyphen may stand for an underscore."""
    seen = set()
    for key, value in table.items():
        name = key.replace("-", "_")
        if name not in fields:
            raise file.refused(above + key, _advice(name, fields, in_table=bool(above)))
        if name in seen:
            raise file.refused(above + key, "it is there twice, with a hyphen and with an underscore; write it once")
        seen.add(name)
        yield name, file.given(above + key, _flag_of(file, above + key, fields[name], value, is_own=not above))


def _flag_of(file: ConfigurationFile, key: str, field: Setting, value: Any, *, is_own: bool) -> Any:
    """Return a value as a flag would have it: a list with commas, and a path from the working folder."""
    if is_own and field.name in LISTS and not isinstance(value, str):
        items: list[Any] = value if isinstance(value, list) else [None]
        # A path may have a comma, and a host has none.
        may_have_comma = field.name == TOOLSETS_KEY
        if not all(isinstance(item, str) and item.strip() and (may_have_comma or "," not in item) for item in items):
            raise file.refused(key, 'write an array of texts, such as ["a", "b"]')
        value = join_list(items)
    if not isinstance(value, str):
        return value
    if is_own and field.name == TOOLSETS_KEY:
        return join_list(_target(file, entry) for entry in split_list(value))
    if is_own and field.name == "host" and value.startswith(UNIX_PREFIX):
        return UNIX_PREFIX + file.relative(value.removeprefix(UNIX_PREFIX))
    # The audit log may be standard output.
    return file.relative(value) if field.is_path and value != "-" else value


def _target(file: ConfigurationFile, entry: str) -> str:
    """Return a word of `toolsets`: a file or a folder is relative to this file, and a name stays."""
    is_path = os.sep in entry or "/" in entry or entry.endswith(".py") or os.path.exists(file.relative(entry))
    return file.relative(entry) if is_path and entry not in TOOLSETS else entry


def _find_domain(file: ConfigurationFile, name: str, *, may_be_unknown: bool) -> Toolset | None:
    """Return the toolset that a table has the settings of; None if it may be one that is not loaded."""
    names = {known.replace("-", "_"): known for known in TOOLSETS}
    known = names.get(name.replace("-", "_"))
    if known is not None:
        toolset = find_toolset(known)
        if toolset.extends:
            why = f"{known} has the settings of {toolset.domain}: write [settings.{toolset.domain}]"
            raise file.refused(f"{TABLES}.{name}", why)
        return toolset
    if may_be_unknown:
        return None
    domains = [one for one in TOOLSETS if not find_toolset(one).extends]
    raise file.refused(f"{TABLES}.{name}", f"there is no such toolset; {nearest(name, domains)}")


def _advice(name: str, fields: Mapping[str, Setting], *, in_table: bool) -> str:
    """Say what to write for a key that is not known."""
    for toolset in map(find_toolset, TOOLSETS):
        field = name.removeprefix(flat_name(toolset, ""))
        if not in_table and toolset.name.replace("-", "_") == name:
            return f"write the settings of {toolset.name} below [settings.{toolset.domain}]"
        if not in_table and field != name and field in toolset.settings.__struct_fields__:
            return f"write {field} below [settings.{toolset.domain}]"
    if name == "config":
        return "a file cannot name another; write --config or SIGNET_CONFIG"
    if not fields:
        return "the toolset has no settings"
    return f"there is no such setting; {nearest(name, fields)}"
