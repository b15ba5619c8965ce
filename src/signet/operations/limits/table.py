"""The `[limits]` table of a file: checked, with the line of a key that cannot be used."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from signet.operations.limits.policy import LimitError, read_policy
from signet.settings.catalogue import TOOLSETS, find_toolset
from signet.settings.file import LIMITS, SERVERS, ConfigurationFile
from signet.settings.server_name import plain_slug
from signet.settings.shown import dotted
from signet.settings.usage import UsageError
from signet.settings.variables import nearest

__all__ = ["names_of_no_toolset", "read_limits"]


def read_limits(
    file: ConfigurationFile, *, may_be_unknown: bool = False, servers: Collection[str] = ()
) -> dict[str, Any]:
    """Return the table of limits, with the slugs of the tools of wrapped servers.

    Args:
        file: the file with the table.
        may_be_unknown: whether tools may be named that are not loaded.
        servers: the servers of the command line; those of the file are known.

    Raises:
        UsageError: a key is not known, a value cannot be used, or there is no such tool.
    """
    table = file.table.get(LIMITS, {})
    if not isinstance(table, dict):
        raise file.refused(LIMITS, "write a table: [limits]")
    try:
        read_policy(table)
    except LimitError as error:
        raise _refused(file, error.path, _advice(error)) from None
    if "rate" in table and "rate_limit" in {key.replace("-", "_") for key in file.table}:
        raise file.refused("limits.rate", "the file has a rate_limit too; write one of the two")
    tools = table.get("tools", {})
    if not tools:
        return table
    named = file.table.get(SERVERS, {})
    # The tools of an OpenAPI document are known already, as those of a toolset.
    wrapped = {*servers, *(named if isinstance(named, dict) else ())} - {*TOOLSETS}
    slugs = _check_tools(file, tools, wrapped, may_be_unknown=may_be_unknown or bool(servers))
    return {**table, "tools": {slugs.get(name, name): limits for name, limits in tools.items()}}


def names_of_no_toolset(limits: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the tools with limits that no toolset has: they are those of wrapped servers."""
    tables = limits.get("tools", {})
    known = _known_slugs() if tables else {}
    return tuple(name for name in tables if name not in known)


def _known_slugs() -> dict[str, str]:
    """Return the slugs of the tools of all toolsets, by slug and by name."""
    known = [tool for name in TOOLSETS for tool in find_toolset(name).tools()]
    return {tool.slug: tool.slug for tool in known} | {tool.name: tool.slug for tool in known}


def _check_tools(
    file: ConfigurationFile, tables: Mapping[str, Any], servers: Collection[str], *, may_be_unknown: bool
) -> dict[str, str]:
    """Return the slugs of tools of wrapped servers by the names in the file; which tools there are is known later."""
    slugs = _known_slugs()
    seen: dict[str, str] = {}
    foreign: dict[str, str] = {}
    for name in tables:
        slug = slugs.get(name)
        if slug is None and name.partition(".")[0] in servers and "." in name:
            slug = foreign[name] = plain_slug(name)
        elif slug is None:
            if may_be_unknown or any(name.startswith(f"{server}_") for server in servers):
                continue
            slugs_alone = sorted({*slugs.values(), *(f"{server}.TOOL" for server in servers)})
            raise _refused(file, (LIMITS, "tools", name), f"there is no such tool; {nearest(name, slugs_alone)}")
        if slug in seen:
            why = f"the table of the tool is there twice, also as {seen[slug]}; write it once"
            raise _refused(file, (LIMITS, "tools", name), why)
        seen[slug] = name
    return foreign


def _advice(error: LimitError) -> str:
    return f"{error}; {nearest(error.path[-1], error.known)}" if error.known else str(error)


def _refused(file: ConfigurationFile, path: tuple[str, ...], why: str) -> UsageError:
    """Return the error for a key: its line is known by the name that people write, in whichever quotes."""
    spellings = (dotted(path), dotted(path, "'"), ".".join(path))
    return file.refused(next((key for key in spellings if key in file.lines), spellings[0]), why)
