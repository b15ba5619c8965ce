"""A snapshot: everything that a server says about itself, as it wrote it. Pure."""

from __future__ import annotations

import msgspec

__all__ = ["Snapshot"]


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """What a server has listed; raw values keep the order of keys and the spelling of numbers."""

    era: str
    """`handshake` or `modern`."""
    version: str
    """The protocol revision."""
    server_info: msgspec.Raw
    capabilities: msgspec.Raw
    instructions: str = ""
    tools: tuple[msgspec.Raw, ...] = ()
    resources: tuple[msgspec.Raw, ...] = ()
    templates: tuple[msgspec.Raw, ...] = ()
    prompts: tuple[msgspec.Raw, ...] = ()
