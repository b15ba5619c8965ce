"""Upstreams as this process sees them: the requests that it sends, their last answers, breakers and caches."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

import msgspec

from signet.kernel.events import UpstreamVisit
from signet.kernel.upstream import CacheState, Upstream, UpstreamState, states_of
from signet.system.figures.families import HOUR_UPSTREAMS
from signet.system.figures.hour import HourFigures

__all__ = ["UpstreamNow", "UpstreamWatch"]

MAX_UPSTREAMS: Final = 50
CLIENT_ERROR: Final = 400
"""The least status that is not an answer as it was asked for."""
CANCELLED: Final = "cancelled"
"""The end of a request whose caller left: no failure of the service."""


class UpstreamNow(msgspec.Struct, frozen=True):
    """One upstream, as one process sees it now."""

    name: str
    """The toolset or the service that asks it; empty where nobody has asked yet."""
    origin: str
    last_code: str = ""
    """The status of the last response, or the kind of the failure."""
    last_s: float = 0.0
    breaker: str = "none"
    failures: int = 0
    caches: tuple[CacheState, ...] = ()


class UpstreamWatch:
    """Counts requests to upstreams, and knows how they stand."""

    def __init__(self, upstreams: tuple[Upstream, ...], names: Mapping[str, str], hour: HourFigures) -> None:
        """Watch upstreams; `names` are those of the toolsets that ask them, by origin."""
        self._upstreams = upstreams
        self._names = names
        self._hour = hour
        self._last: dict[tuple[str, str], tuple[str, float]] = {}

    def answered(self, visit: UpstreamVisit) -> None:
        """Count a request with the status of its response or the kind of its failure."""
        name, origin, code = visit.upstream, visit.origin, visit.code
        if code == CANCELLED:
            return
        is_good = code.isdecimal() and int(code) < CLIENT_ERROR
        self._hour.note(HOUR_UPSTREAMS, (name, origin), visit.took_s, "" if is_good else code)
        if (name, origin) in self._last or len(self._last) < MAX_UPSTREAMS:
            self._last[name, origin] = (code, time.time())

    def now(self) -> list[UpstreamNow]:
        """Return the upstreams that there are or that were asked."""
        states: dict[str, UpstreamState] = {}
        for state in [state for upstream in self._upstreams for state in states_of(upstream)][:MAX_UPSTREAMS]:
            origin = "/".join(state.origin.split("/")[:3])
            states[origin] = _joined(states.get(origin), msgspec.structs.replace(state, origin=origin))
        asked = list(self._last.items())
        unasked = [origin for origin in states if origin not in {origin for (_, origin), _ in asked}]
        found = [_now(name, states.get(origin, UpstreamState(origin)), last) for (name, origin), last in asked]
        return found + [_now(self._names.get(origin, ""), states[origin]) for origin in unasked]


def _now(name: str, state: UpstreamState, last: tuple[str, float] = ("", 0.0)) -> UpstreamNow:
    return UpstreamNow(name, state.origin, *last, state.breaker, state.failures, state.caches)


def _joined(known: UpstreamState | None, state: UpstreamState) -> UpstreamState:
    """Return what two toolsets know of one service: they share its breaker and its cache."""
    if known is None:
        return state
    caches = {cache.name: cache for cache in (*known.caches, *state.caches)}
    breaker = known if known.breaker != "none" else state
    return msgspec.structs.replace(breaker, caches=tuple(caches.values()))
