"""The servers that settings name beside toolsets: relayed as they are, or made into toolsets from their documents."""

from __future__ import annotations

import os
from collections.abc import Mapping

from msgspec.structs import replace

from signet.relay.server_spec import ServerSpec, Wrapping
from signet.settings import Settings, UsageError

from .servers import servers_of

__all__ = ["with_servers", "with_servers_of_file"]


def with_servers(settings: Settings, wrapping: Wrapping, environ: Mapping[str, str] = os.environ) -> Settings:
    """Return settings that serve some servers, beside the toolsets that they name.

    Raises:
        UsageError: a document cannot be used, or there is more than one process.
    """
    relayed = tuple(one for one in wrapping.servers if not one.openapi)
    names = [settings.toolsets] if settings.toolsets else []
    names += [_toolset_of(one, environ) for one in wrapping.servers if one.openapi]
    if relayed and settings.workers > 1:
        raise UsageError("wrapped servers are served by one process: leave --workers out")
    return replace(
        settings,
        toolsets=",".join(names),
        wrapping=replace(wrapping, servers=relayed) if relayed else None,
    )


def with_servers_of_file(settings: Settings, *, is_private: bool) -> Settings:
    """Return settings that serve the servers of `signet.toml` too, if it names any."""
    servers = servers_of(settings)
    if not servers:
        return settings
    return with_servers(settings, Wrapping(servers=servers, prefixed=True, is_private=is_private))


def _toolset_of(spec: ServerSpec, environ: Mapping[str, str]) -> str:
    """Register the toolset of an OpenAPI document, and return its name."""
    from signet.catalogue import register
    from signet.openapi.toolset import DocumentError, open_toolset

    try:
        toolset = open_toolset(
            spec.openapi, name=spec.name, include=spec.include, base_url=spec.base_url, environ=environ
        )
    except DocumentError as error:
        raise UsageError(str(error)) from None
    modes = dict(spec.validation)
    tools = tuple(replace(tool, mode=modes.get(tool.name) or modes.get("") or tool.mode) for tool in toolset.tools())
    register(replace(toolset, tools=lambda: tools))
    return toolset.name
