"""How a wrapped server is reached, and what is asked of it. Pure."""

from __future__ import annotations

import msgspec

__all__ = ["ServerSpec"]


class ServerSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One wrapped server: a command, a URL, a recording or an OpenAPI document."""

    name: str
    """Lower-case letters, digits, `_` and `-`; the prefix of its tools where there are several servers."""
    command: tuple[str, ...] = ()
    """A child that speaks on its standard input and output."""
    url: str = ""
    """A remote server."""
    headers: tuple[tuple[str, str], ...] = ()
    """What requests to a remote server carry; they may hold secrets and are never shown."""
    env: tuple[tuple[str, str], ...] = ()
    """Variables of the child beside those that every child has."""
    cwd: str | None = None
    tape: str = ""
    """A recording that is replayed in place of the server."""
    openapi: str = ""
    """An OpenAPI document whose operations are the tools."""
    include: tuple[str, ...] = ()
    """The operations of the document that become tools, if not all do."""
    base_url: str = ""
    """The address of the document's service, where it is not the document's own."""
    era: str = "auto"
    """The protocol era that is spoken with the server: `auto`, `handshake` or `modern`."""
    pool: str = "shared"
    """What has a child of its own: all callers together (`shared`), each `session`, or each `call`."""
    validation: tuple[tuple[str, str], ...] = (("", "enforce"),)
    """The validation mode of each tool by name; the empty name stands for all others."""
    call_timeout_s: float = 600.0
