"""How the Bank of Japan is asked: what may be cached, and when to try again (spec 3). Pure, without a clock.

Only temporary failures are retried: a broken connection, and the Bank's own statuses 500 and 503.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from signet.kernel.errors import Fault
from signet.kernel.upstream import UpstreamRequest, UpstreamResponse

__all__ = ["MAX_DELAY_MS", "Retry", "delay_ms", "may_cache"]

SUCCESS: Final = re.compile(rb'^\W*"?STATUS"?\s*[:,]\s*"?200\b')

MAX_DELAY_MS: Final = 2**63 - 1
"""The limit of a delay: the largest number that timers take."""

TEMPORARY: Final = frozenset({500, 503})
"""The Bank's statuses for temporary failures."""


def may_cache(request: UpstreamRequest, response: UpstreamResponse) -> bool:
    """Return True if a response may be cached: a complete and successful list of series."""
    is_complete = not response.cut and not response.broken
    return "/getMetadata?" in request.target and is_complete and SUCCESS.match(response.body[:200]) is not None


class Retry(Struct, frozen=True):
    """The number of retries, and the delay before the first one."""

    max: int = 2
    backoff_ms: int = 200


def delay_ms(retry: Retry, attempt: int, fault: Fault) -> int | None:
    """Return the delay after a failed attempt (counted from 0), or None if there is no retry."""
    if attempt >= retry.max or not _is_temporary(fault):
        return None
    # 63 doublings reach the limit from any backoff, and a shift by a large number would take memory.
    return min(retry.backoff_ms << min(attempt, 63), MAX_DELAY_MS)


def _is_temporary(fault: Fault) -> bool:
    error_type = fault.data.get("error_type")
    return error_type == "TRANSPORT_ERROR" or (error_type == "API_ERROR" and fault.data.get("status") in TEMPORARY)
