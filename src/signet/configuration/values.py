"""The values of a file: every key is a setting, with a value as its flag would have it.

port = 9000               a setting of the process
toolsets = ["boj"]        decided first: its toolsets say which other settings there are
[settings.boj]            the settings of one toolset
[limits]                  how often who may call what: `limits`
[servers.NAME]            a server of somebody else: `servers`
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from signet.kernel.toolset import Toolset
from signet.settings.catalogue import TOOLSETS, find_toolset
from signet.settings.fields import Given, Setting, join_list, settings_of, split_list
from signet.settings.names import flat_name, process_settings

from .file import ConfigurationFile
from .variables import nearest

__all__ = ["LIMITS", "SERVERS", "TOOLSETS_KEY", "join_targets", "names_others", "read_toolsets", "read_values"]

TOOLSETS_KEY: Final = "toolsets"
LIMITS: Final = "limits"
SERVERS: Final = "servers"
"""The tables that are read for themselves."""
TABLES: Final = "settings"
"""The key below which each toolset has a table."""
LISTS: Final = (TOOLSETS_KEY, "allowed_hosts")
"""The settings that a file may write as arrays."""
UNIX_PREFIX: Final = "unix:"


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
