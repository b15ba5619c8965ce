"""Turns that processes share: a store that forgets, the file of a machine, and requests that wait for both."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest

from planted_files import OBSTACLES, obstruct
from processes import PATIENCE_S
from redis_server import RedisServer, redis_server
from signet.kernel.errors import Code, Fault
from signet.kernel.turns import Turns, TurnsError
from signet.operations.store.address import parse_address
from signet.operations.store.redis_store import RedisStore
from signet.operations.store.turns import StoreTurns
from signet.upstream import pace
from signet.upstream.machine_turns import FILE, MachineTurns, turn_folders
from signet.upstream.pace import Pace

LONG_S = 3600.0
Act = Callable[[Turns], Awaitable[None]]


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server


# --- the store


def ask(redis: RedisServer, act: Act) -> None:
    async def main() -> None:
        store = RedisStore(parse_address(redis.url))
        try:
            await act(StoreTurns(store))
        finally:
            await store.close()

    asyncio.run(main())


def test_a_store_that_knows_nothing_of_a_service_lets_nobody_in_for_an_interval(redis: RedisServer) -> None:
    """It may have been restarted, and a request may have been sent just before."""
    redis.cli("FLUSHALL")

    async def act(turns: Turns) -> None:
        assert await turns.take("bank", "a", LONG_S) == pytest.approx(LONG_S, abs=PATIENCE_S)

    ask(redis, act)


def test_a_store_that_was_restarted_with_an_old_memory_lets_nobody_in_for_an_interval() -> None:
    """What it has saved may be older than the last request."""
    with redis_server() as redis:

        async def before(turns: Turns) -> None:
            await turns.take("bank", "a", 0)
            assert await turns.take("bank", "a", 0) == 0

        ask(redis, before)
        redis.cli("SAVE")
        redis.restart()
        assert list(redis.keys()) == ["signet:{bank}:turn"]

        async def after(turns: Turns) -> None:
            assert await turns.start("bank", "a", 0) is False
            assert await turns.take("bank", "a", LONG_S) > 0

        ask(redis, after)


def test_a_time_that_is_to_come_is_not_believed(redis: RedisServer) -> None:
    """As after the clock of the server was set back by hours."""

    async def act(turns: Turns) -> None:
        await turns.take("bank", "a", 0)
        redis.cli("HSET", "signet:{bank}:turn", "sent", "9000000000000000")
        assert 0 < await turns.take("bank", "a", 10.0) <= 10

    ask(redis, act)


# --- the machine


@pytest.mark.parametrize(
    "row",
    [
        ("another boot", 0, "-", 0),
        ("{boot}", 10**18, "-", 0),
        ("{boot}", -2, "-", 0),
        ("{boot}", 0, "a", 10**18),
        ("{boot}", "0", "-", 0),
        ("{boot}", None, None, None),
        (b"\xff", b"\xff", b"\xff", b"\xff"),
    ],
    ids=["another boot", "sent in time to come", "sent before time", "held for ever", "texts", "nothing", "bytes"],
)
def test_a_state_that_cannot_be_true_counts_as_a_request_sent_now(tmp_path: Path, row: tuple[object, ...]) -> None:
    asyncio.run(MachineTurns(lambda: [str(tmp_path)]).take("bank", "a", 0))
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    values = [value.replace("{boot}", boot) if isinstance(value, str) else value for value in row]
    with closing(sqlite3.connect(tmp_path / FILE)) as database, database:
        database.execute("UPDATE turns SET boot = ?, sent_ns = ?, owner = ?, until_ns = ? WHERE name = 'bank'", values)

    async def act() -> None:
        turns = MachineTurns(lambda: [str(tmp_path)])
        assert await turns.take("bank", "a", LONG_S) == pytest.approx(LONG_S, abs=PATIENCE_S)
        # It was mended: the interval goes on and does not begin anew.
        assert await turns.take("bank", "a", 0) == 0

    asyncio.run(act())


def _foreign(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        for statement in statements:
            database.execute(statement)


def _damaged(path: Path) -> None:
    asyncio.run(MachineTurns(lambda: [str(path.parent)]).take("bank", "a", 0))
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))


def _without_an_end(path: Path) -> None:
    asyncio.run(MachineTurns(lambda: [str(path.parent)]).take("bank", "a", 0))
    path.write_bytes(path.read_bytes()[:5000])


BROKEN: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "a word": lambda path: path.write_bytes(b"garbage"),
    "slots, as version 0.2 kept them": lambda path: path.write_bytes((b"boot 1 - 0\n".ljust(128)) * 1025),
    "bytes": lambda path: path.write_bytes(os.urandom(100_000)),
    "damaged": _damaged,
    "without an end": _without_an_end,
    "other tables": lambda path: _foreign(path, "CREATE TABLE other (a)"),
    "a table of the name": lambda path: _foreign(path, "CREATE TABLE turns (a)"),
    "a view of the name": lambda path: _foreign(path, "CREATE TABLE t (a)", "CREATE VIEW turns AS SELECT * FROM t"),
    "a log ahead": lambda path: _foreign(path, "PRAGMA journal_mode = WAL", "CREATE TABLE turns (a)"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_file_that_is_broken_or_foreign_is_replaced_and_counts_as_a_request_sent_now(
    tmp_path: Path, kind: str
) -> None:
    BROKEN[kind](tmp_path / FILE)

    async def act() -> None:
        turns = MachineTurns(lambda: [str(tmp_path)])
        assert await turns.take("bank", "a", LONG_S) == pytest.approx(LONG_S, abs=PATIENCE_S)
        assert await turns.take("bank", "a", 0) == 0
        assert await turns.start("bank", "a", 0) is True

    asyncio.run(act())


def test_a_file_that_breaks_while_a_turn_is_held_takes_the_turn_with_it(tmp_path: Path) -> None:
    async def act() -> None:
        turns = MachineTurns(lambda: [str(tmp_path)])
        await turns.take("bank", "a", 0)
        await turns.take("bank", "a", 0)
        (tmp_path / FILE).write_bytes(b"garbage")
        assert await turns.start("bank", "a", 0) is False
        assert await turns.take("bank", "a", LONG_S) > 0

    asyncio.run(act())


def test_a_file_that_another_process_has_locked_is_waited_for_and_then_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("signet.upstream.machine_turns.MAX_LOCKED_S", 0.1)

    async def act() -> None:
        turns = MachineTurns(lambda: [str(tmp_path)])
        await turns.take("bank", "a", 0)
        with closing(sqlite3.connect(tmp_path / FILE, isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            with pytest.raises(TurnsError, match="does not give up the file of turns"):
                await turns.take("bank", "a", 0)
            waiting = asyncio.ensure_future(turns.take("bank", "a", 0))
            await asyncio.sleep(0)
            other.execute("COMMIT")
            assert await waiting == 0

    asyncio.run(act())


@pytest.mark.parametrize("kind", OBSTACLES)
def test_nothing_but_a_file_of_ours_is_used(tmp_path: Path, kind: str) -> None:
    is_intact = obstruct(tmp_path / "first" / FILE, kind, tmp_path / "aside")
    folders = [str(tmp_path / "first"), str(tmp_path / "second")]

    asyncio.run(MachineTurns(lambda: folders).take("bank", "a", 0))

    assert is_intact()
    assert (tmp_path / "second" / FILE).is_file()


def test_the_services_of_the_oldest_requests_are_dropped_and_count_as_sent_when_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_ns = [1_000_000_000_000]
    monkeypatch.setattr("signet.upstream.machine_turns.MAX_SERVICES", 3)

    async def act() -> None:
        turns = MachineTurns(lambda: [str(tmp_path / "new")], clock_ns=lambda: now_ns[0])
        for number in range(6):
            now_ns[0] += 1_000_000_000
            assert await turns.take(f"service {number}", "a", 0) == 0
            await turns.start(f"service {number}", "a", 0)
        # Three seconds ago the request of the last one that was dropped was sent.
        assert await turns.take("service 0", "b", 10.0) == pytest.approx(7.0)
        assert await turns.take("service 5", "b", 10.0) == pytest.approx(10.0)

    asyncio.run(act())

    with closing(sqlite3.connect(tmp_path / "new" / FILE)) as database:
        names = [name for (name,) in database.execute("SELECT name FROM turns ORDER BY name")]
    assert names == ["", "service 3", "service 4", "service 5"]


def test_thousands_of_services_of_an_earlier_boot_are_dropped_at_once_and_hold_up_no_turn(tmp_path: Path) -> None:
    async def act() -> None:
        turns = MachineTurns(lambda: [str(tmp_path)])
        await turns.take("bank", "a", 0)
        with closing(sqlite3.connect(tmp_path / FILE)) as database, database:
            rows = [(f"service {number}", "earlier", 10**18 + number, "-", 0) for number in range(4000)]
            database.executemany("INSERT INTO turns VALUES (?, ?, ?, ?, ?)", rows)
        assert await turns.take("shop", "b", 0) == 0
        assert await turns.start("shop", "b", 0) is True
        assert await turns.take("unknown", "c", LONG_S) == pytest.approx(LONG_S, abs=PATIENCE_S)

    asyncio.run(act())

    with closing(sqlite3.connect(tmp_path / FILE)) as database:
        assert database.execute("SELECT count(*) FROM turns").fetchone() == (1025,)


def test_the_first_process_of_a_new_machine_need_not_wait(tmp_path: Path) -> None:
    turns = MachineTurns(lambda: [str(tmp_path / "new")])

    assert asyncio.run(turns.take("bank", "me", 60.0)) == 0.0


@pytest.mark.parametrize(
    ("removed", "who"),
    [("file", "knows it"), ("file", "is old"), ("file", "is new"), ("folder", "knows it"), ("folder", "is old")],
)
def test_a_file_that_was_removed_counts_as_a_request_sent_now(tmp_path: Path, removed: str, who: str) -> None:
    now_ns = [1_000_000_000_000]
    folder = tmp_path / "cache"

    def turns() -> MachineTurns:
        return MachineTurns(lambda: [str(folder)], clock_ns=lambda: now_ns[0])

    async def main() -> None:
        first, other = turns(), turns()
        assert await first.take("bank", "first", 3.0) == 0.0
        assert await first.start("bank", "first", 0.0)
        if who == "knows it":
            assert await other.take("bank", "other", 3.0) > 0
        now_ns[0] += 2_000_000_000
        await first.end("bank", "first")
        if removed == "file":
            (folder / FILE).unlink()
        else:
            shutil.rmtree(folder)
        asking = turns() if who == "is new" else other
        assert await asking.take("bank", "other", 3.0) == pytest.approx(3.0)
        assert await first.take("bank", "first", 3.0) == pytest.approx(3.0)
        now_ns[0] += 3_000_000_000
        assert await asking.take("bank", "other", 3.0) == 0.0
        assert await first.take("bank", "first", 3.0) > 0

    asyncio.run(main())


def test_a_process_that_knew_a_file_before_notes_that_the_new_one_takes_its_place(tmp_path: Path) -> None:
    """The process that made the new one took the machine for a new one, since there was no folder."""
    folder = tmp_path / "cache"

    async def main() -> None:
        old = MachineTurns(lambda: [str(folder)])
        assert await old.take("bank", "old", 0) == 0
        shutil.rmtree(folder)
        new = MachineTurns(lambda: [str(folder)])
        assert await new.take("other", "new", LONG_S) == 0
        assert await old.take("bank", "old", LONG_S) == pytest.approx(LONG_S, abs=PATIENCE_S)

    asyncio.run(main())


def test_a_folder_that_cannot_be_used_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    asyncio.run(MachineTurns(lambda: [str(tmp_path / "file"), str(tmp_path / "second")]).take("bank", "a", 0))

    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "second").iterdir()}
    assert modes == {"turns.sqlite": 0o600, "turns.sqlite-journal": 0o600}


def test_without_a_folder_one_process_goes_on_alone_and_several_refuse(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    folders = [str(tmp_path / "file")]

    async def act() -> None:
        alone = MachineTurns(lambda: folders)
        assert await alone.take("bank", "a", LONG_S) == 0
        assert await alone.start("bank", "a", 0) is True
        await alone.end("bank", "a")
        with pytest.raises(TurnsError, match="XDG_CACHE_HOME"):
            await MachineTurns(lambda: folders, 2).take("bank", "a", LONG_S)

    asyncio.run(act())


def test_the_file_is_in_the_users_cache_or_in_a_private_folder_for_temporary_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    first, second = turn_folders()

    assert first == str(tmp_path / "signet")
    assert second.endswith(f"signet-{os.geteuid()}")


SENDING = """
import asyncio, sys, time
from signet.upstream.machine_turns import MachineTurns
from signet.upstream.pace import Pace

looked = []

def clock_ns():
    looked[:] = [time.monotonic_ns()]
    return looked[0]

async def main():
    turns = MachineTurns(lambda: [sys.argv[1]], 4, clock_ns)
    pace = Pace(0.02, "bank", "bank", [turns])
    for _ in range(int(sys.argv[2])):
        slot = await pace.slot()
        await slot.start()
        print(looked[0], flush=True)

asyncio.run(main())
"""


def sending(folder: Path, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SENDING, str(folder), str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8")


def test_processes_of_a_machine_take_turns_and_one_that_is_killed_or_stopped_holds_nobody_up(
    tmp_path: Path,
) -> None:
    """By the times at which each of them was told that its turn begins."""
    stopped, killed, *others = [sending(tmp_path, count) for count in (10_000, 10_000, 25, 25)]
    lines = []
    for process, number in ((stopped, signal.SIGSTOP), (killed, signal.SIGKILL)):
        assert process.stdout is not None
        lines.append(process.stdout.readline())
        process.send_signal(number)
    for process in others:
        lines += process.communicate(timeout=PATIENCE_S)[0].splitlines()
    for process in (stopped, killed):
        process.kill()
        lines += process.communicate()[0].splitlines()

    times = sorted(map(int, lines))
    assert len(times) >= 52
    assert min(later - earlier for earlier, later in pairwise(times)) >= 20_000_000


# --- the limiter


class Away:
    """Turns that cannot be had, until they can."""

    def __init__(self, failures: int) -> None:
        self.left = failures
        self.events: list[str] = []

    async def take(self, _: str, __: str, ___: float) -> float:
        if self.left:
            self.left -= 1
            raise TurnsError("the store at host:1 cannot be asked (no connection)")
        self.events.append("take")
        return 0.0

    async def start(self, _: str, __: str, ___: float) -> bool:
        self.events.append("start")
        return True

    async def end(self, _: str, __: str) -> None:
        self.events.append("end")


def test_requests_wait_for_turns_that_cannot_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "RETRY_S", 0.001)
    turns = Away(3)

    async def act() -> None:
        slot = await Pace(0.01, "the Bank", "bank", [turns]).slot()
        await slot.start()
        slot.release()

    asyncio.run(act())

    assert turns.events == ["take", "start"]


def test_after_some_time_they_fail_with_advice_and_those_behind_fail_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "RETRY_S", 0.001)
    monkeypatch.setattr(pace, "PATIENCE_S", 0.2)
    turns = Away(1_000_000)

    async def act() -> list[BaseException]:
        paced = Pace(0.01, "the Bank", "bank", [turns])
        first = await asyncio.gather(paced.slot(), return_exceptions=True)
        asked = turns.left
        rest = await asyncio.gather(*(paced.slot() for _ in range(10)), return_exceptions=True)
        assert asked - turns.left == 10
        return [one for one in (*first, *rest) if isinstance(one, BaseException)]

    faults = asyncio.run(act())

    assert len(faults) == 11
    for fault in faults:
        assert isinstance(fault, Fault)
        assert (fault.code, fault.name) == (Code.INTERNAL_ERROR, "UPSTREAM_FAILED")
        assert fault.message == (
            "request failed: no turn to ask the Bank, the store at host:1 cannot be asked (no connection);"
            " try again in some seconds"
        )


def test_a_request_that_never_got_out_gives_its_turn_back() -> None:
    turns = Away(0)

    async def act() -> None:
        slot = await Pace(0.01, "the Bank", "bank", [turns]).slot()
        slot.release()
        for _ in range(1000):
            if len(turns.events) == 2:
                break
            await asyncio.sleep(0.01)

    asyncio.run(act())

    assert turns.events == ["take", "end"]
