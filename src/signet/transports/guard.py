"""Who may ask: Host against DNS rebinding, Origin against foreign pages, the bearer token."""

from __future__ import annotations

from functools import lru_cache
from hmac import compare_digest
from typing import Final

import msgspec

from signet.kernel.errors import Code, Fault
from signet.kernel.wire import Headers

__all__ = ["LOOPBACK", "Access", "Guard", "host_of", "is_loopback"]

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]", "::1"})
ANY_HOST: Final = "*"
JSON: Final = "application/json"


class Access(msgspec.Struct, frozen=True):
    """What one route asks of those who use it."""

    any_page: bool = False
    """Whether pages of any origin may use it: discovery, and tools marked public."""
    json_only: bool = False
    """Whether a body must be called JSON, which no foreign page can do unasked."""
    no_token: bool = False
    """Whether it is open even where a token is set."""


class Guard(msgspec.Struct, frozen=True):
    """The rules of one server."""

    hosts: frozenset[str] = LOOPBACK
    """The host names that the server answers to, in the spelling of `host_of`; `*` stands for any."""
    token: str | None = None

    def __post_init__(self) -> None:
        """Bring the names, some of which people have written, to the one spelling."""
        names = frozenset(host_of(name.rpartition("://")[2].partition("/")[0]) for name in self.hosts)
        msgspec.structs.force_setattr(self, "hosts", names)

    def refusal(self, method: str, headers: Headers, access: Access) -> Fault | None:
        """Give the first rule that a request breaks, as a fault."""
        host = headers.get("host", "")
        if host_of(host) not in self.hosts and ANY_HOST not in self.hosts:
            return _wrong_host(host)
        if "origin" in headers and not access.any_page and not self.lets_in(headers["origin"]):
            return _wrong_origin(headers["origin"])
        if self.token is not None and not access.no_token and method != "OPTIONS" and not self._has_token(headers):
            return Fault(
                Code.UNAUTHORIZED, "Send the server's token as 'Authorization: Bearer …'", as_tool_result=False
            )
        if access.json_only and method == "POST" and not headers.get("content-type", "").lower().startswith(JSON):
            message = f"The content type must be {JSON}"
            return Fault(Code.INVALID_INPUT, message, name="UNSUPPORTED_MEDIA_TYPE", status=415)
        return None

    def lets_in(self, origin: str) -> bool:
        """Whether pages of an origin may use what is not for everybody."""
        return host_of(origin.partition("://")[2]) in self.hosts or ANY_HOST in self.hosts

    def _has_token(self, headers: Headers) -> bool:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and compare_digest(given.strip().encode(), (self.token or "").encode())


@lru_cache(maxsize=64)
def host_of(authority: str) -> str:
    """Give a host in the one spelling by which hosts are compared: lower case, neither port nor brackets."""
    name = authority.lower()
    if name[:1] == "[":
        inside, closed, _ = name[1:].partition("]")
        return inside if closed else name
    return name if name.count(":") > 1 else name.partition(":")[0]


def _wrong_host(given: str) -> Fault:
    """Refuse another host's name: a page may have had that name point here."""
    message = f"This server does not answer to the host '{given[:100]}'; start it with --allowed-hosts to add one"
    return Fault(Code.INVALID_INPUT, message, name="HOST_NOT_ALLOWED", status=421)


def _wrong_origin(given: str) -> Fault:
    """Refuse a foreign page; a client that is no browser sends no Origin."""
    message = f"Pages of '{given[:100]}' may not call this server; start it with --allowed-hosts to let them"
    return Fault(Code.INVALID_INPUT, message, name="ORIGIN_NOT_ALLOWED", status=403)


def is_loopback(host: str) -> bool:
    """Whether a bind address can be reached from this machine only."""
    return host in LOOPBACK or host.startswith("127.")
