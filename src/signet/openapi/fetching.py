"""A document from a URL: one GET by the client that reaches upstreams, in a thread with an event loop of its own."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

from signet.kernel.errors import Fault
from signet.kernel.toolset import UpstreamSpec
from signet.kernel.upstream import UpstreamRequest, UpstreamResponse
from signet.upstream.http import HttpUpstream

from .failure import DocumentError, shown

__all__ = ["Fetched", "fetch", "is_private_address"]

TIMEOUT_S: Final = 30.0
MAX_REDIRECTS: Final = 5
HTTP_OK: Final = 200
ACCEPT: Final = "application/json, application/yaml, */*;q=0.1"


class Fetched(NamedTuple):
    """The bytes at a URL, and where they came from."""

    data: bytes
    is_public: bool
    """Whether they came from a public address; what came through a proxy counts as public."""


def fetch(url: str, limit: int, *, follow: bool, only_public: str = "") -> Fetched:
    """Return the body of a URL; with `follow`, of where it redirects to. A caller may hold an event loop.

    Where `only_public` gives a reason, the URL must lead to a public address.

    Raises:
        DocumentError: it cannot be fetched, or has more bytes than the limit.
    """
    with ThreadPoolExecutor(1) as pool:
        response, is_public = pool.submit(asyncio.run, _get(url, limit, only_public, follow=follow)).result()
    if response.cut:
        raise DocumentError(f"{shown(url)} has more than {limit:,} bytes: give a smaller document")
    if response.broken or response.status != HTTP_OK:
        raise DocumentError(f"{shown(url)} cannot be fetched: {response.broken or f'status {response.status}'}")
    return Fetched(bytes(response.body), is_public)


async def _get(url: str, limit: int, only_public: str, *, follow: bool) -> tuple[UpstreamResponse, bool]:
    from urllib.parse import quote, urlsplit

    from signet.upstream.egress import is_from_public_peer

    parts = urlsplit(url)
    target = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._") + (f"?{parts.query}" if parts.query else "")
    spec = UpstreamSpec(
        base_url=f"{parts.scheme}://{parts.netloc}",
        called="the document",
        address_setting="its URL",
        timeout_s=TIMEOUT_S,
        max_body_bytes=limit,
        gzip=True,
        max_redirects=MAX_REDIRECTS if follow else 0,
        only_public=only_public,
    )
    try:
        upstream = HttpUpstream(spec)
    except ValueError as error:
        raise DocumentError(f"{shown(url)} cannot be fetched: {error}") from None
    try:
        response = await upstream.send(UpstreamRequest(target, headers=(("Accept", ACCEPT),)))
        return response, is_from_public_peer()
    except Fault as fault:
        raise DocumentError(f"{shown(url)} cannot be fetched: {fault.message}") from None
    finally:
        await upstream.close()


def is_private_address(url: str) -> bool:
    """Return whether a URL spells an address that is not public, such as that of this machine."""
    from urllib.parse import urlsplit

    from signet.upstream.egress import PUBLIC, address_kind, literal_address

    literal = literal_address(urlsplit(url).hostname or "")
    return bool(literal) and address_kind(literal) != PUBLIC
