"""The metadata of a protected resource (RFC 9728): where a client without a token learns who gives it one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

__all__ = ["metadata_of", "metadata_paths", "metadata_url"]

WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"
MCP: Final = "/mcp"


def metadata_of(resource: str, issuer: str, scopes: Sequence[str]) -> dict[str, Any]:
    """Return the metadata of a resource."""
    return {
        "resource": resource,
        "authorization_servers": [issuer],
        **({"scopes_supported": list(scopes)} if scopes else {}),
        "bearer_methods_supported": ["header"],
        "resource_name": "Signet",
    }


def metadata_paths(prefix: str) -> list[str]:
    """Return the paths at which the metadata is served: before `/mcp`, and before the path of the public URL too."""
    return list(dict.fromkeys((WELL_KNOWN + MCP, WELL_KNOWN, WELL_KNOWN + prefix + MCP, WELL_KNOWN + prefix)))


def metadata_url(public_url: str) -> str:
    """Return the URL of the metadata below a public URL, where a proxy that serves a path alone passes it on."""
    return public_url + WELL_KNOWN + MCP
