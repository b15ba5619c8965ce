"""The table of sessions: how many there may be, and who makes room for whom."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from processes import PATIENCE_S
from signet.kernel.caller import Caller, Principal
from signet.transports.sessions import HttpSession, SessionLimits, SessionTable


def at(address: str) -> Caller:
    return Caller(address=address)


def in_loop(act: Any) -> Any:
    async def bounded() -> Any:
        return await act()

    return asyncio.run(bounded())


def reading(session: HttpSession) -> asyncio.Future[Any]:
    """Read the standing stream of a session until the reader is cancelled."""
    log = session.standing
    reader = log.read()

    async def read() -> None:
        try:
            await log.next(reader)
        finally:
            log.leave(reader)

    return asyncio.ensure_future(read())


def opened(table: SessionTable, caller: Caller) -> HttpSession:
    session = table.open(caller)
    assert session is not None
    return session


def test_ten_thousand_sessions_of_one_address_leave_those_of_others_alone() -> None:
    async def act() -> tuple[int, bool]:
        table = SessionTable()
        bystander = opened(table, at("127.0.0.2"))
        ids = {opened(table, at("127.0.0.1")).agreement.id for _ in range(10_000)}
        assert len(ids) == 10_000
        found = len(table), table.find(bystander.agreement.id, at("127.0.0.2")) is bystander
        await table.close()
        return found

    assert in_loop(act) == (1025, True)


def test_where_all_places_are_taken_the_one_who_has_most_makes_room() -> None:
    async def act() -> tuple[int, list[bool]]:
        table = SessionTable(SessionLimits(sessions=10, per_owner=8))
        few = [opened(table, at("127.0.0.2")) for _ in range(2)]
        many = [opened(table, at("127.0.0.1")) for _ in range(8)]
        opened(table, at("127.0.0.3"))
        found = len(table), [session.is_over for session in (*few, *many)]
        await table.close()
        return found

    assert in_loop(act) == (10, [False, False, True, *[False] * 7])


def test_a_session_in_use_makes_no_room() -> None:
    async def act() -> tuple[bool, bool]:
        table = SessionTable(SessionLimits(per_owner=2))
        busy, idle = opened(table, at("a")), opened(table, at("a"))
        reader = reading(busy)
        await asyncio.sleep(0)
        opened(table, at("a"))
        found = busy.is_over, idle.is_over
        await table.close()
        reader.cancel()
        return found

    assert in_loop(act) == (False, True)


def test_where_the_one_who_has_most_uses_all_the_one_who_has_most_beside_it_makes_room() -> None:
    """Not whoever has used its session the longest ago."""

    async def act() -> tuple[list[bool], list[bool]]:
        table = SessionTable(SessionLimits(sessions=6, per_owner=3))
        alice = opened(table, at("alice"))
        busy = [opened(table, at("mallory")) for _ in range(3)]
        readers = [reading(session) for session in busy]
        idle = [opened(table, at("mallory's second")) for _ in range(2)]
        await asyncio.sleep(0)
        for address in ("another", "another", "mallory's second"):
            opened(table, at(address))
        found = [alice.is_over, *[session.is_over for session in busy]], [session.is_over for session in idle]
        await table.close()
        for reader in readers:
            reader.cancel()
        return found

    assert in_loop(act) == ([False] * 4, [True, True])


def test_where_all_are_in_use_there_is_none_to_be_had() -> None:
    async def act() -> object:
        table = SessionTable(SessionLimits(per_owner=1))
        reader = reading(opened(table, at("a")))
        await asyncio.sleep(0)
        found = table.open(at("a"))
        await table.close()
        reader.cancel()
        return found

    assert in_loop(act) is None


def test_principals_are_counted_by_their_names_and_others_by_their_networks() -> None:
    async def act() -> list[str]:
        table = SessionTable()
        ann = Caller(Principal("ann"), "127.0.0.1")
        found = [opened(table, ann).owner, opened(table, at("127.0.0.1")).owner]
        found += [opened_in(table, "2001:db8::/64").owner]
        await table.close()
        return found

    def opened_in(table: SessionTable, network: str) -> HttpSession:
        session = table.open(at("2001:db8::1"), network)
        assert session is not None
        return session

    assert in_loop(act) == ["principal ann", "127.0.0.1", "2001:db8::/64"]


def test_the_end_of_a_session_is_told_once() -> None:
    async def act() -> list[str]:
        told: list[str] = []
        table = SessionTable()
        session = opened(table, at("a"))
        session.agreement.on_end.append(lambda: told.append("ended"))
        table.end(session)
        table.end(session)
        await table.close()
        await asyncio.sleep(0)
        assert (session.agreement.notify, len(table)) == (None, 0)
        return told

    assert in_loop(act) == ["ended"]


def test_one_sweep_at_a_time_is_due_and_none_after_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    async def act() -> tuple[int, list[bool]]:
        loop = asyncio.get_running_loop()
        due: list[asyncio.TimerHandle] = []
        later = loop.call_later
        monkeypatch.setattr(loop, "call_later", lambda *args: due.append(later(*args)) or due[-1])
        table = SessionTable(SessionLimits(sweep_s=3600))
        for _ in range(3):
            opened(table, at("a"))
        await table.close()
        return len(due), [timer.cancelled() for timer in due]

    assert in_loop(act) == (1, [True])


def test_sessions_are_swept_again_and_again() -> None:
    async def act() -> int:
        table = SessionTable(SessionLimits(sweep_s=0.001, idle_s=0))
        session = opened(table, at("a"))
        reader = reading(session)
        await asyncio.sleep(0)
        opened_s = session.used_s
        async with asyncio.timeout(PATIENCE_S):
            while session.used_s == opened_s:  # noqa: ASYNC110 - a sweep tells nobody
                await asyncio.sleep(0.001)
            reader.cancel()
            while len(table):  # noqa: ASYNC110
                await asyncio.sleep(0.001)
        return len(table)

    assert in_loop(act) == 0


def test_the_limits_of_standing_streams_hold_for_one_owner_and_for_all() -> None:
    async def act() -> list[bool]:
        table = SessionTable(SessionLimits(standing=2, standing_per_owner=1))
        a, again, b, c = (opened(table, at(name)) for name in ("a", "a", "b", "c"))
        found, readers = [table.may_stand(a)], []
        for session in (a, b):
            readers.append(reading(session))
            await asyncio.sleep(0)
            found += [table.may_stand(one) for one in (a, again, b, c)]
        await table.close()
        for reader in readers:
            reader.cancel()
        return found

    assert in_loop(act) == [True, *(True, False, True, True), *(True, False, True, False)]
