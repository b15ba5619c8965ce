"""How the Bank of Japan wants to be treated: asked moderately, and not again for what has just been said.

Pure.
"""

from __future__ import annotations

import re
from typing import Final

from signet.kernel.upstream import UpstreamRequest, UpstreamResponse

__all__ = ["PUBLIC_ORIGIN", "interval_s", "is_public", "may_keep"]

PUBLIC_ORIGIN: Final = "https://www.stat-search.boj.or.jp"
PUBLIC_INTERVAL_MS: Final = 1000
"""The Bank publishes no number and cuts off those who ask too often; one request a second is what others keep to."""

SUCCESS: Final = re.compile(rb'^\W*"?STATUS"?\s*[:,]\s*"?200\b')


def interval_s(origin: str, asked_ms: int | None) -> float:
    """Give the time between two requests: what was asked for, or what the public host deserves."""
    if asked_ms is not None:
        return asked_ms / 1000
    return PUBLIC_INTERVAL_MS / 1000 if is_public(origin) else 0.0


def is_public(origin: str) -> bool:
    """Whether it is the Bank itself that answers there."""
    return _host(origin) == _host(PUBLIC_ORIGIN)


def _host(origin: str) -> str:
    return origin.strip().lower().partition("://")[2].partition("/")[0].partition(":")[0].removesuffix(".")


def may_keep(ask: UpstreamRequest, answer: UpstreamResponse) -> bool:
    """Whether an answer stays true for a while: a list of series, whole, that the Bank calls a success."""
    whole = not answer.cut and not answer.broken
    return "/getMetadata?" in ask.target and whole and SUCCESS.match(answer.body[:200]) is not None
