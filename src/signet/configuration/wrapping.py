"""The servers that settings name beside toolsets: relayed as they are, or made into toolsets from their documents."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from signet.kernel.toolset import Toolset
from signet.mcp.spec import RECORDED_SERVERS, ServerSpec, Wrapping
from signet.settings.model import Settings
from signet.settings.usage import UsageError

from .servers import servers_of
from .variables import nearest

__all__ = ["open_documents", "with_servers", "with_servers_of_file"]


def with_servers(settings: Settings, wrapping: Wrapping) -> Settings:
    """Return settings that serve some servers, beside the toolsets that they name; documents are open already.

    Raises:
        UsageError: there is more than one process.
    """
    relayed = tuple(one for one in wrapping.servers if not one.openapi)
    names = [settings.toolsets] if settings.toolsets else []
    names += [one.name for one in wrapping.servers if one.openapi]
    if settings.record or settings.replay:
        relayed = tuple(_on_tape(one, settings) for one in relayed)
    if relayed and settings.workers > 1:
        raise UsageError("wrapped servers are served by one process: leave --workers out")
    return replace(
        settings,
        toolsets=",".join(names),
        wrapping=replace(wrapping, servers=relayed, limited=_limited(settings)) if relayed else None,
    )


def _limited(settings: Settings) -> tuple[str, ...]:
    """Return the tools with limits that are of no toolset."""
    if not settings.limits:
        return ()
    from .limits import names_of_no_toolset

    return names_of_no_toolset(settings.limits)


def with_servers_of_file(settings: Settings, *, is_private: bool) -> Settings:
    """Return settings that serve the servers of `signet.toml` too, if it names any."""
    servers = servers_of(settings)
    if not servers:
        return settings
    return with_servers(settings, Wrapping(servers=servers, prefixed=True, is_private=is_private))


def _on_tape(spec: ServerSpec, settings: Settings) -> ServerSpec:
    """Return a server that is recorded into, or played from, the folder of a recording; a tape of its own is played.

    Raises:
        UsageError: the recording that is to be played has no such server.
    """
    if spec.tape or spec.record:
        return spec
    folder = os.path.join(settings.replay or settings.record or "", RECORDED_SERVERS, spec.name)
    if not settings.replay:
        return replace(spec, record=folder)
    from signet.relay.tape import LABEL

    if not os.path.lexists(os.path.join(folder, LABEL)):
        raise UsageError(
            f"{settings.replay} has no recording of the server '{spec.name}', and a replay does not start it: record "
            f'it with --record, or name a tape of it with tape = "FOLDER" in [servers.{spec.name}]'
        )
    return replace(spec, tape=folder, command=(), url="")


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
    from signet.openapi.toolset import PREFIX, DocumentError, open_toolset
    from signet.settings.catalogue import TOOLSETS, find_toolset, register

    if spec.name in TOOLSETS and not find_toolset(spec.name).is_foreign:
        raise UsageError(f"there is a toolset '{spec.name}' already: give the server of {spec.openapi} another name")
    ways = Ways("the key include: ", "the key base_url") if spec.config else FLAGS
    try:
        toolset = open_toolset(
            spec.openapi, name=spec.name, include=spec.include, base_url=spec.base_url, environ=environ, ways=ways
        )
    except DocumentError as error:
        raise UsageError(str(error)) from None
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
