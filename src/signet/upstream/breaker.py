"""A circuit breaker: an upstream that fails again and again is left alone for a while, then tried with one request.

closed ── so many failures in sequence ── open ── a pause ── half open: one request ── it worked ── closed
                                            ▲──────────────────────────────────────── it failed ──┘

A failure is a network failure, a time that ran out, an answer that ended early, or a status from 500 on. Any other
answer, a 4xx too, shows that the service is there. A request that had no turn to be sent shows nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Literal

from msgspec.structs import replace

from signet.kernel.errors import Code, Fault
from signet.kernel.upstream import Upstream, UpstreamRequest, UpstreamResponse, UpstreamState, states_of
from signet.kernel.waiting import Waiting

from .pace import NoTurn

__all__ = ["OPEN_S", "WINDOW_S", "BreakerUpstream"]

WINDOW_S: Final = 60.0
"""The time within which the failures must come: rarer ones are no outage."""
OPEN_S: Final = 30.0
"""The pause before the service is tried again."""
SERVER_ERROR: Final = 500


class BreakerUpstream:
    """Asks another upstream, unless that has failed too often."""

    def __init__(
        self,
        inner: Upstream,
        failures: int,
        called: str,
        log: Callable[..., None] = lambda _, **__: None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        """Leave an upstream alone after so many failures; `called` is its name in messages."""
        self.origin = inner.origin
        self.has_token = inner.has_token
        self._inner = inner
        self._limit = failures
        self._called = called
        self._log = log
        self._clock = clock or (lambda: asyncio.get_running_loop().time())
        self._failures = 0
        self._first_s = 0.0
        """The time of the first of the failures."""
        self._open_until_s: float | None = None
        """The time at which the service may be tried again; None while the breaker is closed."""
        self._is_probed = False

    async def send(self, request: UpstreamRequest, wait: Waiting | None = None) -> UpstreamResponse:
        """Return the response, whatever its status.

        Raises:
            Fault: the request failed, or the service is left alone for now.
        """
        is_probe = self._check()
        self._is_probed |= is_probe
        try:
            response = await self._inner.send(request, wait)
        except NoTurn:
            raise
        except Fault:
            self._note_failure()
            raise
        finally:
            # One that was cancelled or had no turn shows nothing, and lets the next one try.
            self._is_probed &= not is_probe
        if response.status >= SERVER_ERROR or response.broken:
            self._note_failure()
        else:
            self._note_success()
        return response

    def states(self) -> list[UpstreamState]:
        """Return the states of the services, with that of the breaker."""
        breaker: Literal["closed", "open"] = "closed" if self._open_until_s is None else "open"
        return [replace(one, breaker=breaker, failures=self._failures) for one in states_of(self._inner)]

    def warm(self) -> None:
        """Load what the first request needs."""
        self._inner.warm()

    def forget(self, request: UpstreamRequest) -> None:
        """Drop a cached response."""
        self._inner.forget(request)

    async def close(self) -> None:
        """Close the connections."""
        await self._inner.close()

    def _check(self) -> bool:
        """Return whether a request is the one that tries the service; raise Fault if none may be sent."""
        if self._open_until_s is None:
            return False
        left_s = self._open_until_s - self._clock()
        if left_s <= 0 and not self._is_probed:
            return True
        when = "it is being tried just now" if left_s <= 0 else f"it is tried again in {-int(-left_s // 1)} s"
        message = f"request failed: {self._called} failed {self._failures} times in sequence, {when}"
        raise Fault(Code.INTERNAL_ERROR, message, name="UPSTREAM_FAILED", as_tool_result=False)

    def _note_failure(self) -> None:
        now_s = self._clock()
        if self._open_until_s is None and now_s - self._first_s > WINDOW_S:
            self._failures = 0
        if not self._failures:
            self._first_s = now_s
        self._failures += 1
        if self._failures >= self._limit:
            self._open_until_s = now_s + OPEN_S
            self._log("upstream.open", called=self._called, failures=self._failures)

    def _note_success(self) -> None:
        if self._open_until_s is not None:
            self._log("upstream.closed", called=self._called)
        self._failures, self._open_until_s = 0, None
