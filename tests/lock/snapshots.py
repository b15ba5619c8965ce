"""Snapshots for tests, made from values."""

from __future__ import annotations

import json
from typing import Any

from msgspec import Raw

from signet.lock.file import LockedServer
from signet.mcp.snapshot import Snapshot

TOOL: dict[str, Any] = {
    "name": "read",
    "description": "Read a file.",
    "inputSchema": {
        "type": "object",
        "properties": {"path": {"type": "string", "maxLength": 9}},
        "required": ["path"],
    },
    "outputSchema": {
        "type": "object",
        "properties": {"lines": {"type": "integer"}, "text": {"type": "string"}},
        "required": ["lines"],
        "additionalProperties": False,
    },
    "annotations": {"destructiveHint": False, "idempotentHint": True, "openWorldHint": False},
}


def raw(value: Any) -> Raw:
    return Raw(value if isinstance(value, bytes) else json.dumps(value, separators=(",", ":")).encode())


def snapshot(*tools: Any, instructions: str = "", **lists: list[Any]) -> Snapshot:
    """Return what a server says that has these tools."""
    others = {where: tuple(map(raw, entries)) for where, entries in lists.items()}
    return Snapshot(
        era="handshake",
        version="2025-11-25",
        server_info=raw({"name": "files", "version": "1"}),
        capabilities=raw({"tools": {}}),
        instructions=instructions,
        tools=tuple(map(raw, tools)),
        **others,
    )


def locked(*tools: Any, **more: Any) -> LockedServer:
    return LockedServer(name="files", command=("files-server",), snapshot=snapshot(*tools, **more))
