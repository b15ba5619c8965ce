"""An upstream that asks again: after a network failure, or a status that may pass, and only what changes nothing.

send ── failed? ── a pause ── send ── …        the caller is told what the pause is for
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from signet.kernel.errors import Fault
from signet.kernel.toolset import UpstreamSpec
from signet.kernel.upstream import Upstream, UpstreamRequest, UpstreamResponse, UpstreamState, states_of
from signet.kernel.waiting import Waiting

__all__ = ["RetryingUpstream"]

METHODS: Final = ("GET", "HEAD")
"""The methods that may be sent twice."""
STATUSES: Final = (429, 502, 503, 504)
"""The statuses that may pass."""
FIRST_PAUSE_S: Final = 0.5
"""The pause before the second request; each further one is twice as long."""
MAX_PAUSE_S: Final = 8.0
MAX_ASKED_PAUSE_S: Final = 20.0
"""The longest pause that a service may ask for; a response that asks for more is returned as it is."""
MAX_RETRYING_S: Final = 30.0
"""The time after which nothing is asked again: a call may take 50 s."""


class RetryingUpstream:
    """Sends a request of another upstream again, as often as its spec says."""

    def __init__(
        self,
        inner: Upstream,
        spec: UpstreamSpec,
        log: Callable[..., None] = lambda _, **__: None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self.origin = inner.origin
        self.has_token = inner.has_token
        self._inner = inner
        self._spec = spec
        self._log = log
        self._sleep = sleep

    async def send(self, request: UpstreamRequest, wait: Waiting | None = None) -> UpstreamResponse:
        """Return the first response that is none to ask again for, or the last one.

        Raises:
            Fault: the last request failed.
        """
        wait = wait or Waiting()
        left = self._spec.retries if request.method in METHODS else 0
        until_s = asyncio.get_running_loop().time() + MAX_RETRYING_S
        pause_s = FIRST_PAUSE_S
        while True:
            response, fault = await self._attempt(request, wait)
            why = _reason(response)
            asked_s = _asked_pause_s(response) if response is not None else None
            now_s = min(pause_s, MAX_PAUSE_S) if asked_s is None else asked_s
            is_late = asyncio.get_running_loop().time() + now_s > until_s
            if not why or not left or is_late or now_s > MAX_ASKED_PAUSE_S or (fault is not None and _is_refused()):
                if fault is not None:
                    raise fault
                assert response is not None  # noqa: S101 - there is one of the two
                return response
            self._log("upstream.retry", target=request.target, why=why, pause_s=now_s)
            wait.now = f"waiting {now_s:g} s to ask {self._spec.called} again: {why}"
            await self._sleep(now_s)
            left, pause_s = left - 1, pause_s * 2

    async def _attempt(self, request: UpstreamRequest, wait: Waiting) -> tuple[UpstreamResponse | None, Fault | None]:
        try:
            return await self._inner.send(request, wait), None
        except Fault as fault:
            return None, fault

    def states(self) -> list[UpstreamState]:
        """Return the states of the services."""
        return states_of(self._inner)

    def warm(self) -> None:
        """Load what the first request needs."""
        self._inner.warm()

    def forget(self, request: UpstreamRequest) -> None:
        """Do nothing: nothing is cached here."""

    async def close(self) -> None:
        """Close the connections."""
        await self._inner.close()


def _is_refused() -> bool:
    """Return whether the last request was not sent, because it may not go where its name leads."""
    from .egress import refusal

    return bool(refusal())


def _reason(response: UpstreamResponse | None) -> str:
    """Return why a request may be sent again; an empty text where it may not."""
    if response is None:
        return "the network failed"
    if response.broken:
        return "its answer ended early"
    return f"it answered with status {response.status}" if response.status in STATUSES else ""


def _asked_pause_s(response: UpstreamResponse) -> float | None:
    """Return the pause that `Retry-After` asks for, in seconds or as a date; None where it says nothing that is one."""
    text = response.retry_after.strip()
    if text.isascii() and text.isdecimal():
        # A number of thousands of digits is longer than any pause.
        return float(text[:10])
    if not text:
        return None
    from datetime import UTC, datetime
    from email.utils import parsedate_to_datetime

    try:
        moment = parsedate_to_datetime(text[:100])
    except (ValueError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max((moment - datetime.now(UTC)).total_seconds(), 0.0)
