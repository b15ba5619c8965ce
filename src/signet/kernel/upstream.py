"""The port: what a tool asks of the world outside, and what comes back."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Final, Protocol

import msgspec

__all__ = ["NOT_GZIP", "Upstream", "UpstreamRequest", "UpstreamResponse"]

NOT_GZIP: Final = "the body is not the gzip that it claims to be"
"""What `Answer.broken` says of a body that came whole and cannot be unpacked."""


class UpstreamRequest(msgspec.Struct, frozen=True):
    """One GET to a toolset's upstream."""

    target: str
    """Path and query, percent-encoded, as they are to stand on the request line."""


class UpstreamResponse(msgspec.Struct, frozen=True):
    """What an upstream answered."""

    status: int
    content_type: str
    """Its media type in lower case, with whatever follows it; empty where none was sent."""
    body: bytes
    """As much of the body as the upstream's limit lets through."""
    cut: bool = False
    """Whether there was more, and it was not asked for."""
    broken: str = ""
    """Why the body ended before its end, if it did."""


class Upstream(Protocol):
    """The way out to one service."""

    origin: str
    """Where it is."""
    has_token: bool
    """Whether requests carry a bearer token; the token itself stays inside."""

    def send(self, ask: UpstreamRequest) -> Awaitable[UpstreamResponse]:
        """Give the answer, whatever its status.

        Raises:
            Fault: the network failed, or no answer began in time.
        """

    def warm(self) -> None:
        """Get ready for the first request, as far as that can be done beforehand."""

    def forget(self, ask: UpstreamRequest) -> None:
        """Keep an answer no longer, where answers are kept: it could not be read."""

    def close(self) -> Awaitable[None]:
        """Hang up."""
