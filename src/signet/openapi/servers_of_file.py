"""Servers that are OpenAPI documents: each becomes a toolset, under the server's name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from signet.kernel.toolset import Toolset
from signet.settings.catalogue import TOOLSETS, find_toolset, register
from signet.settings.server_spec import ServerSpec
from signet.settings.usage import UsageError
from signet.settings.variables import nearest

__all__ = ["open_documents"]


def open_documents(servers: Iterable[ServerSpec], environ: Mapping[str, str]) -> None:
    """Register the toolsets of the OpenAPI documents among some servers.

    Settings are read afterwards: only then the address and the secrets of each document are known as settings.

    Raises:
        UsageError: a document cannot be used.
    """
    for spec in servers:
        if spec.openapi:
            _open_document(spec, environ)


def _open_document(spec: ServerSpec, environ: Mapping[str, str]) -> None:
    from signet.openapi.selection import FLAGS, Ways
    from signet.openapi.toolset import PREFIX, open_toolset

    if spec.name in TOOLSETS and not find_toolset(spec.name).is_foreign:
        raise UsageError(f"there is a toolset '{spec.name}' already: give the server of {spec.openapi} another name")
    ways = Ways("the key include: ", "the key base_url") if spec.config else FLAGS
    toolset = open_toolset(
        spec.openapi, name=spec.name, include=spec.include, base_url=spec.base_url, environ=environ, ways=ways
    )
    modes = dict(spec.validation)
    _check_modes(spec, toolset, modes)
    tools = tuple(replace(tool, mode=modes.get(tool.name) or modes.get("") or tool.mode) for tool in toolset.tools())
    chosen = f"#{'&'.join(spec.include)}" if spec.include else ""
    register(replace(toolset, tools=lambda: tools), target="" if spec.config else f"{PREFIX}{spec.openapi}{chosen}")


def _check_modes(spec: ServerSpec, toolset: Toolset, modes: Iterable[str]) -> None:
    """Raise UsageError for a validation mode of a tool that the document has not."""
    known = [tool.name for tool in toolset.tools()]
    unknown = next((name for name in modes if name and name not in known), None)
    if unknown is not None:
        raise UsageError(f"validation: {spec.name} has no tool {unknown[:100]!r}; {nearest(unknown, known)}")
