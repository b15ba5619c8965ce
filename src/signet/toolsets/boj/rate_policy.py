"""Limits that spare the Bank of Japan: the interval between requests, and which responses to cache.

Pure.
"""

from __future__ import annotations

import re
from typing import Final

from signet.kernel.upstream import UpstreamRequest, UpstreamResponse

__all__ = ["PUBLIC_ORIGIN", "interval_s", "is_public", "may_keep"]

PUBLIC_ORIGIN: Final = "https://www.stat-search.boj.or.jp"
PUBLIC_INTERVAL_MS: Final = 1000
"""The Bank publishes no limit and blocks clients that ask too often; other clients keep to one request per second."""

SUCCESS: Final = re.compile(rb'^\W*"?STATUS"?\s*[:,]\s*"?200\b')


def interval_s(origin: str, configured_ms: int | None) -> float:
    """Return the least time between two requests: the given one, or the default of the origin."""
    if configured_ms is not None:
        return configured_ms / 1000
    return PUBLIC_INTERVAL_MS / 1000 if is_public(origin) else 0.0


def is_public(origin: str) -> bool:
    """Return True if the origin is the Bank's own host."""
    return _host(origin) == _host(PUBLIC_ORIGIN)


def _host(origin: str) -> str:
    return origin.strip().lower().partition("://")[2].partition("/")[0].partition(":")[0].removesuffix(".")


def may_keep(request: UpstreamRequest, response: UpstreamResponse) -> bool:
    """Return True if a response may be cached: a complete and successful list of series."""
    is_complete = not response.cut and not response.broken
    return "/getMetadata?" in request.target and is_complete and SUCCESS.match(response.body[:200]) is not None
