"""How a wrapped server is reached. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

__all__ = ["ServerSpec", "Wrapping", "default_name", "plain_name"]

LAUNCHERS: Final = frozenset(
    ("npx", "bunx", "uvx", "pipx", "npm", "pnpm", "yarn", "bun", "deno", "uv", "docker", "env")
)
# Texts, not patterns: every server reads its settings, and few are wrapped.
INTERPRETERS: Final = r"(?:python|node|ruby|perl|php|bash|sh)[0-9.]*(?:\.exe)?"
ACTIONS: Final = frozenset(("run", "exec", "dlx", "x", "tool"))
"""The words of launchers that name no server."""
SUFFIXES: Final = r"\.(?:py|js|mjs|cjs|ts|rb|sh|exe|jar)$"
VARIABLE: Final = r"[A-Za-z_][A-Za-z0-9_]*=(?!=)"
MAX_NAME_CHARS: Final = 60


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
    env: tuple[tuple[str, str], ...] = ()
    """Variables beside the allow-list, with values."""
    cwd: str | None = None
    tape: str = ""
    """Or a recording that is replayed."""
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


def default_name(command: Sequence[str], url: str = "") -> str:
    """Return the name of a server that is given none: by its package or file, or by its host."""
    if not command:
        from urllib.parse import urlsplit

        return plain_name(urlsplit(url).hostname or "")
    for place, word in enumerate(command):
        base = re.split(r"[/\\]", word)[-1]
        is_launcher = place == 0 and (base in LAUNCHERS or re.fullmatch(INTERPRETERS, base) is not None)
        if is_launcher or word in ACTIONS or word.startswith("-") or re.match(VARIABLE, word):
            continue
        # @scope/package@1.2.3, package==1.2.3, folder/server.py
        bare = re.split(r"(?<=.)(?:@|==|\[)", base)[0]
        return plain_name(re.sub(SUFFIXES, "", bare))
    return plain_name(re.sub(SUFFIXES, "", re.split(r"[/\\]", command[0])[-1]))


def plain_name(text: str) -> str:
    """Return a name in the alphabet of server names."""
    return re.sub(r"[^a-z0-9_-]+", "-", text.lower()).strip("-")[:MAX_NAME_CHARS] or "server"


class Wrapping(msgspec.Struct, frozen=True, kw_only=True):
    """The wrapped servers of a process, and how they are pinned."""

    servers: tuple[ServerSpec, ...]
    prefixed: bool = False
    """Whether names of tools and prompts begin with the server's name."""
    lock_file: str = "signet.lock"
    lock: str = "text=note"
    """The policy of the lock: `text=note`, `text=block` or `off`."""
    record: str = ""
    """The tape that is recorded."""
    is_private: bool = False
    """Whether there is one client alone, on stdio."""

    def secrets(self) -> list[str]:
        """Return the texts of all servers that must be written nowhere."""
        from .spec_secrets import secrets_of

        return [secret for spec in self.servers for secret in secrets_of(spec)]
