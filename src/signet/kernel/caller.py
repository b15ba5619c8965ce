"""Who calls: the principal behind a request, and what else is known of the request that carries a call."""

from __future__ import annotations

from collections.abc import Awaitable
from contextvars import ContextVar
from functools import lru_cache
from typing import Final, Protocol

import msgspec

from .errors import Fault

__all__ = ["CALLER", "CALL_ALL", "NOBODY", "Authenticator", "Caller", "Principal", "caller_of", "holder_now"]

CALL_ALL: Final = "tools:call"
"""The scope that lets a principal call every tool; `tools:call:<slug>` is for one."""
MAX_CHARS: Final = 128
"""The longest name of a caller that is counted as it is."""
MAX_KEPT: Final = 256
"""The callers whose holder is not found anew for each request."""
NETWORK_BITS: Final = 64
"""The bits of an IPv6 address that one client cannot choose."""


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

    @property
    def holder(self) -> str:
        """Return whose share of a scarce thing the caller uses: its principal's, else its address's; else empty."""
        who = self.principal
        return _holder_of(None if who is None else who.key or who.name, self.address)


NOBODY: Final = Caller()
"""The caller where nothing is known: on stdio and in commands."""

CALLER: Final[ContextVar[Caller]] = ContextVar("signet_caller")
"""The caller whose request is answered, where callers can be told apart: what the answer uses is counted to it.

It is set by the door that awaits the answer, before it does.
"""


def holder_now() -> str:
    """Return whose share of a scarce thing the code that runs now uses; empty outside of a call."""
    return CALLER.get(NOBODY).holder


@lru_cache(maxsize=MAX_KEPT)
def _holder_of(principal: str | None, address: str) -> str:
    scope, who = caller_of(principal, address)
    return f"{scope} {who}" if who else ""


def caller_of(principal: str | None, address: str) -> tuple[str, str]:
    """Return by what a caller is counted, its principal, address or process, and its name there."""
    if principal is not None:
        return "principal", principal if len(principal) <= MAX_CHARS else _digest(principal)
    if address:
        return "address", _network(address) if ":" in address else address[:MAX_CHARS]  # rule: @caller_of
    return "process", ""


def _digest(name: str) -> str:
    from hashlib import sha256

    return sha256(name.encode()).hexdigest()


def _network(address: str) -> str:
    """Return what stands for an IPv6 address: its network of 64 bits, or the IPv4 address that it maps."""
    from ipaddress import IPv6Address

    try:
        known = IPv6Address(address.partition("%")[0])
    except ValueError:
        return address[:MAX_CHARS]
    if known.ipv4_mapped is not None:
        return str(known.ipv4_mapped)
    return f"{IPv6Address(int(known) >> NETWORK_BITS << NETWORK_BITS)}/{NETWORK_BITS}"
