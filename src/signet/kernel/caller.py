"""Who calls: the principal behind a request, and what else is known of the request that carries a call."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Final, Protocol

import msgspec

from .errors import Fault

__all__ = ["CALL_ALL", "NOBODY", "Authenticator", "Caller", "Principal"]

CALL_ALL: Final = "tools:call"
"""The scope that lets a principal call every tool; `tools:call:<slug>` is for one."""


class Principal(msgspec.Struct, frozen=True):
    """Somebody with a name: the name of a token, or the subject of an OAuth token."""

    name: str
    scopes: frozenset[str] | None = None
    """What the principal may do; None stands for everything."""
    key: str = ""
    """What a subject is counted by, which is the key of no token; empty stands for the name."""

    @property
    def may_call_all(self) -> bool:
        """Return whether the scopes allow calls of every tool."""
        return self.scopes is None or CALL_ALL in self.scopes

    def may_call(self, slug: str) -> bool:
        """Return whether the scopes allow a call of a tool."""
        return self.scopes is None or CALL_ALL in self.scopes or f"{CALL_ALL}:{slug}" in self.scopes


class Authenticator(Protocol):
    """Finds out who the bearer of a token is."""

    def identify(self, token: str) -> Principal | Fault | Awaitable[Principal | Fault]:
        """Return the principal of a bearer token (empty if none was sent), or why there is none."""

    def challenge(self, fault: Fault) -> str:
        """Return the `WWW-Authenticate` header of a response that refuses a token (401) or its scopes (403)."""

    def reload(self) -> None:
        """Read again what is kept of files and keys: an operator asks for it."""


class Caller(msgspec.Struct, frozen=True):
    """The origin of one request: the same value through every door."""

    principal: Principal | None = None
    """Who calls; None where nobody has to say."""
    address: str = ""
    """The client's exact address; empty on stdio and on a unix socket."""
    request_id: str = ""
    """The id of an HTTP request, which the client may have chosen."""
    trace: str = ""
    """The `traceparent` header of an HTTP request; one in `_meta` of a call counts instead."""

    @property
    def name(self) -> str:
        """Return the principal's name; empty where there is none."""
        return self.principal.name if self.principal is not None else ""

    @property
    def key(self) -> str | None:
        """Return what the principal is counted by; None where there is none."""
        return None if self.principal is None else self.principal.key or self.principal.name


NOBODY: Final = Caller()
"""The caller where nothing is known: on stdio and in commands."""
