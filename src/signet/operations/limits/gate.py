"""The gate of rates and quotas: all buckets of a call are checked, then all are charged, by the store's one decision.

A store in this process answers at once, and then so does the gate.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import lru_cache
from time import perf_counter
from typing import Final

import msgspec

from signet.kernel.caller import caller_of
from signet.kernel.errors import Fault, rate_limited
from signet.kernel.events import Events
from signet.kernel.outcome import Call
from signet.kernel.tools import Tool
from signet.operations.store.memory import MemoryStore
from signet.operations.store.store import Bucket, Decision, Store, StoreError, StoreFullError

from .outage import StoreOutage
from .policy import Limit, Policy

__all__ = ["LimitGate", "words"]

CALLERS: Final = 4096
"""The number of callers whose buckets are remembered by name."""
MINUTE_S: Final = 60
HOUR_S: Final = 3600
DAY_S: Final = 86_400


class _Rule(msgspec.Struct, frozen=True):
    """One bucket, and how a refusal tells of it."""

    bucket: Bucket
    scope: str
    sentence: str
    name: str
    """The policy's name in `RateLimit-Policy`."""


class _Rules(msgspec.Struct, frozen=True):
    """All that holds for one caller of one tool."""

    rules: tuple[_Rule, ...]
    buckets: tuple[Bucket, ...]
    scope: str
    """The scope of the caller, under which an allowed call is counted."""
    denies: bool


class LimitGate:
    """Lets a call in if none of its buckets is full."""

    def __init__(self, policy: Policy, store: Store, events: Events, outage: StoreOutage) -> None:
        self._policy = policy
        self._store = store
        self._events = events
        self._outage = outage
        self._own = MemoryStore()
        """What decides while the memory of the store is full: this process alone."""
        self._rules: Callable[[str | None, str, str, str, str], _Rules] = lru_cache(CALLERS)(self._find_rules)

    def enter(self, call: Call, tool: Tool) -> Fault | Awaitable[Fault | None] | None:
        """Return the fault for a call that comes too early, or an awaitable of it where the store is elsewhere."""
        caller = call.caller
        rules = self._rules(caller.key, caller.name, caller.address, tool.slug, tool.name)
        if not rules.buckets:
            return None
        started_s = perf_counter()
        try:
            decision = self._store.decide(rules.buckets)
        except StoreFullError:
            decision = self._own.decide(rules.buckets)
        except StoreError as error:
            return self._outage.begin(error, denies=rules.denies)
        if isinstance(decision, Decision):
            return self._end(rules, decision, started_s)
        return self._await(rules, decision, started_s)

    async def _await(self, rules: _Rules, pending: Awaitable[Decision], started_s: float) -> Fault | None:
        try:
            decision = await pending
        except StoreFullError:
            decision = self._own.decide(rules.buckets)
        except StoreError as error:
            return self._outage.begin(error, denies=rules.denies)
        return self._end(rules, decision, started_s)

    def _end(self, rules: _Rules, decision: Decision, started_s: float) -> Fault | None:
        events = self._events
        if self._outage.is_on:  # rule: @LimitGate._end
            self._outage.end()
        if events.limit_checked is not None:
            events.limit_checked(perf_counter() - started_s)
        if decision.refused is None:
            if events.limit_decided is not None:
                events.limit_decided("allowed", rules.scope)
            return None
        rule = rules.rules[decision.refused]
        if events.limit_decided is not None:
            events.limit_decided("refused", rule.scope)
        bucket = rule.bucket
        limit = {"name": rule.name, "count": bucket.count, "seconds": int(bucket.period_s or DAY_S)}
        wait = words(decision.retry_after_s)
        message = f"{rule.sentence}: wait {wait}, then make the same call again"
        return rate_limited(message, decision.retry_after_s, limit)

    def _find_rules(self, key: str | None, principal: str, address: str, slug: str, name: str) -> _Rules:
        policy = self._policy
        scope, who = caller_of(key, address)
        default = policy.principals.get(key or "") or policy.principals.get(principal) or policy.default
        rules = _rules_of(default, f"{scope}:{who}", scope, "You may make {} per {}", "default")
        denies = default.denies and bool(rules)
        tool = policy.tools.get(slug) or policy.tools.get(name)
        if tool is not None:
            bucket = f"tool:{slug}" if tool.shared else f"tool:{slug}:{scope}:{who}"
            callers = "All callers together" if tool.shared else "You"
            own = _rules_of(tool, bucket, "tool", f"{callers} may make {{}} of {name} per {{}}", slug)
            denies |= tool.denies and bool(own)
            rules += own
        together = any(limit.shared for limit in policy.tools.values())
        buckets = tuple([msgspec.structs.replace(rule.bucket, together=together) for rule in rules])
        return _Rules(rules, buckets, scope, denies)


def _rules_of(limit: Limit, key: str, scope: str, sentence: str, name: str) -> tuple[_Rule, ...]:
    rules: tuple[_Rule, ...] = ()
    if limit.rate is not None:
        bucket = Bucket(key, limit.rate.count, limit.rate.period_s, limit.burst)
        rules += (_Rule(bucket, scope, sentence.format(_calls(bucket.count), limit.rate.period), name),)
    if limit.quota:
        bucket = Bucket(f"quota:{key}", limit.quota)
        rules += (_Rule(bucket, scope, sentence.format(_calls(bucket.count), "UTC day"), f"{name}.day"),)
    return rules


def _calls(count: int) -> str:
    return "1 call" if count == 1 else f"{count} calls"


def words(wait_s: float) -> str:
    """Return a time to wait in words, rounded up."""
    seconds = -int(-wait_s // 1)
    if seconds < MINUTE_S:
        return f"{max(seconds, 1)} s"
    if seconds < HOUR_S:
        return f"{seconds // MINUTE_S} min {seconds % MINUTE_S} s"
    minutes = -(-seconds // MINUTE_S)
    return f"{minutes // MINUTE_S} h {minutes % MINUTE_S} min"
