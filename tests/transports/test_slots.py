"""The places of connections: how many there are, who makes room, whose time is over, and the end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from math import inf

import pytest

from signet.transports.slots import ConnectionLimits, Member, Slots, exact_address, http_date, network_of


class Client(Member):
    """A connection that notes what is done to it."""

    def __init__(self, slots: Slots, address: str, *, waits_since: float = inf) -> None:
        super().__init__(slots.loop)
        self.address = address
        self.waits_since = waits_since
        self.fate = ""
        self._slots = slots

    def expire(self) -> None:
        self.fate, self.deadline = "expired", inf

    def drain(self) -> None:
        self.fate = "drained"
        if self.waits_since < inf:
            self._slots.release(self)

    def abort(self) -> None:
        self.fate = "aborted"
        self._slots.release(self)


def in_loop(scenario: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(scenario())  # type: ignore[arg-type] # a coroutine


def test_a_newcomer_takes_the_place_of_the_one_that_has_waited_longest() -> None:
    async def scenario() -> None:
        slots = Slots(ConnectionLimits(connections=3))
        busy, first, second = (Client(slots, f"10.0.0.{n}", waits_since=w) for n, w in enumerate([inf, 5, 7]))
        assert [slots.take(each) for each in (busy, second, first)] == [True] * 3

        assert slots.take(Client(slots, "10.0.0.8"))
        assert slots.take(Client(slots, "10.0.0.9"))
        assert not slots.take(Client(slots, "10.0.0.7", waits_since=1))

        assert (busy.fate, first.fate, second.fate) == ("", "aborted", "aborted")

    in_loop(scenario)


def test_an_address_with_all_its_places_makes_room_among_its_own() -> None:
    async def scenario() -> None:
        slots = Slots(ConnectionLimits(connections=10, per_address=2))
        other = Client(slots, "10.0.0.2", waits_since=1)
        mine = [Client(slots, "10.0.0.1", waits_since=when) for when in (2, 3)]
        assert all(slots.take(each) for each in (other, *mine))

        assert slots.take(Client(slots, "10.0.0.1"))
        assert (other.fate, mine[0].fate, mine[1].fate) == ("", "aborted", "")
        assert slots.take(Client(slots, "10.0.0.1"))
        assert not slots.take(Client(slots, "10.0.0.1"))
        assert slots.take(Client(slots, "10.0.0.3"))

    in_loop(scenario)


def test_clients_without_an_address_share_no_limit() -> None:
    async def scenario() -> None:
        slots = Slots(ConnectionLimits(connections=10, per_address=2))
        assert all(slots.take(Client(slots, "")) for _ in range(10))
        assert not slots.take(Client(slots, ""))

    in_loop(scenario)


def test_a_place_that_is_given_back_is_given_again() -> None:
    async def scenario() -> None:
        slots = Slots(ConnectionLimits(connections=1, per_address=1))
        for _ in range(3):
            client = Client(slots, "10.0.0.1")
            assert slots.take(client)
            slots.release(client)

    in_loop(scenario)


def test_only_so_many_are_told_that_there_is_no_place() -> None:
    async def scenario() -> None:
        slots = Slots(ConnectionLimits(connections=1))
        slots.take(Client(slots, "10.0.0.1"))
        refused = [Client(slots, "10.0.0.2") for _ in range(257)]
        for each in refused:
            assert not slots.is_crowded()
            assert not slots.take(each)
        assert slots.is_crowded()
        slots.release(refused[0])
        assert not slots.is_crowded()

    in_loop(scenario)


def test_a_time_that_is_over_is_told_also_to_those_without_a_place() -> None:
    async def scenario() -> None:
        slots = Slots(ConnectionLimits(connections=1, head_s=0.02))
        clients = [Client(slots, "10.0.0.1") for _ in range(3)]
        for each in clients[:2]:
            slots.take(each)
            each.deadline = slots.loop.time()
        for _ in range(1000):
            if clients[0].fate:
                break
            await asyncio.sleep(0.005)
        assert [each.fate for each in clients] == ["expired", "expired", ""]

    in_loop(scenario)


def test_at_the_end_those_that_wait_go_at_once_and_the_others_have_their_time() -> None:
    async def scenario() -> None:
        slots = Slots(ConnectionLimits())
        waits, answers, clings = (Client(slots, "10.0.0.1", waits_since=when) for when in (1, inf, inf))
        for each in (waits, answers, clings):
            slots.take(each)

        draining = asyncio.ensure_future(slots.drain(0.05))
        await asyncio.sleep(0)
        assert [each.fate for each in (waits, answers, clings)] == ["drained"] * 3
        assert not slots.take(Client(slots, "10.0.0.2"))
        slots.release(answers)
        await draining

        assert [answers.fate, clings.fate] == ["drained", "aborted"]

    in_loop(scenario)


@pytest.mark.parametrize(
    ("peer", "counted"),
    [
        (("10.0.0.1", 80), "10.0.0.1"),
        (("::ffff:10.0.0.1", 80, 0, 0), "10.0.0.1"),
        (("::1", 80, 0, 0), "::1"),
        (("2001:db8:1:2:3:4:5:6", 80, 0, 0), "2001:db8:1:2::/64"),
        (("2001:db8:1:2::9", 80, 0, 0), "2001:db8:1:2::/64"),
        (("fe80::1%eth0", 80, 0, 2), "fe80::/64"),
    ],
)
def test_a_client_is_counted_by_its_address_and_of_ipv6_by_its_network(peer: tuple[str, ...], counted: str) -> None:
    address = exact_address(peer[0])

    assert (network_of(address) or address) == counted


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "Thu, 01 Jan 1970 00:00:00 GMT"), (1_582_934_400, "Sat, 29 Feb 2020 00:00:00 GMT")]
)
def test_a_time_is_written_as_http_has_it(seconds: int, text: str) -> None:
    assert http_date(time.gmtime(seconds)) == text


@pytest.mark.parametrize("ending", ["drain", "retire"])
def test_the_wait_for_the_last_connection_ends_with_it_and_not_before(ending: str) -> None:
    async def scenario() -> None:
        slots = Slots(ConnectionLimits(retire_s=3600))
        first, last = Client(slots, "10.0.0.1"), Client(slots, "10.0.0.2")
        assert slots.take(first)
        assert slots.take(last)
        waiting = asyncio.ensure_future(slots.emptied(3600))
        await asyncio.sleep(0)
        slots.release(first)
        for _ in range(5):
            await asyncio.sleep(0)
        assert not waiting.done()
        slots.release(last)
        for _ in range(5):
            await asyncio.sleep(0)
        assert waiting.done()
        await (slots.drain(3600) if ending == "drain" else slots.retire(3600))
        assert (slots.draining, slots.last_answers, slots.is_retiring) == (True, True, ending == "retire")

    in_loop(scenario)


def test_the_limits_are_those_that_are_documented() -> None:
    limits = ConnectionLimits()

    assert (limits.head_s, limits.body_s, limits.write_s, limits.idle_s) == (30, 30, 30, 75)
    assert (limits.connections, limits.per_address) == (4096, 1024)
