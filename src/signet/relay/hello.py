"""How a server introduces itself to a caller: the results of `initialize` and `server/discover`. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw

from signet.kernel.protocol import MODERN_VERSIONS, SERVER_INFO_KEY, settled_version
from signet.kernel.relay import RpcRequest
from signet.kernel.wire import encode
from signet.mcp.snapshot import Snapshot

from .translation import capabilities_for

__all__ = ["hello_as_said", "hello_of"]


def hello_as_said(request: RpcRequest, said: Mapping[str, Raw]) -> bytes:
    """Return what a server of the caller's era says of itself; the revisions are those that are served here."""
    hello: dict[str, Any] = dict(said)
    if not request.era.modern:
        hello["protocolVersion"] = settled_version(request.params.version)
    elif not set(msgspec.json.decode(said["supportedVersions"], type=list[str])) <= set(MODERN_VERSIONS):
        hello["supportedVersions"] = MODERN_VERSIONS
    return encode(hello)


def hello_of(request: RpcRequest, snapshot: Snapshot) -> bytes:
    """Return what a server of either era says of itself, in the era of the caller."""
    same = (snapshot.era == "modern") == request.era.modern
    capabilities = Raw(capabilities_for(snapshot.capabilities, same_era=same))
    said = {"instructions": snapshot.instructions} if snapshot.instructions else {}
    if not request.era.modern:
        version = settled_version(request.params.version)
        info = snapshot.server_info
        return encode({"protocolVersion": version, "capabilities": capabilities, "serverInfo": info, **said})
    result = encode({"supportedVersions": MODERN_VERSIONS, "capabilities": capabilities, **said})
    meta = {SERVER_INFO_KEY: snapshot.server_info}
    tail = b',"ttlMs":0,"cacheScope":"private","resultType":"complete","_meta":' + encode(meta) + b"}"
    return result[:-1] + tail
