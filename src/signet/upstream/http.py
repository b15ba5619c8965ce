"""The HTTP client of an upstream: one session, one deadline for all of a request, bounded bodies, no retries.

aiohttp is imported when the first request is made: it costs more than the rest of a start together.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from signet import __version__
from signet.kernel.errors import Code, Fault
from signet.kernel.redaction import MIN_CHARS, SecretRedactor
from signet.kernel.upstream import NOT_GZIP, UpstreamRequest, UpstreamResponse

from .rate_limiter import RateLimiter, Slot

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession
    from yarl import URL

__all__ = ["HttpUpstream", "Limits", "check_token"]

MAX_REDIRECTS: Final = 10
REDIRECTS: Final = (301, 302, 303, 307, 308)
KEEP_ALIVE_S: Final = 4.0
"""Shorter than servers keep idle connections, so that none is closed just when a request goes out on it."""

CHUNK_BYTES: Final = 65_536
GZIP: Final = 31
"""zlib's word for a gzip stream."""
MAX_HEADER_BYTES: Final = 65_536
"""How long one header of an answer may be; aiohttp's own limit is shorter than some servers' policies."""


class Limits(msgspec.Struct, frozen=True):
    """What a request may take."""

    deadline_s: float
    """From the first byte sent to the last byte read, redirects included."""
    body_bytes: int


class _Reading(msgspec.Struct):
    """What has been read of an answer so far: what a broken one leaves behind."""

    status: int = 0
    content_type: str = ""
    body: bytearray = msgspec.field(default_factory=bytearray)
    cut: bool = False


def check_token(token: str | None) -> str | None:
    """Give a token that can stand in a header; a blank one counts as none.

    Raises:
        ValueError: it cannot; the text does not repeat it.
    """
    if token is None or not token.strip():
        return None
    if not all(" " <= char <= "~" or char == "\t" for char in token):
        message = "the token has characters that no HTTP header can carry"
        raise ValueError(message)
    return token


def _silent(_: str, **__: object) -> None:
    """Log nothing."""


class HttpUpstream:
    """One service, reached at one origin."""

    def __init__(
        self,
        origin: str,
        limits: Limits,
        *,
        token: str | None = None,
        packed: bool = False,
        proxied: bool = True,
        pace: RateLimiter | None = None,
        log: Callable[..., None] = _silent,
    ) -> None:
        self.origin = origin
        self._encoding = "gzip" if packed else "identity"
        self.has_token = token is not None
        self._token = token
        self._veil = SecretRedactor([token or ""], min_chars=MIN_CHARS)
        self._proxied = proxied
        self._limits = limits
        self._log = log
        self._pace = pace or RateLimiter()
        self._session: ClientSession | None = None

    async def send(self, ask: UpstreamRequest) -> UpstreamResponse:
        """Give the answer, whatever its status."""
        import aiohttp

        if self._session is None:
            self._session = _open_session()
        self._log("upstream.ask", target=ask.target)
        reading = _Reading()
        broken = ""
        try:
            await self._follow(self._session, ask, reading)
        except TimeoutError:
            broken = f"no answer within {self._limits.deadline_s:g} s"
        except (aiohttp.ClientError, ValueError, OSError) as error:
            broken = _in_words(error)
        if broken and not reading.status:
            raise self._failed(broken)
        self._log("upstream.answer", target=ask.target, status=reading.status, bytes=len(reading.body), broken=broken)
        body = self._veil.data(bytes(reading.body))
        return UpstreamResponse(reading.status, reading.content_type, body, reading.cut, broken)

    async def close(self) -> None:
        """Hang up."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def forget(self, ask: UpstreamRequest) -> None:
        """Forget nothing: nothing is kept here."""

    def warm(self) -> None:
        """Import what the first request will need."""
        import aiohttp  # noqa: F401 - for its effect

    async def _follow(self, session: ClientSession, ask: UpstreamRequest, reading: _Reading) -> None:
        """Make the request, and the next one as long as the answer points elsewhere; waiting for a turn is free."""
        from yarl import URL

        url = URL(self.origin + ask.target, encoded=True)
        token, left_s = self._token, self._limits.deadline_s
        now = asyncio.get_running_loop().time
        for _ in range(MAX_REDIRECTS + 1):
            turn = await self._pace.turn()
            begun = now()
            try:
                async with asyncio.timeout(left_s):
                    location = await self._visit(session, url, token, turn, reading)
            finally:
                turn.gone()
            if location is None:
                return
            left_s -= now() - begun
            onward = url.join(URL(location))
            if onward.origin() != url.origin():
                # Whoever is there now was not who the token was given to.
                token = None
            url = onward
        lost = f"more than {MAX_REDIRECTS} redirects"
        raise self._failed(lost)

    async def _visit(
        self, session: ClientSession, url: URL, token: str | None, turn: Slot, reading: _Reading
    ) -> str | None:
        """Make one request: give where it points, or read its answer."""
        headers = {"Accept-Encoding": self._encoding}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        proxy = _proxy_for(url) if self._proxied else None
        async with session.get(
            url, headers=headers, allow_redirects=False, proxy=proxy, trace_request_ctx=turn
        ) as response:
            location = response.headers.get("Location")
            if response.status in REDIRECTS and location is not None:
                return location
            await self._read(response, reading)
        return None

    async def _read(self, response: ClientResponse, reading: _Reading) -> None:
        """Read the body up to its limit, packed and unpacked; what comes after is never asked for."""
        packed = "gzip" in response.headers.get("Content-Encoding", "").lower()
        unpack = _Gunzip() if packed else None
        reading.status = response.status
        reading.content_type = response.headers.get("Content-Type", "").lower()
        body, limit, taken = reading.body, self._limits.body_bytes, 0
        while len(body) < limit and taken < limit:
            chunk = await response.content.read(min(CHUNK_BYTES, limit - taken))
            if not chunk:
                break
            taken += len(chunk)
            body += chunk if unpack is None else unpack.more(chunk, limit - len(body))
        whole = response.content.at_eof() and (unpack is None or unpack.is_whole)
        reading.cut = not whole and max(len(body), taken) >= limit
        if reading.cut:
            response.close()
        elif not whole:
            raise ValueError(NOT_GZIP)

    def _failed(self, why: str) -> Fault:
        self._log("upstream.failed", why=why)
        return Fault(Code.INTERNAL_ERROR, f"request failed: {why}", name="UPSTREAM_FAILED", as_tool_result=False)


class _Gunzip:
    """Unpacks gzip, member after member."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(GZIP)
        self.is_whole = True
        """Whether it ends where a member ends."""

    def more(self, chunk: bytes, room: int) -> bytes:
        """Unpack as much as there is room for: a few bytes could hold gigabytes.

        Raises:
            ValueError: this is no gzip.
        """
        unpacked = bytearray()
        try:
            while chunk and len(unpacked) < room:
                if self._member.eof:
                    chunk = chunk.lstrip(b"\0")  # padding
                    if not chunk:
                        break
                    self._member = zlib.decompressobj(GZIP)
                unpacked += self._member.decompress(chunk, room - len(unpacked))
                chunk = self._member.unused_data
        except zlib.error:
            raise ValueError(NOT_GZIP) from None
        self.is_whole = self._member.eof and not chunk
        return bytes(unpacked)


def _open_session() -> ClientSession:
    import aiohttp

    async def gone(_: object, context: Any, __: object) -> None:
        context.trace_request_ctx.gone()

    trace = aiohttp.TraceConfig()
    trace.on_request_headers_sent.append(gone)
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_ALIVE_S),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"Accept": "*/*", "User-Agent": f"signet/{__version__}"},
        timeout=aiohttp.ClientTimeout(total=None),
        auto_decompress=False,
        max_line_size=MAX_HEADER_BYTES,
        max_field_size=MAX_HEADER_BYTES,
        trace_configs=[trace],
    )
    # aiohttp asks a second time, unasked, when a connection breaks; whether to ask again is not its to decide.
    session._retry_connection = False  # noqa: SLF001 - there is no public switch
    return session


def _proxy_for(url: URL) -> str | None:
    """Give the proxy that the environment names for a URL, if it does."""
    from urllib.request import getproxies, proxy_bypass

    proxies = getproxies()
    if not proxies or proxy_bypass(url.host or ""):
        return None
    proxy = proxies.get(url.scheme) or proxies.get("all")
    return f"http://{proxy}" if proxy and "://" not in proxy else proxy


def _in_words(error: Exception) -> str:
    """Say what went wrong on the network without saying what was sent."""
    if str(error) == NOT_GZIP:
        return NOT_GZIP
    reason: Any = getattr(error, "os_error", None)
    strerror = getattr(reason or error, "strerror", None)
    return f"{type(error).__name__}: {strerror}" if strerror else type(error).__name__
