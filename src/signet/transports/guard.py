"""The access checks of a request: Host against DNS rebinding, Origin against foreign pages, who the caller is."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec

from signet.kernel.caller import Authenticator, Caller, Principal
from signet.kernel.errors import RATE_LIMITED, Code, Fault
from signet.kernel.wire import Headers

from .messages import Fields, Request

__all__ = ["LOOPBACK", "Access", "Authenticator", "Guard", "bearer_of", "host_of"]

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]", "::1"})
ANY_HOST: Final = "*"
NOT_IN_HOSTS: Final = frozenset("@/\\[]?#, \t")
JSON: Final = "application/json"
OVERLOADED: Final = 503
UNSUPPORTED: Final = 415
OWN_SITES: Final = frozenset({"same-origin", "none"})
"""What browsers say of requests that no page of another origin has made."""
USUAL_PORTS: Final = {"http": ":80", "https": ":443"}


class Access(msgspec.Struct, frozen=True):
    """The access rules of one route."""

    any_page: bool = False
    """Whether pages of any origin may use the route: discovery, and tools marked public."""
    json_only: bool = False
    """Whether the content type must be JSON, which a foreign page cannot send without a preflight."""
    no_token: bool = False
    """Whether the route needs no token even where one is set."""
    same_origin: bool = False
    """Whether of all pages only those of this very server may use the route, not those of another port: the console."""
    by_link: bool = False
    """Whether a link on any page may lead to a route that is otherwise for pages of this very server."""


class Guard(msgspec.Struct, frozen=True):
    """The access rules of one server."""

    hosts: frozenset[str] = LOOPBACK
    """The host names that the server answers to, as `host_of` writes them; `*` stands for any."""
    authenticator: Authenticator | None = None
    """Who knows the principals; without one, everybody may call."""
    public_origin: str = ""
    """The origin of the public URL, where there is one: proxies may put another name in its place as Host."""
    other_origins: frozenset[str] = frozenset()
    """The origins among the hosts that are not web pages, such as `chrome-extension://…` or `tauri://…`."""

    def __post_init__(self) -> None:
        """Normalise the host names, which people may have written as URLs."""
        others = frozenset(name for name in self.hosts if "://" in name and _scheme_of(name) not in USUAL_PORTS)
        msgspec.structs.force_setattr(self, "other_origins", others)
        names = frozenset(host_of(name.rpartition("://")[2].partition("/")[0]) for name in self.hosts)
        msgspec.structs.force_setattr(self, "hosts", names - {""})

    def check(self, request: Request, access: Access) -> Fault | Principal | Awaitable[Principal | Fault] | None:
        """Return a fault for the first rule that a request breaks, else who its caller is, if anybody has to say."""
        method, headers = request.method, request.headers
        host = headers.get("host", "")
        if host_of(host) not in self.hosts and ANY_HOST not in self.hosts and not _is_old_probe(request, access):
            return _wrong_host(host)
        if access.same_origin:
            if not self._is_own_page(headers, access):
                return _wrong_page(headers.get("origin", ""))
        elif "origin" in headers and not access.any_page and not self.lets_in(headers["origin"]):
            return _wrong_origin(headers["origin"])
        principal: Principal | Awaitable[Principal | Fault] | None = None
        if self.authenticator is not None and not access.no_token and method != "OPTIONS":
            found = self.authenticator.identify(bearer_of(headers))
            if isinstance(found, Fault):  # rule: 5.wire.unauthorized
                return found
            principal = found
        if access.json_only and method == "POST" and not headers.get("content-type", "").lower().startswith(JSON):
            return _refuse_type(request, principal)
        return principal  # rule: 4.auth.none

    def lets_in(self, origin: str) -> bool:
        """Return whether pages of an origin may use the routes that are not open to any page.

        A file, an extension of a browser or an app may call itself by a loopback name: it has to be allowed as written.
        """
        if _scheme_of(origin) not in USUAL_PORTS:
            return origin.lower() in self.other_origins or ANY_HOST in self.hosts
        return host_of(origin.partition("://")[2]) in self.hosts or ANY_HOST in self.hosts

    def _is_own_page(self, headers: Headers, access: Access) -> bool:
        """Return whether a request comes from a page of this server, or from no page at all.

        Behind a proxy the scheme is not known, so that host and port alone are compared with Host.
        """
        origin = headers.get("origin", "").lower()
        if origin and origin != self.public_origin and not _is_origin_of(origin, headers.get("host", "").lower()):
            return False
        if headers.get("sec-fetch-site", "none") in OWN_SITES:
            return True
        return access.by_link and headers.get("sec-fetch-dest") == "document"

    def advice(self, fault: Fault) -> Fields:
        """Return the headers of a refusal that say what its client can do: name itself, or come again later."""
        if fault.name == RATE_LIMITED:
            return _retry_advice(fault.data)
        if fault.status == OVERLOADED:
            return ((b"retry-after", b"%d" % -(-fault.data.get("retryAfterMs", 1000) // 1000)),)
        if fault.code is Code.UNAUTHORIZED:
            challenge = "Bearer" if self.authenticator is None else self.authenticator.challenge(fault)
            return ((b"www-authenticate", challenge.encode("ascii", "replace")),)
        return ()


def _refuse_type(
    request: Request, principal: Principal | Awaitable[Principal | Fault] | None
) -> Fault | Awaitable[Fault]:
    """Return the fault for a body that is not JSON; the request notes who its caller is."""
    fault = Fault(
        Code.INVALID_INPUT, f"The content type must be {JSON}", name="UNSUPPORTED_MEDIA_TYPE", status=UNSUPPORTED
    )
    if principal is not None and not isinstance(principal, Principal):
        return _refuse_identified(request, principal, fault)
    request.caller = Caller(principal)
    return fault


async def _refuse_identified(request: Request, identifying: Awaitable[Principal | Fault], fault: Fault) -> Fault:
    """Return a fault as soon as it is known who sent the request, or why nobody did."""
    found = await identifying
    if isinstance(found, Fault):
        return found
    request.caller = msgspec.structs.replace(request.caller, principal=found)
    return fault


def _retry_advice(facts: Mapping[str, Any]) -> Fields:
    """Return the headers that say when to come again, and which limit it was."""
    after = b"%d" % facts["retry_after_seconds"]
    limit = facts.get("limit")
    if limit is None:
        return ((b"retry-after", after),)
    name = f'"{limit["name"]}"'.encode("ascii", "replace")
    policy = b"%s;q=%d;w=%d" % (name, limit["count"], limit["seconds"])
    return (b"retry-after", after), (b"ratelimit-policy", policy), (b"ratelimit", b"%s;r=0;t=%s" % (name, after))


def bearer_of(headers: Headers) -> str:
    """Return the bearer token that a request sends, or an empty text."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


@lru_cache(maxsize=64)
def host_of(authority: str) -> str:
    """Return a host in the form in which hosts are compared: lower case, without port and brackets.

    Anything else than a host and a port, such as `localhost:80@evil.com`, is no host that could be allowed.
    """
    name = authority.lower()
    if name[:1] == "[":
        host, bracket, port = name[1:].partition("]")
        host = host if bracket and ":" in host else ""
    elif name.count(":") > 1:
        # An IPv6 address as people write it in a list of hosts.
        host, port = name, ""
    else:
        host, colon, digits = name.partition(":")
        port = colon + digits
    is_port = not port or (port[0] == ":" and port[1:].isascii() and (port == ":" or port[1:].isdigit()))
    return host if is_port and not NOT_IN_HOSTS.intersection(host) else ""


def _scheme_of(origin: str) -> str:
    """Return the scheme of an origin in lower case; `null` has an unknown one."""
    return origin.partition("://")[0].lower()


def _is_origin_of(origin: str, host: str) -> bool:
    """Return whether an origin has the host and the port that a Host header names."""
    scheme, _, authority = origin.partition("://")
    port = USUAL_PORTS.get(scheme)
    return port is not None and authority.removesuffix(port) == host.removesuffix(port)


def _is_old_probe(request: Request, access: Access) -> bool:
    """Return whether a request is the check of a load balancer that names no host, as HTTP/1.0 allows.

    Browsers always name one, so that no page can make such a request.
    """
    return access.no_token and not access.any_page and request.version == "1.0" and "host" not in request.headers


def _wrong_host(host: str) -> Fault:
    # A page may have made this host name resolve to this server (DNS rebinding).
    message = f"This server does not answer to the host '{host[:100]}'; start it with --allowed-hosts to add one"
    return Fault(Code.INVALID_INPUT, message, name="HOST_NOT_ALLOWED", status=421)


def _wrong_origin(origin: str) -> Fault:
    # Only browsers send an Origin, so this is a page of another site.
    message = f"Pages of '{origin[:100]}' may not call this server; start it with --allowed-hosts to let them"
    return Fault(Code.INVALID_INPUT, message, name="ORIGIN_NOT_ALLOWED", status=403)


def _wrong_page(origin: str) -> Fault:
    page = f"Pages of '{origin[:100]}'" if origin else "Pages of another origin"
    message = f"{page} may not use the console; its own pages may"
    return Fault(Code.INVALID_INPUT, message, name="ORIGIN_NOT_ALLOWED", status=403)
