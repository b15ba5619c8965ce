"""The port to a service: the request that a tool makes, and the response."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, Literal, Protocol

import msgspec

from .waiting import Waiting

__all__ = [
    "CUT_GZIP",
    "MAX_INTERIM",
    "NOT_GZIP",
    "CacheState",
    "ResponseCache",
    "Upstream",
    "UpstreamRequest",
    "UpstreamResponse",
    "UpstreamState",
    "states_of",
]

MAX_INTERIM: Final = 100
"""The number of informational (1xx) responses that may come before the response to a request."""
NOT_GZIP: Final = "the body is not the gzip that it claims to be"
"""The value of `UpstreamResponse.broken` for a body that is not gzip: another attempt would get the same."""
CUT_GZIP: Final = "the gzip body is cut off or damaged: try again, and check the service if it stays so"
"""The value for gzip that ends early, or whose checksum is wrong: it was lost on the way."""


class UpstreamRequest(msgspec.Struct, frozen=True):
    """One request to a toolset's upstream."""

    target: str
    """Path and query, percent-encoded, as on the request line."""
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    """Headers beside those that the upstream sends itself: authorization, encoding, user agent."""
    body: bytes = b""
    max_body_bytes: int = 0
    """The limit of the response, where it is not that of the upstream."""
    timeout_s: float = 0.0
    """The time for the response, where it is not that of the upstream."""
    fixed_headers: tuple[tuple[str, str], ...] = ()
    """Headers that every request to the service carries: a response is shared or cached all the same."""

    is_retry: bool = False
    """Whether it was sent before: its caller has waited already, so that it does not wait for a turn too."""

    @property
    def is_plain(self) -> bool:
        """Whether it is a GET with no headers, body or limits of its own: only such a response is shared or cached."""
        return self.method == "GET" and not self.headers and not self.body and not self.max_body_bytes


class UpstreamResponse(msgspec.Struct, frozen=True):
    """What an upstream sent back."""

    status: int
    content_type: str
    """The media type in lower case, with its parameters; empty where none was sent."""
    body: bytes
    """The body, up to the upstream's limit; a bytearray where it is large."""
    cut: bool = False
    """Whether the body was longer than the limit."""
    broken: str = ""
    """Why the body ended early, if it did."""
    origin: str = "the address"
    """Where the response came from, for messages."""
    retry_after: str = ""
    """When the service wants to be asked again, as its `Retry-After` says."""


class Upstream(Protocol):
    """One service."""

    origin: str
    """Where it is."""
    has_token: bool
    """Whether requests carry a bearer token."""

    def send(self, request: UpstreamRequest, wait: Waiting | None = None) -> Awaitable[UpstreamResponse]:
        """Return the response, whatever its status; say in `wait` what it takes until then.

        Raises:
            Fault: the network failed, or no response began in time.
        """

    def warm(self) -> None:
        """Load what the first request needs."""

    def forget(self, request: UpstreamRequest) -> None:
        """Drop a cached response: it could not be read."""

    def close(self) -> Awaitable[None]:
        """Close the connections."""


class CacheState(msgspec.Struct, frozen=True):
    """What a cache before a service holds, and how often it had the answer."""

    name: str
    hits: int
    misses: int
    entries: int | None = None
    """The number of kept answers; None where counting them is not cheap."""


class UpstreamState(msgspec.Struct, frozen=True):
    """How one service stands with this process."""

    origin: str
    breaker: Literal["none", "closed", "open"] = "none"
    """Whether requests are sent; `none` where there is no circuit breaker."""
    failures: int = 0
    """The number of failures in sequence that the circuit breaker has seen."""
    caches: tuple[CacheState, ...] = ()


def states_of(upstream: Upstream) -> list[UpstreamState]:
    """Return the states of the services behind an upstream; one that keeps no account is known by its origin."""
    states: Callable[[], list[UpstreamState]] | None = getattr(upstream, "states", None)
    return states() if states is not None else [UpstreamState(upstream.origin)]


class ResponseCache(Protocol):
    """A cache of responses that processes share; where it cannot be asked, it has nothing. It raises nothing."""

    def read(self, key: str) -> Awaitable[bytes | None]:
        """Return a value, or None."""

    def write(self, key: str, value: bytes, keep_s: float) -> Awaitable[None]:
        """Keep a value for some time, unless it is too large."""
