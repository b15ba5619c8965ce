"""MCP as a tools-only server speaks it: versions, eras, params and result shapes.

Two eras share the wire. A *handshake* message belongs to a connection that began with `initialize`;
a *modern* one carries its protocol version in `params._meta`. The era is decided per message.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from .errors import INVALID_PARAMS, UNSUPPORTED_VERSION, Fault
from .outcome import Outcome
from .schemas import SchemaRegistry
from .tools import Tool, Toolbox
from .wire import Id, ProtocolError, Reply, ResponseId, encode, failure, success

__all__ = [
    "CAPABILITIES_KEY",
    "HANDSHAKE_VERSIONS",
    "MODERN_VERSIONS",
    "NO_META",
    "SERVER_INFO_KEY",
    "VERSION_KEY",
    "CallParams",
    "CancelParams",
    "Era",
    "Identity",
    "InitializeParams",
    "ListParams",
    "Meta",
    "Params",
    "RequestPreamble",
    "check_meta",
    "check_version",
    "discover_result",
    "eras",
    "initialize_result",
    "list_result",
    "listing",
    "progress_notification",
    "to_reply",
    "unsupported",
]

HANDSHAKE_VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN_VERSIONS: Final = ("2026-07-28",)

VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY: Final = "io.modelcontextprotocol/clientCapabilities"
SERVER_INFO_KEY: Final = "io.modelcontextprotocol/serverInfo"

CAPABILITIES: Final = {"tools": {"listChanged": False}}
LIST_TTL_MS: Final = 3_600_000
"""How long a client may keep a list: it changes only with the server's version."""


class Identity(msgspec.Struct, frozen=True):
    """Who the server says it is."""

    name: str
    version: str


class Meta(msgspec.Struct, frozen=True):
    """What a request says about itself."""

    version: Any = msgspec.field(name=VERSION_KEY, default=UNSET)
    capabilities: Any = msgspec.field(name=CAPABILITIES_KEY, default=UNSET)
    progress_token: Id | UnsetType = msgspec.field(name="progressToken", default=UNSET)


NO_META: Final = Meta()


class Params(msgspec.Struct, frozen=True):
    """What the params of every method may hold."""

    meta: Meta | None = msgspec.field(name="_meta", default=None)


class RequestPreamble(Params, frozen=True):
    """What is read of any request before its method is looked at."""

    name: Any = UNSET


class InitializeParams(Params, frozen=True, kw_only=True):
    """What a client of the handshake eras opens with."""

    version: str = msgspec.field(name="protocolVersion")
    capabilities: dict[str, Any]
    client: dict[str, Any] = msgspec.field(name="clientInfo")


class ListParams(Params, frozen=True):
    """A page of a list; there is only one."""

    cursor: str | None = None


class CallParams(Params, frozen=True, kw_only=True):
    """A tool to call."""

    name: str
    arguments: dict[str, Any] | None = None


class CancelParams(Params, frozen=True, kw_only=True):
    """A request that nobody waits for any more."""

    request_id: Id = msgspec.field(name="requestId")


def check_meta(meta: Meta) -> None:
    """Hold a modern request to the keys that it must carry.

    Raises:
        Refused: -32602 naming what is missing or misshapen.
    """
    required = (VERSION_KEY, meta.version), (CAPABILITIES_KEY, meta.capabilities)
    missing = [key for key, value in required if value is UNSET]
    if missing:
        raise ProtocolError(INVALID_PARAMS, f"Invalid params: params._meta lacks {' and '.join(missing)}")
    if not isinstance(meta.version, str):
        raise ProtocolError(INVALID_PARAMS, f"Invalid params: {VERSION_KEY} must be a string")
    if not isinstance(meta.capabilities, dict):
        raise ProtocolError(INVALID_PARAMS, f"Invalid params: {CAPABILITIES_KEY} must be an object")


def check_version(meta: Meta) -> None:
    """Refuse a modern request of a version that is not served.

    Raises:
        Refused: -32022 with the versions that are.
    """
    if meta.version not in MODERN_VERSIONS:
        raise unsupported(meta.version)


def unsupported(version: str) -> ProtocolError:
    """Refuse a version that is not served, with those that are."""
    data = {"supported": list(MODERN_VERSIONS), "requested": version[:100]}
    return ProtocolError(UNSUPPORTED_VERSION, "Unsupported protocol version", data)


def listing(toolbox: Toolbox, registry: SchemaRegistry) -> bytes:
    """Write the tools as both eras list them."""
    return encode([_listed(tool, registry) for tool in toolbox])


def _listed(tool: Tool, registry: SchemaRegistry) -> dict[str, Any]:
    bundle = registry.load_bundle(tool.slug)
    listed: dict[str, Any] = {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": bundle.input,
        "annotations": {"title": tool.title, **tool.annotations},
    }
    if tool.to_content is None:
        # Clients hide the text when there is structured content, so tools that answer in blocks promise none.
        listed["outputSchema"] = bundle.output
    return listed


class Era(msgspec.Struct, frozen=True):
    """What an era adds to each result."""

    modern: bool
    tail: bytes
    """Members that every result ends with."""
    about: dict[str, Any]
    """Members of every result's `_meta`."""


def eras(identity: Identity) -> tuple[Era, Era]:
    """Give the handshake era and the modern one, as a server of this identity speaks them."""
    about = {SERVER_INFO_KEY: msgspec.to_builtins(identity)}
    return Era(False, b"", {}), Era(True, b',"resultType":"complete","_meta":' + encode(about), about)  # noqa: FBT003


def _tool_result(outcome: Outcome, era: Era) -> bytes:
    """Write a tool's result: structured and the same JSON as text, or the blocks that it makes itself."""
    tool = outcome.tool
    if tool is not None and tool.to_content is not None:
        content = b'{"content":' + encode(tool.to_content(outcome.result))
    else:
        text = encode(outcome.body.decode())
        content = b'{"content":[{"type":"text","text":' + text + b'}],"structuredContent":' + outcome.body
    return content + b',"isError":false' + era.tail + b"}"


def _error_result(fault: Fault, era: Era) -> bytes:
    """Write a fault that the model can act on as a result; its canonical code goes into `_meta`."""
    result: dict[str, Any] = {"content": [{"type": "text", "text": fault.message}], "isError": True}
    if era.modern:
        result["resultType"] = "complete"
    return encode({**result, "_meta": {**era.about, "canonical_code": fault.code}})


def initialize_result(version: str, identity: Identity, instructions: str) -> bytes:
    """Write the answer to `initialize`; a version that is not served is answered with the newest one."""
    result = {
        "protocolVersion": version if version in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1],
        "capabilities": CAPABILITIES,
        "serverInfo": identity,
        "instructions": instructions,
    }
    return encode(result)


def discover_result(instructions: str, era: Era) -> bytes:
    """Write the answer to `server/discover`."""
    result = {
        "supportedVersions": MODERN_VERSIONS,
        "capabilities": CAPABILITIES,
        "instructions": instructions,
        "ttlMs": LIST_TTL_MS,
        "cacheScope": "public",
    }
    return encode(result)[:-1] + era.tail + b"}"


def list_result(toolbox: Toolbox, registry: SchemaRegistry, era: Era) -> bytes:
    """Write the answer to `tools/list`."""
    hints = b',"ttlMs":%d,"cacheScope":"public"' % LIST_TTL_MS if era.modern else b""
    return b'{"tools":' + listing(toolbox, registry) + hints + era.tail + b"}"


def to_reply(era: Era, request_id: ResponseId, outcome: Outcome) -> Reply:
    """Write an outcome as MCP shows it."""
    fault = outcome.fault
    if fault is None:
        return success(request_id, _tool_result(outcome, era))
    if fault.as_tool_result:
        return success(request_id, _error_result(fault, era))
    return failure(request_id, fault.mcp_code, fault.message, {"canonical_code": fault.code, **fault.data})


def progress_notification(token: Id, done: float, total: float | None, message: str | None) -> bytes:
    """Write the notification that reports how far a call is."""
    values = {"progressToken": token, "progress": done, "total": total, "message": message}
    params = {key: value for key, value in values.items() if value is not None}
    return encode({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
