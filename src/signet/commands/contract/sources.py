"""Contract sets: the tools of a folder, a wheel or a running server, each with what it takes and what it gives."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from signet.kernel.schemas import Bundle, schema_of
from signet.settings import UsageError

from .open_objects import Schema

__all__ = ["ContractSet", "Terms", "as_listed", "read_set"]

IN_A_WHEEL: Final = "signet/schemas/tools/"
SERVERS: Final = ("http://", "https://", "stdio:")
SOURCES: Final = "write a folder with tools/*.json, a .whl file, http://…/mcp or 'stdio:COMMAND …'"


class Terms(msgspec.Struct, frozen=True):
    """What one tool takes, and what it gives; `True` where nothing is promised."""

    input: Schema
    output: Schema


class ContractSet(msgspec.Struct, frozen=True):
    """The terms of tools: by slug from bundles, by MCP name as a server lists them."""

    tools: dict[str, Terms]
    listed: bool = False


def read_set(source: str, *, token: str | None = None) -> ContractSet:
    """Read the contract set that a person names; the token is for servers alone.

    Raises:
        UsageError: there is none, or it cannot be read.
    """
    from pathlib import Path

    if source.startswith(SERVERS):
        from .servers import listing_of

        return ContractSet(_listed(listing_of(source, token), source), listed=True)
    path = Path(source)
    try:
        if path.is_dir():
            folder = path / "tools" if (path / "tools").is_dir() else path
            files = [(str(one), one.read_bytes()) for one in sorted(folder.glob("*.json"))]
        elif path.is_file() and path.suffix == ".whl":
            files = _in_wheel(source)
        else:
            message = f"{source} is no contract set: {SOURCES}"
            raise UsageError(message)
    except OSError as error:
        message = f"cannot read {source} ({error.strerror}): {SOURCES}"
        raise UsageError(message) from None
    return ContractSet(_bundled(files, source))


def _in_wheel(source: str) -> list[tuple[str, bytes]]:
    from zipfile import BadZipFile, ZipFile
    from zlib import error as Damaged  # noqa: N812 - an exception by another name

    try:
        with ZipFile(source) as wheel:
            names = [name for name in wheel.namelist() if name.startswith(IN_A_WHEEL) and name.endswith(".json")]
            return [(name, wheel.read(name)) for name in sorted(names)]
    except (BadZipFile, Damaged, EOFError, RuntimeError):
        message = f"{source} is no wheel: {SOURCES}"
        raise UsageError(message) from None


def _bundled(files: Iterable[tuple[str, bytes]], source: str) -> dict[str, Terms]:
    tools: dict[str, Terms] = {}
    for name, data in files:
        try:
            bundle = msgspec.json.decode(data, type=Bundle)
            terms = Terms(schema_of(bundle.input), schema_of(bundle.output))
        except (ValueError, RecursionError) as error:
            message = f"{name} is no bundle of a tool's contracts ({error})"
            raise UsageError(message) from None
        _add(tools, bundle.tool, terms, source)
    return _some(tools, source)


def _listed(entries: list[dict[str, Any]], source: str) -> dict[str, Terms]:
    tools: dict[str, Terms] = {}
    for entry in entries:
        _add(tools, entry["name"], Terms(entry["inputSchema"], entry.get("outputSchema") or True), source)
    return _some(tools, source)


def _add(tools: dict[str, Terms], name: str, terms: Terms, source: str) -> None:
    if name in tools:
        message = f"{source} has the tool {name} twice"
        raise UsageError(message)
    tools[name] = terms


def _some(tools: dict[str, Terms], source: str) -> dict[str, Terms]:
    if not tools:
        message = f"{source} holds no tools: {SOURCES}"
        raise UsageError(message)
    return tools


def as_listed(found: ContractSet) -> ContractSet:
    """Give bundles as our own servers list them: by MCP name, and no output where a tool answers in text."""
    if found.listed:
        return found
    from signet.catalogue import HIDDEN, TOOLSETS, find_toolset

    known = {tool.slug: tool for toolset in (*TOOLSETS, *HIDDEN) for tool in find_toolset(toolset).tools()}
    tools = {}
    for slug, terms in found.tools.items():
        tool = known.get(slug)
        silent = tool is not None and tool.to_content is not None
        tools[slug if tool is None else tool.name] = Terms(terms.input, True) if silent else terms  # noqa: FBT003
    return ContractSet(tools, listed=True)
