"""What a server of one era says, as the other era writes it. Pure.

handshake ── resultType, caching hints, serverInfo in `_meta` ──▶ modern
modern ───── without them, errors by their former codes ────────▶ handshake
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import Raw

from signet.kernel.protocol import SERVER_INFO_KEY
from signet.kernel.wire import encode
from signet.mcp.messages import HOP, members

__all__ = [
    "CACHEABLE",
    "capabilities_for",
    "error_in_era",
    "for_handshake",
    "for_modern",
    "listed_for_handshake",
    "with_server_info",
]

CACHEABLE: Final = frozenset(
    {
        "server/discover",
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "resources/read",
    }
)
"""The methods whose results say how long they may be kept, in the modern era."""
SERVER_INFO: Final = SERVER_INFO_KEY.encode()
ESCAPE: Final = b"\\u"
"""The beginning of an escaped letter: a key may be written with such letters."""
RESOURCE_NOT_FOUND: Final = -32002
INVALID_PARAMS: Final = -32602


def for_modern(method: str, result: Raw | bytes, server_info: Raw | bytes | None) -> bytes:
    """Return a result of the handshake era with what the modern era asks for."""
    parts: dict[str, Any] = dict(members(result))
    parts.setdefault("resultType", "complete")
    if method in CACHEABLE:
        parts.setdefault("ttlMs", 0)
        parts.setdefault("cacheScope", "private")
    if server_info is not None:
        meta: dict[str, Any] = dict(members(parts.get("_meta")))
        meta.setdefault(SERVER_INFO_KEY, Raw(server_info))
        parts["_meta"] = meta
    return encode(parts)


def for_handshake(method: str, result: Raw | bytes) -> bytes:
    """Return a result of the modern era without what only that era has."""
    parts: dict[str, Any] = dict(members(result))
    parts.pop("resultType", None)
    if method in CACHEABLE:
        parts.pop("ttlMs", None)
        parts.pop("cacheScope", None)
    if "_meta" in parts:
        meta = {key: value for key, value in members(parts.pop("_meta")).items() if not key.startswith(HOP)}
        if meta:
            parts["_meta"] = meta
    if "structuredContent" in parts and not bytes(parts["structuredContent"]).startswith(b"{"):
        # Clients of that era take an object alone; the text says the same.
        del parts["structuredContent"]
    return encode(parts)


def with_server_info(result: Raw, info: Raw) -> Raw:
    """Return a result in which the server names itself in this way, if it names itself; else the same object."""
    text = bytes(result)
    if SERVER_INFO not in text and ESCAPE not in text:
        return result
    parts: dict[str, Any] = dict(members(result))
    meta: dict[str, Any] = dict(members(parts.get("_meta")))
    if SERVER_INFO_KEY not in meta or bytes(meta[SERVER_INFO_KEY]) == bytes(info):
        return result
    return Raw(encode({**parts, "_meta": {**meta, SERVER_INFO_KEY: info}}))


def listed_for_handshake(tool: Raw) -> Raw:
    """Return a listed tool without an output schema that is not of an object: one would break the whole list."""
    parts = members(tool)
    schema = members(parts.get("outputSchema"))
    if "outputSchema" not in parts or bytes(schema.get("type", b"")) == b'"object"':
        return tool
    return Raw(encode({key: value for key, value in parts.items() if key != "outputSchema"}))


def error_in_era(method: str, error: Raw | bytes, *, modern: bool) -> bytes:
    """Return an error with the code that the other era has for it: only a missing resource has two."""
    parts: dict[str, Any] = dict(members(error))
    code = bytes(parts.get("code", b""))
    if modern and code == b"%d" % RESOURCE_NOT_FOUND:
        parts["code"] = INVALID_PARAMS
    elif not modern and method == "resources/read" and code == b"%d" % INVALID_PARAMS:
        parts["code"] = RESOURCE_NOT_FOUND
    else:
        return bytes(error)
    return encode(parts)


def capabilities_for(raw: Raw | bytes, *, same_era: bool) -> bytes:
    """Return what a server can do, as callers of an era may rely on: tasks do not cross from one to the other."""
    if same_era:
        return bytes(raw)
    parts: dict[str, Any] = dict(members(raw))
    parts.pop("tasks", None)
    extensions = {key: value for key, value in members(parts.pop("extensions", None)).items() if "/tasks" not in key}
    return encode({**parts, "extensions": extensions} if extensions else parts)
