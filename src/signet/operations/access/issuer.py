"""An authorization server as a resource server sees it: its metadata, and the keys that it publishes.

issuer ── RFC 8414 or OpenID metadata, which must name the same issuer ── jwks_uri ── keys

What it answers is not believed further than that: each fetch is bounded in time and bytes, and is not led elsewhere.
aiohttp is imported with the first fetch.
"""

from __future__ import annotations

import asyncio
from importlib import import_module
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import SplitResult, urlsplit

import msgspec

from signet.kernel.upstream import MAX_INTERIM

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

__all__ = ["Issuer", "read_url"]

FETCH_S: Final = 5.0
"""The time for all requests that lead to the keys."""
MAX_BYTES: Final = 262_144
CHUNK_BYTES: Final = 65_536
MAX_REDIRECTS: Final = 3
REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
FOUND: Final = 200
OAUTH: Final = "/.well-known/oauth-authorization-server"
OPENID: Final = "/.well-known/openid-configuration"


class Issuer:
    """Fetches the keys of one issuer."""

    def __init__(self, issuer: str, jwks_url: str | None = None) -> None:
        """Know an issuer by its identifier, and perhaps the place of its keys; both as `read_url` lets them pass."""
        self.name = issuer
        self._jwks_url = jwks_url
        self._is_local = _is_loopback(urlsplit(issuer).hostname or "")

    async def fetch_keys(self) -> list[Any]:
        """Return the keys as they are published.

        Raises:
            OSError: the issuer cannot be reached, or not in time.
            ValueError: it gives something else than its keys.
        """
        # In a thread: to import it takes longer than the event loop may be held.
        await asyncio.to_thread(import_module, "aiohttp")
        import aiohttp

        from signet.system.interim_responses import bound_interim_responses

        connector = aiohttp.TCPConnector()
        bound_interim_responses(connector, MAX_INTERIM)
        cookies = aiohttp.DummyCookieJar()
        options: dict[str, Any] = {"auto_decompress": False, "cookie_jar": cookies, "connector": connector}
        headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "signet"}
        try:
            async with (
                asyncio.timeout(FETCH_S),
                aiohttp.ClientSession(headers=headers, trust_env=not self._is_local, **options) as session,
            ):
                url = self._jwks_url or await self._find_keys(session)
                keys = (await _get(session, url)).get("keys")
        except TimeoutError:
            raise TimeoutError(f"no answer within {FETCH_S:g} s") from None
        except aiohttp.ClientError as error:
            raise OSError(f"no answer ({type(error).__name__})") from None
        if not isinstance(keys, list):
            raise ValueError(f"{url} holds no keys")  # noqa: TRY004 - it is a value from outside
        return keys

    async def _find_keys(self, session: ClientSession) -> str:
        """Return the place of the keys that the first metadata of this very issuer names."""
        whys = []
        for url in metadata_urls(self.name):
            try:
                return self._keys_place(await _get(session, url), url)
            except ValueError as error:
                whys.append(str(error))
        raise ValueError("; ".join(whys))

    def _keys_place(self, metadata: dict[str, Any], source: str) -> str:
        """Return the place of the keys; an issuer elsewhere cannot send us to this machine without TLS."""
        if metadata.get("issuer") != self.name:
            raise ValueError(f"{source} is about another issuer")
        place = metadata.get("jwks_uri")
        try:
            found = read_url(place if isinstance(place, str) else "", with_query=True)
        except ValueError:
            raise ValueError(f"{source} names no jwks_uri that is an https URL") from None
        if urlsplit(found).scheme != "https" and not self._is_local:
            raise ValueError(f"{source} names a jwks_uri without TLS")
        return found


def read_url(text: str, *, with_query: bool = False) -> str:
    """Return a URL of an issuer: https, or http on this machine.

    Raises:
        ValueError: it cannot be used; the text says what to write.
    """
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise ValueError("it is no URL; write one such as https://auth.example") from None
    is_plain = text.isascii() and text.isprintable() and " " not in text
    if not is_plain or parts.scheme not in {"https", "http"} or not host or "@" in parts.netloc:
        raise ValueError("it is no https URL with a host; write one such as https://auth.example")
    if parts.scheme == "http" and not _is_loopback(host):
        raise ValueError(
            "without TLS anybody on the way could put in other keys; write https:// (http on loopback only)"
        )
    if "#" in text or ("?" in text and not with_query):
        raise ValueError("it has a query or a fragment; leave it out")
    return text


def metadata_urls(issuer: str) -> list[str]:
    """Return the places of an issuer's metadata: the well-known path before that of the issuer, OpenID's also after."""
    parts: SplitResult = urlsplit(issuer)
    origin, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    after = [f"{origin}{path}{OPENID}"] if path else []
    return [f"{origin}{OAUTH}{path}", f"{origin}{OPENID}{path}", *after]


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


async def _get(session: ClientSession, place: str) -> dict[str, Any]:
    """Return the JSON object at a URL; a redirect may lead to another path only."""
    from yarl import URL

    url = URL(place)
    for _ in range(MAX_REDIRECTS + 1):
        async with session.get(url, allow_redirects=False) as response:
            if response.status not in REDIRECTS:
                return await _read(response, place)
            target = url.join(URL(response.headers.get("Location", "")))
            if target.origin() != url.origin():
                raise ValueError(f"{place} leads to another server")
            url = target
    raise ValueError(f"{place} leads from one redirect to the next")


async def _read(response: ClientResponse, place: str) -> dict[str, Any]:
    """Return the JSON object of a response, of which no more is read than may come."""
    if response.status != FOUND:
        raise ValueError(f"{place} answers with the status {response.status}")
    body = bytearray()
    while chunk := await response.content.read(CHUNK_BYTES):
        body += chunk
        if len(body) > MAX_BYTES:
            response.close()
            raise ValueError(f"{place} has more than {MAX_BYTES} bytes")
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise ValueError(f"{place} is no JSON object") from None
