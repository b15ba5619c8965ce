"""Places of instances: whose they are, who waits for one, and when one is free again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from signet.kernel.errors import TOO_MANY_PROCESSES, Fault
from signet.mcp.link import LinkError
from signet.mcp.session import ClientSession
from signet.relay import pool as pools
from signet.relay.pool import Pool

from .scripted_link import ScriptedLink, opened, until


class SlowLink(ScriptedLink):
    """Ends when it may."""

    def __init__(self) -> None:
        super().__init__()
        self.may_end = asyncio.Event()

    async def close(self) -> None:
        await self.may_end.wait()


def begin(link: ScriptedLink | None = None) -> Callable[[], Awaitable[ClientSession]]:
    return lambda: opened(link or ScriptedLink())


async def fail() -> ClientSession:
    raise LinkError("no")


def pool_of(kind: str, monkeypatch: pytest.MonkeyPatch, places: int = 2) -> Pool:
    monkeypatch.setattr(pools, "MAX_SESSIONS", places)
    monkeypatch.setattr(pools, "MAX_CALLS", places)
    monkeypatch.setattr(pools, "SPARE", 0)
    return Pool("s", kind)


async def refused(asked: Awaitable[ClientSession]) -> bool:
    with pytest.raises(Fault) as caught:
        await asked
    assert (caught.value.name, caught.value.status) == (TOO_MANY_PROCESSES, 503)
    assert caught.value.data["retryable"] is True
    return True


def test_an_instance_that_is_being_ended_has_its_place_until_it_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        pool, slow = pool_of("session", monkeypatch), SlowLink()
        await pool.dialogue("a", begin(slow), "mallory")
        newcomer = asyncio.ensure_future(pool.dialogue("b", begin(), "mallory"))
        await asyncio.sleep(0.01)
        assert not newcomer.done()

        slow.may_end.set()

        assert not (await newcomer).is_lost
        await pool.close()

    asyncio.run(run())


def test_an_idle_instance_of_another_holder_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        pool = pool_of("session", monkeypatch)
        dialogues = [await pool.dialogue(name, begin(), name) for name in ("a", "b")]

        assert await refused(pool.dialogue("c", begin(), "c"))
        assert [one.is_lost for one in dialogues] == [False, False]
        pool.end("a")
        await until(lambda: not pool._ending)
        assert not (await pool.dialogue("c", begin(), "c")).is_lost
        await pool.close()

    asyncio.run(run())


def test_a_refusal_is_no_failed_start(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        pool = pool_of("session", monkeypatch)
        for name in ("a", "b"):
            await pool.dialogue(name, begin(), name)
        await refused(pool.dialogue("c", begin(), "c"))

        assert (pool.why_not_started, "c" in pool._open) == ("", False)
        await pool.close()

    asyncio.run(run())


def test_a_start_that_fails_and_an_instance_that_is_lost_give_their_places_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pools, "LONGEST_PAUSE_S", 0.001)
    monkeypatch.setattr(pools, "FIRST_PAUSE_S", 0.001)

    async def run() -> None:
        pool = pool_of("session", monkeypatch)
        for _ in range(5):
            await asyncio.sleep(0.002)
            with pytest.raises(Fault, match="does not start: no"):
                await pool.dialogue("a", fail, "a")
        await asyncio.sleep(0.002)
        lost = await pool.dialogue("a", begin(), "a")
        pool.lost(lost)
        await until(lambda: not pool._ending)

        assert (pool._sessions.held, pool._holders, pool._open) == (0, {}, {})
        await pool.close()

    asyncio.run(run())


@pytest.mark.parametrize("holder", ["mallory", ""])
def test_a_call_waits_for_a_place_for_a_short_time(holder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "PLACE_S", 0.05)

    async def run() -> None:
        pool = pool_of("call", monkeypatch)
        running = [await pool.single(begin(), holder) for _ in range(1 if holder else 2)]
        assert await refused(pool.single(begin(), holder))
        waiting = asyncio.ensure_future(pool.single(begin(), holder))
        await asyncio.sleep(0)
        pool.close_later(running[0])
        await waiting
        if holder:
            await pool.single(begin(), "alice")

        assert pool._calls.held == 2
        await pool.close()
        assert pool._calls.held == 0

    asyncio.run(run())


def test_a_caller_that_leaves_takes_no_place_along(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        pool = pool_of("call", monkeypatch)
        one = await pool.single(begin(), "mallory")
        starting = asyncio.get_running_loop().create_future()
        left = [
            asyncio.ensure_future(pool.single(begin(), "mallory")),
            asyncio.ensure_future(pool.single(lambda: starting, "alice")),
        ]
        await asyncio.sleep(0.01)
        for task in left:
            task.cancel()
        await asyncio.wait(left)
        pool.close_later(one)
        await until(lambda: not pool._closing)

        assert (pool._calls.held, pool._calls.count) == (0, 0)
        await pool.close()

    asyncio.run(run())


@pytest.mark.parametrize("kind", ["session", "call"])
def test_after_a_failed_start_its_holder_alone_has_a_pause(kind: str) -> None:
    async def run() -> None:
        pool = Pool("s", kind)

        def start(holder: str, begins: Callable[[], Awaitable[ClientSession]]) -> Awaitable[ClientSession]:
            return pool.single(begins, holder) if kind == "call" else pool.dialogue(holder, begins, holder)

        for why in ("no$", "no; the next try is in 1 s"):
            with pytest.raises(Fault, match=why):
                await start("mallory", fail)
        for holder in ("alice", "bob"):
            assert not (await start(holder, begin())).is_lost
        with pytest.raises(Fault, match="the next try is in 1 s"):
            await start("mallory", begin())
        await pool.close()

    asyncio.run(run())


def test_the_holders_of_failed_starts_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "MAX_PAUSES", 3)

    async def run() -> list[str]:
        pool = Pool("s", "call")
        for number in range(10):
            with pytest.raises(Fault):
                await pool.single(fail, f"holder {number}")
        return [*pool._pauses]

    assert asyncio.run(run()) == ["holder 7", "holder 8", "holder 9"]


def test_the_instance_that_all_share_is_common_while_it_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        pool = pool_of("shared", monkeypatch)
        first = await pool.dialogue("a", begin())
        assert (pool.common is first, await pool.dialogue("b", begin()) is first) == (True, True)
        first._lost("gone")
        pool.lost(first)
        assert pool.common is None
        second = await pool.dialogue("a", begin())
        await until(lambda: pool.common is second)

        await pool.close()

        assert pool.common is None

    asyncio.run(run())


@pytest.mark.parametrize("kind", ["session", "call"])
def test_an_instance_of_a_session_or_a_call_is_never_common(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        pool = pool_of(kind, monkeypatch)
        for owner in ("", "a"):
            await pool.dialogue(owner, begin())
        await pool.single(begin())
        await asyncio.sleep(0)

        assert pool.common is None
        await pool.close()

    asyncio.run(run())


def test_an_instance_that_is_lost_as_soon_as_it_has_begun_is_not_common(monkeypatch: pytest.MonkeyPatch) -> None:
    async def lost_at_once() -> ClientSession:
        dialogue = await begin()()
        dialogue._lost("gone")
        return dialogue

    async def run() -> None:
        pool = pool_of("shared", monkeypatch)
        lost = await pool.dialogue("a", lost_at_once)
        await asyncio.sleep(0)

        assert (lost.is_lost, pool.common) == (True, None)
        await pool.close()

    asyncio.run(run())
