"""The `[limits]` table of a file: checked, with the line of a key that cannot be used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from signet.catalogue import TOOLSETS, find_toolset
from signet.operations.limits.policy import LimitError, read_policy
from signet.settings import UsageError
from signet.shown_settings import dotted

from .file import ConfigurationFile
from .values import LIMITS
from .variables import nearest

__all__ = ["read_limits"]


def read_limits(file: ConfigurationFile, *, may_be_unknown: bool = False) -> dict[str, Any]:
    """Return the table of limits; `may_be_unknown` is whether tools may be named that are not loaded.

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
    _check_tools(file, table.get("tools", {}), may_be_unknown=may_be_unknown)
    return table


def _check_tools(file: ConfigurationFile, tables: Mapping[str, Any], *, may_be_unknown: bool) -> None:
    if not tables:
        return
    known = [tool for name in TOOLSETS for tool in find_toolset(name).tools()]
    slugs = {tool.slug: tool.slug for tool in known} | {tool.name: tool.slug for tool in known}
    seen: dict[str, str] = {}
    for name in tables:
        slug = slugs.get(name)
        if slug is None:
            if may_be_unknown:
                continue
            slugs_alone = sorted(set(slugs.values()))
            raise _refused(file, (LIMITS, "tools", name), f"there is no such tool; {nearest(name, slugs_alone)}")
        if slug in seen:
            why = f"the table of the tool is there twice, also as {seen[slug]}; write it once"
            raise _refused(file, (LIMITS, "tools", name), why)
        seen[slug] = name


def _advice(error: LimitError) -> str:
    return f"{error}; {nearest(error.path[-1], error.known)}" if error.known else str(error)


def _refused(file: ConfigurationFile, path: tuple[str, ...], why: str) -> UsageError:
    """Return the error for a key: its line is known by the name that people write, in whichever quotes."""
    spellings = (dotted(path), dotted(path, "'"), ".".join(path))
    return file.refused(next((key for key in spellings if key in file.lines), spellings[0]), why)
