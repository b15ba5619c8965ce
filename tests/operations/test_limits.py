"""The gate of rates and quotas: who shares a bucket, what a refusal says, and a store that is away."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any

import pytest

from limit_counts import LimitCounts
from limit_harness import Clock, Elsewhere, call, entered, tool
from signet.kernel.caller import caller_of
from signet.kernel.errors import Code, Fault
from signet.operations.limits.gate import LimitGate, words
from signet.operations.limits.outage import StoreOutage
from signet.operations.limits.policy import read_policy
from signet.operations.store.store import Store

Lines = list[tuple[str, dict[str, str]]]


class Limited:
    """A gate with a clock that is turned by hand."""

    def __init__(self, table: dict[str, Any], rate_limit: str | None = None, *, elsewhere: bool = False) -> None:
        self.clock = Clock()
        self.figures = LimitCounts()
        self.lines: Lines = []
        self.elsewhere = Elsewhere(self.clock.store())
        store: Store = self.elsewhere if elsewhere else self.clock.store()
        outage = StoreOutage(self.figures.events, lambda event, **facts: self.lines.append((event, facts)))
        self.gate = LimitGate(read_policy(table, rate_limit), store, self.figures.events, outage)

    def let_in(self, times: int, *, of: str = "odd.fine", **who: Any) -> int:
        """Return how many of so many calls are let in."""
        entries = [self.gate.enter(call(**who), tool(of)) for _ in range(times)]
        return sum(entry is None for entry in entries)

    def refused(self, *, of: str = "odd.fine", **who: Any) -> Fault:
        entry = self.gate.enter(call(**who), tool(of))
        assert isinstance(entry, Fault)
        return entry


def test_principals_addresses_and_the_process_have_buckets_of_their_own() -> None:
    limited = Limited({}, "3/min")

    assert limited.let_in(5, who="alice") == 3
    assert limited.let_in(5, who="bob", address="10.0.0.1") == 3
    assert limited.let_in(5, address="10.0.0.1") == 3
    assert limited.let_in(5, address="10.0.0.2") == 3
    assert limited.let_in(5) == 3
    assert limited.let_in(5, who="alice", address="10.0.0.9") == 0, "whatever the address"
    assert limited.let_in(5, who="") == 3, "a name without letters is one"


def test_a_subject_and_a_token_of_the_same_name_have_buckets_of_their_own() -> None:
    limited = Limited({"rate": "3/min", "tools": {"odd.other": {"rate": "1/min"}}})

    assert limited.let_in(5, who="alice") == 3
    assert limited.let_in(5, subject="alice") == 3
    assert limited.let_in(5, who="token", of="odd.other") == 1
    assert limited.let_in(5, subject="token", of="odd.other") == 1


def test_the_limits_of_a_subject_are_found_by_its_name_and_by_what_it_is_counted_by() -> None:
    principals = {"oauth:alice": {"rate": "5/min"}, "alice": {"rate": "1/min"}, "bob": {"rate": "4/min"}}
    limited = Limited({"rate": "2/min", "principals": principals})

    assert limited.let_in(9, who="alice") == 1
    assert limited.let_in(9, subject="alice") == 5
    assert limited.let_in(9, subject="bob") == 4
    assert limited.let_in(9, subject="carol") == 2


def test_the_addresses_of_one_network_of_ipv6_share_a_bucket() -> None:
    limited = Limited({}, "3/min")

    assert limited.let_in(5, address="2001:db8::1") == 3
    assert limited.let_in(5, address="2001:db8::ffff:2") == 0
    assert limited.let_in(5, address="2001:db8:0:1::1") == 3
    assert limited.let_in(5, address="10.1.1.1") == 3
    assert limited.let_in(5, address="::ffff:10.1.1.1") == 0, "the same address"


def test_a_call_after_the_time_that_was_told_is_let_in_and_one_before_is_not() -> None:
    limited = Limited({}, "60/min")
    assert limited.let_in(61, who="alice") == 60

    after_ms = limited.refused(who="alice").data["retryAfterMs"]
    limited.clock.turn(after_ms / 1000 - 0.001)
    assert limited.let_in(1, who="alice") == 0
    limited.clock.turn(0.001)

    assert after_ms == 1000
    assert limited.let_in(5, who="alice") == 1


def test_a_refusal_says_what_to_do_and_when_and_names_nobody() -> None:
    table = {"rate": "2/min", "tools": {"odd.fine": {"quota": 1}}}
    limited = Limited(table)
    assert limited.let_in(2, who="alice") == limited.let_in(1, who="bob") == 1
    assert limited.let_in(1, who="alice", of="odd.other") == 1

    quota, rate = limited.refused(who="alice"), limited.refused(who="alice", of="odd.other")

    assert rate.message == "You may make 2 calls per minute: wait 30 s, then make the same call again"
    assert (rate.code, rate.name, rate.status, rate.as_tool_result) == (Code.UNAUTHORIZED, "RATE_LIMITED", 429, True)
    assert rate.data == {
        "code": "RATE_LIMITED", "retryable": True, "retryAfterMs": 30_000, "retry_after_seconds": 30,
        "limit": {"name": "default", "count": 2, "seconds": 60},
    }  # fmt: skip
    # 1,900,000,000 s after 1970 it is 17:46:40.
    assert quota.message == (
        "You may make 1 call of odd_fine per UTC day: wait 6 h 14 min, then make the same call again"
    )
    assert quota.data["limit"] == {"name": "odd.fine.day", "count": 1, "seconds": 86_400}
    assert quota.data["retry_after_seconds"] == 22_400


def test_a_call_that_a_tool_refuses_costs_nothing_elsewhere() -> None:
    limited = Limited({"rate": "5/min", "tools": {"odd.fine": {"rate": "2/min"}}})

    assert limited.let_in(10, who="alice") == 2
    assert limited.let_in(10, who="alice", of="odd.other") == 3


def test_the_limits_of_a_tool_are_found_by_slug_or_name_and_are_for_each_caller_unless_shared() -> None:
    tools = {"odd.one": {"rate": "2/min"}, "odd_two": {"rate": "2/min"}, "odd.three": {"rate": "2/min", "shared": True}}
    limited = Limited({"tools": tools})

    assert [limited.let_in(5, who=who, of="odd.one") for who in ("alice", "bob")] == [2, 2]
    assert [limited.let_in(5, who=who, of="odd.two") for who in ("alice", "bob")] == [2, 2]
    assert [limited.let_in(5, who=who, of="odd.three") for who in ("alice", "bob")] == [2, 0]
    assert limited.refused(who="bob", of="odd.three").message.startswith("All callers together may make 2 calls of")
    assert limited.let_in(50, who="bob", of="odd.four") == 50


def test_the_limits_of_a_principal_take_the_place_of_the_defaults() -> None:
    principals = {"ci": {"rate": "10/min"}, "boss": {"rate": "off", "quota": "off"}, "guest": {"quota": 1}}
    limited = Limited({"rate": "4/min", "burst": 2, "quota": 7, "principals": principals})

    assert limited.let_in(20, who="alice") == 2
    assert limited.let_in(20, who="boss") == 20
    assert limited.let_in(20, who="guest") == 1
    assert limited.let_in(20, who="ci") == 7, "ten at once, but for the quota of all"
    assert limited.let_in(20, address="ci") == 2, "an address is no principal"


def test_the_flag_takes_the_place_of_the_rate() -> None:
    limited = Limited({"rate": "9/min", "quota": 5}, "3/min")

    assert limited.let_in(9, who="alice") == 3


@pytest.mark.parametrize("who", ["tool:odd.fine:principal:bob", "quota:principal:bob", "bob\x00", "b" * 1000])
def test_no_name_reaches_the_bucket_of_another(who: str) -> None:
    limited = Limited({"rate": "3/min", "quota": 3, "tools": {"odd.fine": {"rate": "3/min"}}})

    assert limited.let_in(5, who=who) == 3
    assert limited.let_in(5, who="bob") == 3
    assert limited.let_in(5, who="b" * 1001) == 3


def test_decisions_are_counted_by_scope() -> None:
    limited = Limited({"rate": "2/min", "tools": {"odd.other": {"quota": 1}}})
    limited.let_in(3, who="alice")
    limited.let_in(1, address="10.0.0.1")
    limited.let_in(2, of="odd.other")

    assert dict(limited.figures.decisions) == {
        ("allowed", "principal"): 2, ("refused", "principal"): 1, ("allowed", "address"): 1,
        ("allowed", "process"): 1, ("refused", "tool"): 1,
    }  # fmt: skip
    assert len(limited.figures.checks_s) == 6
    assert sum(limited.figures.checks_s) > 0


def test_a_store_that_is_away_lets_calls_in_is_told_once_and_comes_back_by_itself() -> None:
    async def scenario() -> None:
        limited = Limited({"rate": "2/min"}, elsewhere=True)
        one, of = call("alice"), tool()

        before = [await entered(limited.gate, one, of) for _ in range(2)]
        limited.elsewhere.is_away = True
        away = [await entered(limited.gate, one, of) for _ in range(5)]
        limited.elsewhere.is_away = False
        after = await entered(limited.gate, one, of)
        limited.elsewhere.is_away = True
        await entered(limited.gate, one, of)

        assert before + away == [None] * 7
        assert isinstance(after, Fault)
        assert limited.figures.fail_open == limited.figures.store_errors == 6
        away_line = ("limits.unchecked", {"why": "Connection refused"})
        assert limited.lines == [away_line, ("limits.checked", {}), away_line]

    asyncio.run(scenario())


@pytest.mark.parametrize("table", [
    {"rate": "9/min", "on_store_error": "deny"},
    {"rate": "9/min", "tools": {"odd.fine": {"quota": 9, "on_store_error": "deny"}}},
    {"rate": "9/min", "principals": {"alice": {"on_store_error": "deny"}}},
])  # fmt: skip
def test_where_a_limit_denies_calls_are_refused_while_the_store_is_away(table: dict[str, Any]) -> None:
    async def scenario() -> None:
        limited = Limited(table, elsewhere=True)
        limited.elsewhere.is_away = True

        refused = await entered(limited.gate, call("alice"), tool())
        other = await entered(limited.gate, call("bob"), tool("odd.other"))

        assert isinstance(refused, Fault)
        assert (refused.name, refused.data["retry_after_seconds"]) == ("RATE_LIMITED", 1)
        assert isinstance(other, Fault) == ("on_store_error" in table)
        assert limited.figures.fail_closed == 1 + ("on_store_error" in table)

    asyncio.run(scenario())


def test_times_are_told_in_words_and_rounded_up() -> None:
    told = {0.001: "1 s", 1.0: "1 s", 1.001: "2 s", 59.5: "1 min 0 s", 61.2: "1 min 2 s", 3600.0: "1 h 0 min"}

    assert {wait_s: words(wait_s) for wait_s in told} == told
    assert words(86_399.5) == "24 h 0 min"


def test_a_call_without_limits_asks_no_store() -> None:
    limited = Limited({"tools": {"odd.other": {"rate": "1/min"}}}, elsewhere=True)

    assert limited.gate.enter(call("alice"), tool()) is None


@pytest.mark.parametrize(
    ("principal", "address", "counted"),
    [
        ("alice", "10.0.0.1", ("principal", "alice")),
        ("", "10.0.0.1", ("principal", "")),
        ("x" * 128, "", ("principal", "x" * 128)),
        ("x" * 129, "", ("principal", hashlib.sha256(b"x" * 129).hexdigest())),
        (None, "10.0.0.1", ("address", "10.0.0.1")),
        (None, "x" * 129, ("address", "x" * 128)),
        (None, ":" + "x" * 128, ("address", ":" + "x" * 127)),
        (None, "2001:db8:1:2:3:4:5:6", ("address", "2001:db8:1:2::/64")),
        (None, "fe80::1%eth0", ("address", "fe80::/64")),
        (None, "::ffff:10.0.0.1", ("address", "10.0.0.1")),
        (None, "", ("process", "")),
    ],
)
def test_a_caller_is_counted_by_its_name_its_network_or_the_process(
    principal: str | None, address: str, counted: tuple[str, str]
) -> None:
    assert caller_of(principal, address) == counted


@pytest.mark.parametrize(
    ("wait_s", "told"),
    [
        (0.0, "1 s"), (59.0, "59 s"), (59.001, "1 min 0 s"), (60.0, "1 min 0 s"), (3_599.0, "59 min 59 s"),
        (3_599.001, "1 h 0 min"), (3_601.0, "1 h 1 min"), (7_260.0, "2 h 1 min"),
    ],
)  # fmt: skip
def test_a_time_is_told_in_seconds_minutes_or_hours(wait_s: float, told: str) -> None:
    assert words(wait_s) == told


def test_one_call_is_told_as_one() -> None:
    limited = Limited({"rate": "1/h"})
    tools = Limited({"tools": {"odd.fine": {"rate": "1/day", "shared": True}}})
    assert limited.let_in(1) == tools.let_in(1) == 1

    assert limited.refused().message.startswith("You may make 1 call per hour: wait ")
    assert tools.refused().message.startswith("All callers together may make 1 call of odd_fine per day: wait ")


def test_a_quota_is_that_of_a_day() -> None:
    limited = Limited({"quota": 2})
    assert limited.let_in(2) == 2

    fault = limited.refused()

    assert fault.message.startswith("You may make 2 calls per UTC day: wait ")
    assert fault.data["limit"] == {"name": "default.day", "count": 2, "seconds": 86_400}
