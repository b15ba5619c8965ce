"""How a wrapped server is reached. Pure."""

from __future__ import annotations

import msgspec

__all__ = ["ServerSpec", "Wrapping"]


class ServerSpec(msgspec.Struct, frozen=True, kw_only=True):
    """How a wrapped server is reached, and what is asked of it."""

    name: str
    """Of the alphabet a-z0-9_-; the prefix of its tools where there are several servers."""
    command: tuple[str, ...] = ()
    """A child on stdio."""
    url: str = ""
    """Or a remote server."""
    headers: tuple[tuple[str, str], ...] = ()
    """Secrets: never shown."""
    header_file: str = ""
    """The file of the headers."""
    env: tuple[tuple[str, str], ...] = ()
    """Variables beside the allow-list, with values."""
    cwd: str | None = None
    tape: str = ""
    """Or the folder of a recording that is replayed."""
    record: str = ""
    """The folder of the recording that its messages are written into, if any."""
    openapi: str = ""
    """Or an OpenAPI document (a toolset, not a relay)."""
    base_url: str = ""
    """Where the service of an OpenAPI document is."""
    include: tuple[str, ...] = ()
    """Which operations of an OpenAPI document become tools."""
    era: str = "auto"
    """`auto`, `handshake` or `modern`."""
    pool: str = "shared"
    """`shared`, `session` or `call`."""
    validation: tuple[tuple[str, str], ...] = (("", "enforce"),)
    """The mode per tool name, "" for all."""
    contracts: str = ""
    """A folder of bundles whose output schemas hold for tools that state none, such as learned ones."""
    call_timeout_s: float = 600.0
    config: str = ""
    """The file that names the server: `signet.toml`, or a client's; empty if the command line does."""


class Wrapping(msgspec.Struct, frozen=True, kw_only=True):
    """The wrapped servers of a process, and how they are pinned."""

    servers: tuple[ServerSpec, ...]
    prefixed: bool = False
    """Whether names of tools and prompts begin with the server's name."""
    lock_file: str = "signet.lock"
    lock_is_named: bool = False
    """Whether the operator named the lock file, which must be there then."""
    lock: str = "text=note"
    """The policy of the lock: `text=note`, `text=block`, `require`, several of them with commas, or `off`."""
    limited: tuple[str, ...] = ()
    """The names of tools that have limits and are of no toolset: slugs, or names as they are listed."""
    is_private: bool = False
    """Whether there is one client alone, on stdio."""
    record: str = ""
    """The folder of the recording that is made, if any."""
    replay: str = ""
    """The folder of the recording that is replayed, if any."""
