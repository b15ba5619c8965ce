"""Snapshots: everything that a server says about itself, as it wrote it. Pure."""

from __future__ import annotations

import msgspec

__all__ = ["Snapshot"]


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a server says about itself."""

    era: str
    version: str
    server_info: msgspec.Raw
    capabilities: msgspec.Raw
    instructions: str = ""
    tools: tuple[msgspec.Raw, ...] = ()
    resources: tuple[msgspec.Raw, ...] = ()
    templates: tuple[msgspec.Raw, ...] = ()
    prompts: tuple[msgspec.Raw, ...] = ()
