"""The servers of others that a command is about beside one's own tools: `-- COMMAND …`, or `[servers.*]`."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Iterable
from typing import NamedTuple

from msgspec import Raw

from signet.kernel.errors import Fault
from signet.kernel.schemas import SchemaRegistry
from signet.kernel.server import Server
from signet.kernel.tools import Toolbox
from signet.settings.model import Settings
from signet.settings.server_name import default_name
from signet.settings.server_spec import ServerSpec, Wrapping
from signet.settings.usage import UsageError

__all__ = ["KnownTools", "known_tools", "learn", "spec_of", "variables_of", "with_command"]


class KnownTools(NamedTuple):
    """All tools that are served with some settings, those of wrapped servers among them."""

    toolbox: Toolbox
    registry: SchemaRegistry
    entries: list[Raw]
    """What clients are told of the tools of wrapped servers."""


def spec_of(args: argparse.Namespace) -> ServerSpec | None:
    """Return the server that the words behind `--` start, if there are any.

    Raises:
        UsageError: a variable that it should get is not set.
    """
    command: tuple[str, ...] = tuple(getattr(args, "server_command", ()))
    names: list[str] = getattr(args, "env", [])
    if not command:
        if names:
            raise UsageError("--env is for a server: write '-- COMMAND …' behind it")
        return None
    return ServerSpec(name=default_name(command), command=command, env=variables_of(names))


def variables_of(given: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return the variables that `--env` names, with their values.

    Raises:
        UsageError: a variable is not set, or has no name; no error repeats a value.
    """
    from signet.settings.servers import read_variables

    try:
        return read_variables(given, os.environ)
    except UsageError as error:
        raise UsageError(f"--env: {error}") from None


def with_command(settings: Settings, args: argparse.Namespace) -> Settings:
    """Return settings that serve the server behind `--` alone, where one is named, else those of `signet.toml` too."""
    from signet.settings.servers import with_servers, with_servers_of_file

    spec = spec_of(args)
    if spec is None:
        return with_servers_of_file(settings, is_private=not hasattr(args, "port")) if settings.config else settings
    if settings.toolsets:
        raise UsageError("the words behind -- start a server: leave --toolsets and targets out")
    return with_servers(settings, Wrapping(servers=(spec,), is_private=True))


async def learn(server: Server, tool: str = "") -> None:
    """Learn the tools of wrapped servers, or of the one that a tool is of; raise UsageError if it cannot be asked."""
    if server.relay is not None:
        try:
            await server.relay.ready(tool, to_the_end=True)
        except Fault as fault:
            raise UsageError(fault.message) from None


def known_tools(settings: Settings) -> KnownTools:
    """Return all tools; wrapped servers are started for it, and ended again."""
    from signet.app import build_server, check

    if settings.wrapping is None:
        return KnownTools(*check(settings), [])
    server = build_server(settings)
    entries = asyncio.run(_learnt(server))
    return KnownTools(server.pipeline.toolbox, server.pipeline.registry, entries)


async def _learnt(server: Server) -> list[Raw]:
    try:
        await learn(server)
        return server.relay.entries() if server.relay is not None else []
    finally:
        await server.close()
