"""The address of a remote server: one URL, and the headers that every request to it carries.

The headers are secrets. They go to the origin of the URL alone: a redirect is followed inside of that origin only.
aiohttp is imported when the first link is opened.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from signet import __version__
from signet.system.redaction import MIN_CHARS, SecretRedactor

from .link import LinkError

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession
    from yarl import URL

    from signet.upstream.egress import Egress

__all__ = ["SETTING", "Endpoint"]

SETTING: Final = "the server's URL"
"""Where messages say that the address was set."""
KEEP_ALIVE_S: Final = 4.0
CONNECT_S: Final = 30.0
MAX_FIELD_BYTES: Final = 65_536
MAX_REDIRECTS: Final = 3
KEPT_REDIRECTS: Final = (307, 308)
"""The redirects that keep the method and the body."""
REDIRECTS: Final = (301, 302, 303, *KEPT_REDIRECTS)
HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
OWN: Final = frozenset(
    {
        "accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "expect",
        "host", "last-event-id", "te", "trailer", "transfer-encoding", "upgrade",
    }
)  # fmt: skip
"""The headers that belong to the transport, beside those that begin with `mcp-`."""


class Endpoint:
    """Sends requests to one remote server."""

    def __init__(self, url: str, headers: Iterable[tuple[str, str]] = (), egress: Egress | None = None) -> None:
        """Reach a server at a URL.

        Raises:
            LinkError: the URL or a header cannot be used; the text repeats neither a password nor a value.
        """
        from signet.upstream.egress import Egress

        self._headers = _checked(headers)
        self.url = _parse(url)
        self.address = str(self.url.origin())
        """The origin, as messages show it."""
        values = self._headers.values()
        parts = [part for value in values for part in (value, value.partition(" ")[2])]
        self.redactor = SecretRedactor(
            [*parts, self.url.raw_query_string, *self.url.query.values()], min_chars=MIN_CHARS
        )
        self._egress = egress or Egress()
        self._session: ClientSession | None = None

    def join(self, target: str) -> URL:
        """Return the URL that the server names, which must be of its own origin.

        Raises:
            ValueError: it is of another origin, or no URL.
        """
        from yarl import URL

        found = self.url.join(URL(target))
        if found.origin() != self.url.origin():
            raise ValueError(f"it leads to another origin ({self.redactor.text(str(found.origin()))[:200]})")
        return found

    @asynccontextmanager
    async def ask(
        self,
        method: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
        *,
        url: URL | None = None,
        on_written: Callable[[], None] | None = None,
    ) -> AsyncIterator[ClientResponse]:
        """Send a request; the block may read its response. `on_written` is called when the body goes out.

        Raises:
            ValueError: the server redirects to where its headers must not go.
        """
        from signet.upstream.egress import proxy_for, start_check

        if self._session is None:
            self._session = _open_session(self._egress)
        all_headers = {**self._headers, **headers, "Accept-Encoding": "identity"}
        for _ in range(MAX_REDIRECTS + 1):
            start_check(self._egress)
            target = url or self.url
            async with self._session.request(
                method,
                target,
                headers=all_headers,
                data=body,
                allow_redirects=False,
                proxy=proxy_for(target),
                trace_request_ctx=on_written,
            ) as response:
                location = response.headers.get("Location", "")
                if response.status not in REDIRECTS or not location:
                    yield response
                    return
                moved = self._follow(response.status, location)
                url, self.url = (moved, self.url) if url is not None else (None, moved)
        raise ValueError(f"{self.address} redirects more than {MAX_REDIRECTS} times: check {SETTING}")

    def describe(self, error: Exception) -> str:
        """Return a sentence on a failure, without secrets."""
        import aiohttp

        from signet.upstream.failures import describe

        if isinstance(error, TimeoutError):
            text = f"{self.address} does not answer in time: check that the server is running, and {SETTING}"
        elif isinstance(error, ValueError) and not isinstance(error, aiohttp.InvalidURL):
            text = str(error)
        else:
            text = describe(error, self.address, SETTING)
        return self.redactor.text(text)

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            session, self._session = self._session, None
            await session.close()

    def _follow(self, status: int, location: str) -> URL:
        why = f"with status {status}, which drops the message"
        if status in KEPT_REDIRECTS:
            try:
                return self.join(location)
            except ValueError as error:
                why = f"and {error}, where its headers must not go"
        raise ValueError(f"{self.address} redirects {why}: check {SETTING}")


def _parse(text: str) -> URL:
    from yarl import URL

    try:
        url = URL(text.strip())
        is_usable = url.scheme in {"http", "https"} and bool(url.host)
    except ValueError:
        is_usable = False
    if not is_usable:
        raise LinkError("the server's URL must begin with http:// or https:// and name a host")
    if url.user is not None or url.password is not None:
        raise LinkError(f"the URL of {url.host} has a user name: send it in a header (--header-file) instead")
    return url.with_fragment(None)


def _checked(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the operator's headers; raise LinkError for one that cannot be sent, or that the transport sets itself."""
    found: dict[str, str] = {}
    for name, value in headers:
        if not HEADER_NAME.fullmatch(name):
            raise LinkError("a header of the server has a name that no HTTP header can have")
        if name.lower() in OWN or name.lower().startswith("mcp-"):
            raise LinkError(f"the header {name} belongs to the transport: leave it out")
        if not all(char == "\t" or (char.isprintable() and char.isascii()) for char in value):
            # The text does not repeat the value.
            raise LinkError(f"the header {name} has characters that no HTTP header can carry")
        found[name] = value.strip(" \t")
    return found


def _open_session(egress: Egress) -> ClientSession:
    import aiohttp

    from signet.upstream.egress import CheckedConnector

    async def note_written(_: object, context: Any, __: object) -> None:
        if context.trace_request_ctx is not None:
            context.trace_request_ctx()

    trace = aiohttp.TraceConfig()
    trace.on_request_chunk_sent.append(note_written)
    session = aiohttp.ClientSession(
        connector=CheckedConnector(egress, keepalive_timeout=KEEP_ALIVE_S),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"User-Agent": f"signet/{__version__}"},
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S),
        auto_decompress=False,
        max_line_size=MAX_FIELD_BYTES,
        max_field_size=MAX_FIELD_BYTES,
        trace_configs=[trace],
    )
    # aiohttp repeats a request by itself when a connection breaks: a call could be made twice.
    session._retry_connection = False  # noqa: SLF001 - there is no public switch
    return session
