"""The HTTP client of an upstream: one session, one deadline for a whole request, bounded bodies, no retries.

aiohttp is imported with the first request: its import costs more than the rest of a start together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from signet import __version__
from signet.kernel.errors import Code, Fault
from signet.kernel.events import UpstreamVisit
from signet.kernel.toolset import UpstreamSpec
from signet.kernel.turns import Turns
from signet.kernel.upstream import CUT_GZIP, UpstreamRequest, UpstreamResponse
from signet.kernel.waiting import Waiting
from signet.system.redaction import MIN_CHARS, SecretRedactor

from .gunzip import Gunzip
from .hop import Hop
from .origin import DEFAULT_PORTS, host_of, parse_origin
from .pace import Pace, Slot

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

    from .egress import Egress

__all__ = ["HttpUpstream"]

REDIRECTS: Final = (301, 302, 303, 307, 308)
KEEP_ALIVE_S: Final = 4.0
"""Shorter than servers keep idle connections, so that none is closed just when a request goes out on it."""

UNWATCHED: Final = nullcontext()
CHUNK_BYTES: Final = 65_536
MAX_COPIED_BYTES: Final = 16_777_216
"""The largest body of which a copy is made, which takes some 5 ms."""
MAX_HEADER_BYTES: Final = 65_536
"""The longest header of a response; aiohttp's own limit is shorter than some servers' policies."""


class _Reading(msgspec.Struct):
    """The part of a response that has been read so far; a broken response leaves it behind."""

    address: str
    """The origin that was asked last."""
    status: int = 0
    content_type: str = ""
    retry_after: str = ""
    body: bytearray = msgspec.field(default_factory=bytearray)
    cut: bool = False
    limit: int = 0
    """The most bytes that are read."""


class HttpUpstream:
    """One service, reached at one origin."""

    def __init__(
        self,
        spec: UpstreamSpec,
        *,
        turns: Sequence[Turns] = (),
        proxied: bool = True,
        egress: Egress | None = None,
        log: Callable[..., None] = lambda _, **__: None,
        visit: Callable[[str, str], UpstreamVisit] | None = None,
    ) -> None:
        """Reach a service as its toolset states, with turns that are shared with other processes.

        `visit` is called with the method and the origin of each request before it is sent.

        Raises:
            ValueError: the base URL or the token cannot be used.
        """
        self.origin = parse_origin(spec.base_url or "", with_path=spec.allows_path)
        self.has_token = bool(spec.token and spec.token.strip())  # rule: 1.S1.2.blank
        self._token = spec.token if self.has_token else None
        # rule: 1.S1.2.illegal
        if self._token is not None and not all(" " <= char <= "~" or char == "\t" for char in self._token):
            # The text does not repeat the token.
            raise ValueError("the token has characters that no HTTP header can carry")
        self._spec = spec  # rule: 1.S1.2.optional
        self._proxied = proxied
        self._log = log
        self._pace = Pace(spec.interval_s, spec.called, host_of(self.origin), turns)
        self._egress = egress
        self._begin_visit = visit
        self._session: ClientSession | None = None

    async def send(self, request: UpstreamRequest, wait: Waiting | None = None) -> UpstreamResponse:
        """Return the response, whatever its status."""
        import aiohttp

        from .egress import Egress, refusal, start_check
        from .failures import describe

        egress = self._egress or Egress()
        if self._session is None:  # rule: 1.S2.1.one-client
            self._session = _open_session(egress)
            self._redactor = SecretRedactor([self._token or ""], min_chars=MIN_CHARS)  # rule: 1.S6.3.never
        self._log("upstream.ask", target=request.target)  # rule: 1.S1.token-not-logged
        reading = _Reading(self.origin, limit=request.max_body_bytes or self._spec.max_body_bytes)
        wait = wait or Waiting()
        broken = ""
        try:
            start_check(egress, self.origin, self._spec.only_public)
            await self._follow(self._session, request, reading, wait)
        except TimeoutError:
            broken = self._redactor.text(self._too_slow(reading.address, request.timeout_s or self._spec.timeout_s))
        except (aiohttp.ClientError, ValueError, OSError) as error:
            broken = self._redactor.text(refusal() or describe(error, reading.address, self._spec.address_setting))
        if broken and not reading.status:
            raise self._failed(broken)
        self._log(
            "upstream.answer", target=request.target, status=reading.status, bytes=len(reading.body), broken=broken
        )
        wait.now = "reading the answer"
        # A copy of the largest bodies would hold the interpreter for too long; without a token nothing is removed.
        is_large = request.max_body_bytes > 0 or len(reading.body) > MAX_COPIED_BYTES
        body = (
            cast("bytes", reading.body) if is_large and not self.has_token else self._redactor.data(bytes(reading.body))
        )
        return UpstreamResponse(
            reading.status, reading.content_type, body, reading.cut, broken, self.origin, reading.retry_after
        )

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def forget(self, request: UpstreamRequest) -> None:
        """Do nothing: nothing is cached here."""

    def warm(self) -> None:
        """Import the HTTP client."""
        from . import egress, failures  # noqa: F401 - for their effect

    async def _follow(self, session: ClientSession, request: UpstreamRequest, reading: _Reading, wait: Waiting) -> None:
        """Send the request, and follow redirects; the time spent waiting for a slot does not count."""
        import asyncio

        from yarl import URL

        headers = dict((*request.fixed_headers, *request.headers))
        if self._token is not None:  # rule: 1.S1.2.absent
            headers["Authorization"] = f"Bearer {self._token}"  # rule: 1.S1.2.present
        # rule: 1.S1.1.appended
        hop = Hop(URL(self.origin + request.target, encoded=True), request.method, headers, request.body)
        left_s = request.timeout_s or self._spec.timeout_s
        now = asyncio.get_running_loop().time
        for _ in range(self._spec.max_redirects + 1):  # rule: 1.S2.1.redirects
            slot = self._pace.slot_at_once() if request.is_retry else await self._pace.slot(wait)
            begun = now()
            wait.now = partial(self._waiting, begun, now)
            if hop.url.scheme in DEFAULT_PORTS:
                reading.address = str(hop.url.origin())
            try:
                with hop.watched(self._begin_visit, self.origin) if self._begin_visit is not None else UNWATCHED:
                    async with asyncio.timeout(left_s):
                        redirect = await self._visit(session, hop, slot, reading)
            finally:
                slot.release()
            if redirect is None:
                return
            left_s -= now() - begun
            hop.follow(*redirect)
        raise self._failed(f"more than {self._spec.max_redirects} redirects")

    async def _visit(self, session: ClientSession, hop: Hop, slot: Slot, reading: _Reading) -> tuple[int, str] | None:
        """Send one request; return the status and location of a redirect, or read the response."""
        from .egress import proxy_for

        headers = {**hop.headers, "Accept-Encoding": "gzip" if self._spec.gzip else "identity"}  # rule: 1.S2.1.plain
        proxy = proxy_for(hop.url) if self._proxied else None  # rule: 1.S2.1.proxy
        async with session.request(
            hop.method,
            hop.url,
            headers=headers,
            data=hop.body or None,
            allow_redirects=False,
            proxy=proxy,
            trace_request_ctx=slot,
        ) as response:
            slot.arrived()
            hop.status, location = response.status, response.headers.get("Location")
            if response.status in REDIRECTS and location is not None:  # rule: 1.S2.1.no-location
                return response.status, location  # rule: 1.S2.1.no-location/2
            await self._read(response, reading)
        return None

    async def _read(self, response: ClientResponse, reading: _Reading) -> None:
        """Read the body up to its limit, compressed and decompressed; the rest is never read."""
        # The headers of a HEAD are those of a body that does not come.
        packed = "gzip" in response.headers.get("Content-Encoding", "").lower() and response.method != "HEAD"
        gunzip = Gunzip() if packed else None
        reading.status = response.status
        reading.content_type = response.headers.get("Content-Type", "").lower()
        reading.retry_after = response.headers.get("Retry-After", "")
        body, limit, taken = reading.body, reading.limit, 0  # rule: 1.S2.2.streamed
        while len(body) < limit and taken < limit and not (gunzip is not None and gunzip.has_ended):
            chunk = await response.content.read(min(CHUNK_BYTES, limit - taken))
            if not chunk:
                break
            taken += len(chunk)
            if gunzip is None:
                body += chunk
            else:
                await _unpack(gunzip, chunk, body, limit)
        # The end of a chunked body may come after its last byte: ask for one more where it has not been seen yet.
        has_rest = gunzip is not None and gunzip.has_ended
        ended = has_rest or response.content.at_eof() or not await response.content.read(1)
        whole = ended and (gunzip is None or gunzip.is_whole)
        reading.cut = not whole and max(len(body), taken) >= limit
        if reading.cut or has_rest:  # rule: 1.S5.1.stops
            response.close()
        elif not whole:
            raise ValueError(CUT_GZIP)

    def _waiting(self, begun: float, now: Callable[[], float]) -> str:
        return f"waiting for {self._spec.called}'s answer ({now() - begun:.0f} s)"

    def _too_slow(self, address: str, limit_s: float) -> str:
        check = f"check that the service is running, and {self._spec.address_setting}"
        return f"no answer within {limit_s:g} s from {address}: {check}"

    def _failed(self, why: str) -> Fault:
        self._log("upstream.failed", why=why)
        # rule: 1.S2.1.never-responds
        return Fault(Code.INTERNAL_ERROR, f"request failed: {why}", name="UPSTREAM_FAILED", as_tool_result=False)


async def _unpack(gunzip: Gunzip, chunk: bytes, body: bytearray, limit: int) -> None:
    """Append the output of a chunk to a body, up to its limit; between two steps, others get their turn."""
    import asyncio

    gunzip.feed(chunk)
    body += gunzip.step(limit - len(body))
    while gunzip.has_more and len(body) < limit:
        await asyncio.sleep(0)
        body += gunzip.step(limit - len(body))


def _open_session(egress: Egress) -> ClientSession:
    import aiohttp

    from .egress import CheckedConnector

    # aiohttp waits for this before it writes the first byte.
    async def start_slot(_: object, context: Any, __: object) -> None:
        await context.trace_request_ctx.start()

    trace = aiohttp.TraceConfig()
    trace.on_request_headers_sent.append(start_slot)
    session = aiohttp.ClientSession(
        connector=CheckedConnector(egress, keepalive_timeout=KEEP_ALIVE_S),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"Accept": "*/*", "User-Agent": f"signet/{__version__}"},
        timeout=aiohttp.ClientTimeout(total=None),
        auto_decompress=False,
        max_line_size=MAX_HEADER_BYTES,
        max_field_size=MAX_HEADER_BYTES,
        trace_configs=[trace],
    )
    # aiohttp repeats a request by itself when a connection breaks; retrying is the tool's decision.
    # rule: 1.S2.1.no-retry
    session._retry_connection = False  # noqa: SLF001 - there is no public switch
    return session
