"""The rules of where a request may go, checked on the address that is connected to.

start_check ─── redirect_target ───▶ PeerCheck ◀─── CheckedConnector
a request       the scheme, and      the rule       before a socket connects, and before
begins          literal addresses                   a kept connection is used again

Redirects are restricted, and the addresses that a document from a public address states. An origin that the operator
configured may be anywhere. Imported with the first request, like aiohttp.
"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable
from contextvars import ContextVar
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote
from urllib.request import getproxies, proxy_bypass

import aiohttp
import msgspec
from yarl import URL

from signet.kernel.upstream import MAX_INTERIM
from signet.system.interim_responses import bound_interim_responses

if TYPE_CHECKING:
    from aiohttp.abc import AbstractResolver
    from aiohttp.connector import Connection

__all__ = [
    "CheckedConnector",
    "Egress",
    "ProxyError",
    "is_from_public_peer",
    "proxy_for",
    "redirect_target",
    "refusal",
    "start_check",
]

PUBLIC: Final = "public"
RESERVED: Final = "reserved"
MAX_SHOWN_CHARS: Final = 100

# Written out, since the answers of `ipaddress` differ between versions of Python. The first match counts.
KINDS: Final = tuple(
    (ip_network(network), kind)
    for kind, networks in (
        ("unspecified", ("0.0.0.0/8", "::/128")),
        ("loopback", ("127.0.0.0/8", "::1/128")),
        ("link-local", ("169.254.0.0/16", "fe80::/10")),
        ("private", ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10", "64:ff9b:1::/48")),
        ("shared", ("100.64.0.0/10",)),
        ("multicast", ("224.0.0.0/4", "ff00::/8")),
        (RESERVED, ("192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24")),
        (RESERVED, ("240.0.0.0/4", "2001::/23", "2001:db8::/32", "3fff::/20")),
        (PUBLIC, ("0.0.0.0/0", "2000::/3")),
    )
    for network in networks
)
EMBEDDED_IPV4: Final = tuple(
    (ip_network(network), shift) for network, shift in (("::ffff:0:0/96", 0), ("64:ff9b::/96", 0), ("2002::/16", 80))
)
"""The IPv6 networks whose addresses lead to an IPv4 address (mapped, NAT64, 6to4), and the place of its lowest bit."""


def address_kind(address: str) -> str:
    """Return `public` for an address of global unicast, otherwise the name of its special use."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return RESERVED
    if isinstance(parsed, IPv6Address):
        for network, shift in EMBEDDED_IPV4:
            if parsed in network:
                parsed = IPv4Address(int(parsed) >> shift & 0xFFFFFFFF)
                break
    return next((kind for network, kind in KINDS if parsed in network), RESERVED)


def literal_address(host: str) -> str:
    """Return the address that a host spells, in any notation that a resolver accepts; an empty text for a name."""
    host = unquote(host).rstrip(".").lower()
    if ":" in host:
        return host
    if host == "localhost" or host.endswith(".localhost"):
        return "127.0.0.1"
    try:
        return socket.inet_ntoa(socket.inet_aton(host))
    except (OSError, ValueError):
        return ""


class Egress(msgspec.Struct, frozen=True):
    """How names become addresses, and which addresses are public."""

    kind_of: Callable[[str], str] = address_kind
    resolver: AbstractResolver | None = None
    """None: the resolver of the system."""


class PeerCheck(msgspec.Struct):
    """The addresses that one request may be sent to, and the address that it was sent to."""

    kind_of: Callable[[str], str]
    host: str = ""
    public_only: bool = False
    reason: str = ""
    """Why the origin itself must be public; empty for a redirect."""
    is_proxied: bool = False
    """Whether a proxy resolves the name and connects: then only the scheme and literal addresses can be checked."""
    peer: str = ""
    """The connected address; empty if it is not known."""
    refusal: str = ""

    def allows(self, address: str) -> bool:
        """Return True if the request may be sent to an address; otherwise state the reason in `refusal`."""
        if not self.public_only or self.is_proxied:  # rule: 1.S2.1.redirects-inwards
            return True
        kind = self.kind_of(address)
        if kind == PUBLIC:
            return True
        shown = f"{address[:MAX_SHOWN_CHARS]} ({kind})"
        if self.reason:
            self.refusal = f"{self.host[:MAX_SHOWN_CHARS]} is not asked: it is {shown}, and {self.reason}"
        else:
            self.refuse(f"from a public address to {shown}")
        return False

    def refuse(self, why: str) -> None:
        self.refusal = f"the redirect to {self.host[:MAX_SHOWN_CHARS]} is refused: it leads {why}"

    @property
    def is_public(self) -> bool:
        """Whether the response came from a public address; the peer of a name behind a proxy is unknown, and counts."""
        peer = self.peer or literal_address(self.host)
        return not peer or self.kind_of(peer) == PUBLIC


_CURRENT: Final[ContextVar[PeerCheck]] = ContextVar("current_check")
"""The check of the request that the current task is sending: aiohttp hands nothing else through to a connector."""


def start_check(egress: Egress, origin: str = "", reason: str = "") -> None:
    """Let the next request of this task go anywhere, or where a reason is given, to public addresses alone.

    Raises:
        PermissionError: the origin spells an address that is not public; `refusal` tells why.
    """
    check = PeerCheck(egress.kind_of, URL(origin).raw_host or "" if origin else "", bool(reason), reason)
    _CURRENT.set(check)
    if reason and (literal := literal_address(check.host)) and not check.allows(literal):
        raise PermissionError(errno.EACCES, check.refusal)


def redirect_target(source: URL, location: str) -> URL:
    """Return the URL that a redirect leads to; after a public peer, the next request of this task is restricted.

    Raises:
        PermissionError: the redirect is refused already; `refusal` tells why.
        ValueError: the location is not a URL.
    """
    # Bytes that are not UTF-8 become half surrogate pairs, which a URL would lose.
    # rule: 1.S2.1.redirects-bytes
    location = "".join(f"%{ord(char) - 0xDC00:02X}" if "\udc80" <= char <= "\udcff" else char for char in location)
    target = source.join(URL(location))
    before = _CURRENT.get()
    before.host = source.raw_host or ""
    check = PeerCheck(before.kind_of, target.raw_host or "", before.is_public or before.public_only)
    _CURRENT.set(check)
    if source.scheme == "https" and target.scheme != "https":  # rule: 1.S2.1.redirects-inwards/2
        check.refuse(f"from https to {target.scheme[:MAX_SHOWN_CHARS]}")
    elif literal := literal_address(check.host):
        check.allows(literal)
    if check.refusal:
        raise PermissionError(errno.EACCES, check.refusal)
    return target


def refusal() -> str:
    """Return the reason why the last request of this task was refused, or an empty text."""
    check = _CURRENT.get(None)
    return check.refusal if check is not None else ""


def is_from_public_peer() -> bool:
    """Return True if the last response of this task came from a public address, or from behind a proxy."""
    return _CURRENT.get().is_public


class CheckedConnector(aiohttp.TCPConnector):
    """A connector that sends a request to no address that its check does not allow."""

    def __init__(self, egress: Egress, *, keepalive_timeout: float) -> None:
        super().__init__(
            limit=0,  # rule: 1.S2.1.in-flight
            keepalive_timeout=keepalive_timeout,
            resolver=egress.resolver,
            socket_factory=_open_socket,
        )
        bound_interim_responses(self, MAX_INTERIM)

    async def connect(self, req: aiohttp.ClientRequest, *args: Any, **options: Any) -> Connection:
        """Return a connection, and note its peer in the check of the request."""
        check = _CURRENT.get()
        check.is_proxied = req.proxy is not None
        try:
            connection = await super().connect(req, *args, **options)
        except aiohttp.ClientConnectorDNSError:
            # A proxy resolves the name of the service: this is the name of the proxy.
            if not check.is_proxied:
                raise
            name = _proxy_variable(req.url)
            raise ProxyError(f"the host name of the proxy in {name} is not known: check how it is spelled") from None
        if check.is_proxied:
            return connection
        transport = connection.transport
        peername = transport.get_extra_info("peername") if transport is not None else None
        check.peer = peername[0] if peername else ""
        # A kept connection may have been opened by a request that was allowed to go anywhere.
        if not check.allows(check.peer):
            connection.release()
            raise aiohttp.ClientOSError(errno.EACCES, check.refusal)
        check.refusal = ""
        return connection


def _open_socket(info: aiohttp.AddrInfoType) -> socket.socket:
    """Return a socket for an address, unless the current request may not be sent there.

    The address is final: it is not resolved again, so that a name cannot change its address after the check.

    Raises:
        OSError: the address is refused; other addresses of the same name are still tried.
    """
    family, kind, protocol, _, address = info
    check = _CURRENT.get()
    if not check.allows(str(address[0])):
        raise PermissionError(errno.EACCES, check.refusal)
    return socket.socket(family, kind, protocol)


class ProxyError(aiohttp.ClientError):
    """The environment names a proxy that cannot be used; the message says which variable, and never its value."""


def proxy_for(url: URL) -> str | None:
    """Return the proxy that the environment names for a URL, or None.

    Raises:
        ProxyError: it does not name an HTTP proxy.
    """
    proxies = getproxies()
    if not proxies or proxy_bypass(url.host or ""):
        return None
    # A variable that is set to nothing is not set.
    proxy = proxies.get(url.scheme, "").strip() or proxies.get("all", "").strip()
    if not proxy:
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    try:
        parsed = URL(proxy)
        is_usable = parsed.scheme in {"http", "https"} and bool(parsed.host) and parsed.port is not None
    except ValueError:
        is_usable = False
    if not is_usable:
        name = _proxy_variable(url)
        raise ProxyError(f"{name} is not the URL of an HTTP proxy: write http://HOST:PORT, or remove it")
    return proxy


def _proxy_variable(url: URL) -> str:
    """Return the name of the variable that names the proxy for a URL."""
    for name in (f"{url.scheme}_proxy", "all_proxy"):
        for spelling in (name, name.upper()):
            if os.environ.get(spelling, "").strip():
                return spelling
    return "the proxy of the system"
