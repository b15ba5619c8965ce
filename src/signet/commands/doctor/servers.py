"""Checks of wrapped servers: each starts, or answers, and lists what it has."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial
from typing import Final

from signet.kernel.checkup import REACHABLE, Check, CheckupResult, ok, trouble
from signet.mcp.link import LinkError
from signet.mcp.snapshot import Snapshot
from signet.recording.message_reader import MessageReader
from signet.relay.server_snapshot import SnapshotError, take_snapshot
from signet.settings.model import Settings
from signet.settings.server_spec import ServerSpec
from signet.settings.servers import servers_of
from signet.system.advice import advise

__all__ = ["read_server", "server_checks"]

LIST_S: Final = 30.0
"""How long a server may take to start and to list what it has: a launcher may have to fetch it first."""


def server_checks(settings: Settings) -> Iterator[Check]:
    """Yield a check of each server of `signet.toml`; raise UsageError if one is not written as it must be."""
    flags = ["--config", settings.config or ""] if settings.origins.get("config") == "--config" else []
    for spec in servers_of(settings) if settings.config else ():
        if not spec.openapi:
            yield Check(REACHABLE, f"server {spec.name}", partial(_server, spec, flags))


async def _server(spec: ServerSpec, flags: list[str]) -> CheckupResult:
    try:
        snapshot = await asyncio.to_thread(read_server, spec, LIST_S)
    except SnapshotError as error:
        listing = advise("tools.list", flags=flags, server=[])
        return trouble(str(error), f"mend [servers.{spec.name}]; '{listing}' lists what is served")
    tools = len(snapshot.tools)
    return ok(f"it lists {tools} {'tool' if tools == 1 else 'tools'}, and speaks {snapshot.version}")


def read_server(spec: ServerSpec, timeout_s: float) -> Snapshot:
    """Return what a server, or the recording of one, says about itself; raise SnapshotError if it cannot be read."""
    if not spec.tape:
        return take_snapshot(spec, timeout_s)
    try:
        recorded = MessageReader(spec.tape, spec.name)
        recorded.load()
        recorded.close()
        return recorded.snapshot()
    except LinkError as error:
        raise SnapshotError(str(error)) from None
