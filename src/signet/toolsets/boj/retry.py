"""When to ask the Bank of Japan again: spec 3's policy, without a clock.

Pure. Only what may pass by itself is asked again: a broken connection, and the Bank's own statuses 500 and 503.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from signet.kernel.errors import Fault

__all__ = ["MAX_DELAY_MS", "Retry", "delay_ms"]

MAX_DELAY_MS: Final = 2**63 - 1
"""Where delays stop growing; timers count no further."""

PASSING: Final = frozenset({500, 503})
"""The statuses of the Bank's that may pass by themselves."""


class Retry(Struct, frozen=True):
    """How often to ask again, and how long to wait before the first time."""

    max: int = 2
    backoff_ms: int = 200


def delay_ms(retry: Retry, attempt: int, fault: Fault) -> int | None:
    """Give the wait after a failed attempt, counted from 0; None when it was the last one."""
    if attempt >= retry.max or not _may_pass(fault):
        return None
    # Doubling more than 63 times is past the end already, and 2 to the power of a large number is memory.
    return min(retry.backoff_ms << min(attempt, 63), MAX_DELAY_MS)


def _may_pass(fault: Fault) -> bool:
    kind = fault.data.get("error_type")
    return kind == "TRANSPORT_ERROR" or (kind == "API_ERROR" and fault.data.get("status") in PASSING)
