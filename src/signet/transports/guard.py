"""Who may ask: Host against DNS rebinding, Origin against foreign pages, the bearer token."""

from __future__ import annotations

from hmac import compare_digest
from typing import Final

import msgspec

from signet.kernel.errors import Code, Fault
from signet.kernel.headers import Headers

__all__ = ["ANY_HOST", "LOOPBACK", "Guard", "is_loopback"]

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]", "::1"})
ANY_HOST: Final = "*"


class Guard(msgspec.Struct, frozen=True):
    """The rules of one server; each gives a fault, or None."""

    hosts: frozenset[str] = LOOPBACK
    """The host names that the server answers to; `*` stands for any."""
    token: str | None = None

    def host(self, headers: Headers) -> Fault | None:
        """Refuse a request for another host's name: a page may have had that name point here."""
        given = headers.get("host", "")
        if self._known(given):
            return None
        message = f"This server does not answer to the host '{given[:100]}'; start it with --allowed-hosts to add one"
        return Fault(Code.INVALID_INPUT, message, name="HOST_NOT_ALLOWED", status=421)

    def origin(self, headers: Headers) -> Fault | None:
        """Refuse a foreign page; a client that is no browser sends no Origin."""
        given = headers.get("origin")
        if given is None or self._known(given.partition("://")[2]):
            return None
        message = f"Pages of '{given[:100]}' may not call this server; start it with --allowed-hosts to let them"
        return Fault(Code.INVALID_INPUT, message, name="ORIGIN_NOT_ALLOWED", status=403)

    def bearer(self, headers: Headers) -> Fault | None:
        """Refuse a request without the token, where one is set."""
        if self.token is None:
            return None
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and compare_digest(given.strip().encode(), self.token.encode()):
            return None
        return Fault(Code.UNAUTHORIZED, "Send the server's token as 'Authorization: Bearer …'", told=False)

    def _known(self, authority: str) -> bool:
        return ANY_HOST in self.hosts or _name_of(authority) in self.hosts


def is_loopback(host: str) -> bool:
    """Whether a bind address can be reached from this machine only."""
    return host in LOOPBACK or host.startswith("127.")


def _name_of(authority: str) -> str:
    """Give a host without its port, in lower case."""
    if authority.startswith("["):
        return authority.partition("]")[0].lower() + "]"
    return authority.partition(":")[0].lower()
