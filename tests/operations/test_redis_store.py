"""The store on real Redis servers: alone, behind a password, TLS and a sentinel, as a cluster; killed, paused, back."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import ssl
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from limit_counts import LimitCounts
from limit_harness import call, entered, tool
from processes import PATIENCE_S, ROOT, run, serving, serving_command
from redis_server import SERVICE, RedisServer, redis_cluster, redis_sentinel, redis_server, write_certificate
from signet.kernel.caller import CALLER, Caller
from signet.kernel.errors import Fault
from signet.kernel.gate import Entry
from signet.kernel.outcome import Outcome
from signet.operations.limits.gate import LimitGate
from signet.operations.limits.idempotency import IdempotencyGate
from signet.operations.limits.outage import StoreOutage
from signet.operations.limits.policy import read_policy
from signet.operations.store import redis_client, redis_store
from signet.operations.store.address import parse_address
from signet.operations.store.redis_client import close_client, open_client
from signet.operations.store.redis_store import RedisStore
from signet.operations.store.store import Bucket, Decision, Kept, StoreError
from signet.settings.model import Settings, open_log
from signet.settings.usage import UsageError
from signet.team.shared import open_store

CANARY = "pass-word-canary-71"
DAY_S = 86_400
ANSWER_S = 1.0
"""How long the product waits for an answer."""


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server


@pytest.fixture(autouse=True)
def _empty(redis: RedisServer) -> None:
    redis.cli("FLUSHALL")


@pytest.fixture(scope="module")
def running_cluster() -> Iterator[list[RedisServer]]:
    with redis_cluster() as nodes:
        yield nodes


@pytest.fixture
def cluster(running_cluster: list[RedisServer]) -> list[RedisServer]:
    """The nodes of a cluster without a key."""
    for node in running_cluster:
        node.cli("FLUSHALL")
    return running_cluster


@contextlib.asynccontextmanager
async def opened(
    url: str, on_change: Callable[[str], None] = lambda _: None, answer_s: float = PATIENCE_S
) -> AsyncIterator[RedisStore]:
    """Use a store; an answer may take as long as a busy machine needs, unless a test is about one that stays away."""
    limits = (
        mock.patch.object(redis_client, "ANSWER_S", answer_s),
        mock.patch.object(redis_store, "LIMIT_S", 2 * answer_s),
    )
    with limits[0], limits[1]:
        store = RedisStore(parse_address(url), on_change)
        try:
            yield store
        finally:
            # Nobody in these tests is going to tell of the end of a call.
            store._runners.clear()
            await store.close()


def with_store(url: str, act: Callable[[RedisStore], Awaitable[None]]) -> None:
    async def main() -> None:
        async with opened(url) as store:
            await act(store)

    asyncio.run(main())


# --- limits


def test_a_rate_lets_a_burst_in_and_then_says_how_long_to_wait(redis: RedisServer) -> None:
    bucket = Bucket("principal:alice", 2, 3600.0)

    async def act(store: RedisStore) -> None:
        decisions = [await store.decide([bucket]) for _ in range(3)]

        assert [decision.refused for decision in decisions] == [None, None, 0]
        assert [decision.remaining for decision in decisions] == [1, 0, 0]
        assert 1700 < decisions[2].retry_after_s <= 1800

    with_store(redis.url, act)


def test_a_burst_smaller_than_the_count_is_all_that_comes_at_once(redis: RedisServer) -> None:
    async def act(store: RedisStore) -> None:
        decisions = [await store.decide([Bucket("principal:alice", 60, 3600.0, 3)]) for _ in range(4)]

        assert [decision.refused for decision in decisions] == [None, None, None, 0]

    with_store(redis.url, act)


def test_a_caller_that_waits_as_long_as_it_is_told_is_let_in(redis: RedisServer) -> None:
    bucket = Bucket("principal:alice", 1, 0.3)

    async def act(store: RedisStore) -> None:
        assert (await store.decide([bucket])).refused is None
        refused = await store.decide([bucket])
        assert refused.refused == 0
        await asyncio.sleep(refused.retry_after_s)
        assert (await store.decide([bucket])).refused is None

    with_store(redis.url, act)


def test_a_quota_counts_the_calls_of_a_utc_day_and_ends_with_it(redis: RedisServer) -> None:
    async def act(store: RedisStore) -> None:
        decisions = [await store.decide([Bucket("principal:alice", 2)]) for _ in range(3)]
        left_s = DAY_S - time.time() % DAY_S

        assert [decision.refused for decision in decisions] == [None, None, 0]
        assert abs(decisions[2].retry_after_s - left_s) < 60

    with_store(redis.url, act)
    [left_ms] = redis.keys().values()
    assert 0 < left_ms <= DAY_S * 1000


def test_no_bucket_is_charged_by_a_call_that_one_of_them_refuses(redis: RedisServer) -> None:
    wide, narrow = Bucket("principal:alice", 10, 3600.0), Bucket("tool:a:principal:alice", 1, 3600.0)

    async def act(store: RedisStore) -> None:
        assert await store.decide([wide, narrow]) == Decision(remaining=0)
        for _ in range(5):
            assert (await store.decide([wide, narrow])).refused == 1
        assert await store.decide([wide]) == Decision(remaining=8)

    with_store(redis.url, act)


def test_the_bucket_with_the_longest_wait_is_the_one_that_is_named(redis: RedisServer) -> None:
    short, long = Bucket("tool:a:principal:alice", 1, 60.0), Bucket("principal:alice", 1, 3600.0)

    async def act(store: RedisStore) -> None:
        await store.decide([short, long])
        refused = await store.decide([short, long])

        assert refused.refused == 1
        assert 3500 < refused.retry_after_s <= 3600

    with_store(redis.url, act)


def test_a_rate_and_a_quota_of_one_caller_do_not_share_a_key(redis: RedisServer) -> None:
    both = [Bucket("principal:alice", 5, 3600.0), Bucket("principal:alice", 5)]

    async def act(store: RedisStore) -> None:
        assert await store.decide(both) == Decision(remaining=4)

    with_store(redis.url, act)
    assert len(redis.keys()) == 2


def test_a_bucket_that_claims_to_be_empty_in_years_is_not_believed(redis: RedisServer) -> None:
    """As after the clock of the server was set back."""

    async def act(store: RedisStore) -> None:
        await store.decide([Bucket("principal:alice", 1, 60.0)])
        [key] = redis.keys()
        redis.cli("SET", key, "9000000000000000", "PX", "60000")
        assert (await store.decide([Bucket("principal:alice", 1, 60.0)])).retry_after_s <= 60

    with_store(redis.url, act)


COUNTING = """
import asyncio, sys
from signet.operations.store.address import parse_address
from signet.operations.store.redis_store import RedisStore
from signet.operations.store.store import Bucket

async def main():
    store = RedisStore(parse_address(sys.argv[1]))
    buckets = [Bucket("principal:alice", 50, 3600.0), Bucket("principal:alice", 1000)]
    await store.read("warm")
    print("ready", flush=True)
    sys.stdin.readline()
    decisions = await asyncio.gather(*(store.decide(buckets) for _ in range(50)))
    print(sum(decision.refused is None for decision in decisions), flush=True)
    await store.close()

asyncio.run(main())
"""


def test_a_limit_is_exact_to_one_call_over_four_processes(redis: RedisServer) -> None:
    """200 calls at once against a limit of 50."""
    command = [sys.executable, "-c", COUNTING, redis.url]
    processes = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8") for _ in range(4)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"

    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    outs = [process.communicate(timeout=PATIENCE_S)[0] for process in processes]

    assert sum(map(int, outs)) == 50
    [quota] = [key for key in list(redis.keys()) if ":day:" in key]
    assert redis.cli("GET", quota).strip().endswith(":50")


# --- idempotency keys, cache, turns


def test_a_key_has_one_runner_one_answer_and_no_other_arguments(redis: RedisServer) -> None:
    async def act(store: RedisStore) -> None:
        assert await store.begin("k", "one", "a", 60) == Kept("new")
        assert await store.begin("k", "one", "b", 60) == Kept("running")
        assert await store.begin("k", "two", "c", 60) == Kept("conflict")
        assert await store.begin("k", "one", "a", 60) == Kept("new"), "it was not told, and asks again"
        await store.finish("k", "one", "a", b"\x00answer", 60)
        assert await store.begin("k", "one", "a", 60) == Kept("done", b"\x00answer")
        assert await store.begin("k", "two", "b", 60) == Kept("conflict")

    with_store(redis.url, act)


def test_a_call_that_failed_or_whose_runner_died_can_be_made_again(redis: RedisServer) -> None:
    async def act(store: RedisStore) -> None:
        await store.begin("failed", "one", "a", 60)
        await store.finish("failed", "one", "a", None, 60)
        assert await store.begin("failed", "one", "b", 60) == Kept("new")
        await store.finish("failed", "one", "b", None, 60)

        await store.begin("died", "one", "dead", 0.05)
        await asyncio.sleep(0.1)
        assert await store.begin("died", "one", "alive", 60) == Kept("new")
        await store.finish("died", "one", "dead", None, 60)
        await store.finish("died", "one", "dead", b"late", 60)
        assert await store.begin("died", "one", "third", 60) == Kept("running")
        await store.finish("died", "one", "alive", b"answer", 60)
        assert await store.begin("died", "one", "third", 60) == Kept("done", b"answer")

    with_store(redis.url, act)


def test_a_store_is_closed_when_those_who_run_a_call_have_told_of_its_end(redis: RedisServer) -> None:
    async def main() -> None:
        store = RedisStore(parse_address(redis.url))
        assert await store.begin("k", "one", "a", 60) == Kept("new")
        closing = asyncio.ensure_future(store.close())
        for _ in range(3):
            await asyncio.sleep(0)
        assert not closing.done()
        await store.finish("k", "one", "a", None, 60)
        await closing

    asyncio.run(main())

    assert redis.keys() == {}


def test_of_many_who_begin_at_once_one_is_the_runner(redis: RedisServer) -> None:
    async def act(store: RedisStore) -> None:
        kept = await asyncio.gather(*(store.begin("k", "one", str(number), 60) for number in range(100)))

        assert sorted(one.state for one in kept) == ["new", *["running"] * 99]

    with_store(redis.url, act)


def test_the_cache_keeps_bytes_for_a_time_and_nothing_that_is_too_large(redis: RedisServer) -> None:
    async def act(store: RedisStore) -> None:
        await store.write("a", b"\xff\x00", 60)
        await store.write("short", b"x", 0.05)
        await store.write("large", bytes(8_388_609), 60)
        await asyncio.sleep(0.1)

        assert [await store.read(key) for key in ("a", "short", "large", "never")] == [b"\xff\x00", None, None, None]

    with_store(redis.url, act)


def test_every_key_has_a_time_to_live_and_a_hash_tag(redis: RedisServer) -> None:
    async def act(store: RedisStore) -> None:
        odd = "principal:al{i}ce " + "x" * 300
        await store.decide([Bucket("principal:alice", 5, 60.0), Bucket("tool:a:principal:alice", 5)])
        await store.decide([Bucket(odd, 5, 60.0), Bucket(f"tool:a:{odd}", 5)])
        await store.begin("a", "one", "a", 60, holder="principal al{i}ce")
        await store.begin("b", "one", "b", 60)
        await store.finish("b", "one", "b", b"x", 60)
        await store.take("bank", "me", 1.0)
        await store.write("c", b"x", 60)

    with_store(redis.url, act)
    keys = redis.keys()

    assert len(keys) == 12
    assert {name: left_ms for name, left_ms in keys.items() if left_ms <= 0} == {}
    assert [
        name for name in keys if not (name.startswith("signet:{") and name.count("{") == name.count("}") == 1)
    ] == []


# --- scripts, restarts, absence


def test_of_those_who_wait_to_ask_the_caller_that_asks_least_is_next(redis: RedisServer) -> None:
    order: list[str] = []

    async def act(store: RedisStore) -> None:
        async def ask(address: str) -> None:
            CALLER.set(Caller(address=address))
            await store.decide([Bucket(f"address:{address}", 1000, 60.0)])
            order.append(address)

        await asyncio.gather(*(ask("127.0.0.2") for _ in range(300)), ask("127.0.0.3"))

    with_store(redis.url, act)

    assert len(order) == 301
    # Behind those that ran already, and those that ended with it.
    assert order.index("127.0.0.3") < 100


def test_a_server_that_was_restarted_learns_the_scripts_again(redis: RedisServer) -> None:
    async def act(store: RedisStore) -> None:
        await store.decide([Bucket("principal:alice", 5, 60.0)])
        redis.cli("SCRIPT", "FLUSH")
        assert (await store.decide([Bucket("principal:alice", 5, 60.0)])).refused is None
        redis.restart()
        assert (await store.decide([Bucket("principal:alice", 5, 60.0)])).refused is None

    with_store(redis.url, act)


@pytest.mark.parametrize("how", ["kill", "pause"])
def test_a_store_that_is_away_fails_at_once_and_comes_back_by_itself(how: str) -> None:
    changes: list[str] = []
    bucket = Bucket("principal:alice", 1_000_000, 60.0)

    async def main(redis: RedisServer) -> None:
        # Who is killed refuses at once, who is paused is given up after a second.
        async with opened(redis.url, changes.append, ANSWER_S if how == "pause" else PATIENCE_S) as store:
            await store.decide([bucket])
            redis.kill() if how == "kill" else redis.pause()
            # No pile-up: those behind the first few fail without a question.
            results = await asyncio.gather(*(store.decide([bucket]) for _ in range(500)), return_exceptions=True)
            assert {type(result) for result in results} == {StoreError}
            assert len(changes) == 1

            redis.start() if how == "kill" else redis.resume()
            deadline = time.monotonic() + PATIENCE_S
            while len(changes) == 1:
                assert time.monotonic() < deadline
                with contextlib.suppress(StoreError):
                    await store.decide([bucket])
                await asyncio.sleep(0.02)

    with redis_server() as redis:
        asyncio.run(main(redis))

    assert changes == [{"kill": "no connection", "pause": "no answer within 1 s"}[how], ""]


def test_while_a_store_is_away_one_question_at_a_time_reaches_for_it() -> None:
    """The others are refused before they could wait for a connection."""
    tried = []

    async def main() -> None:
        async with opened("redis://127.0.0.1:1/0") as store:
            with pytest.raises(StoreError):
                await store.read("first")
            client = store._client

            class Counting:
                async def get(self, _: str) -> bytes:
                    tried.append(1)
                    await asyncio.sleep(0.05)
                    raise ConnectionError

            store._client = Counting()  # type: ignore[assignment] # what counts the questions
            await asyncio.sleep(0.6)
            await asyncio.gather(*(store.read("next") for _ in range(50)), return_exceptions=True)
            store._client = client

    asyncio.run(main())

    assert len(tried) == 1


# --- ways to a server


def use(url: str) -> None:
    async def act(store: RedisStore) -> None:
        assert (
            await store.decide([Bucket("principal:alice", 5, 60.0), Bucket("tool:a:principal:alice", 9)])
        ) == Decision(remaining=4)
        assert await store.begin("key", "one", "a", 60) == Kept("new")
        await store.write("a", b"b", 60)
        assert await store.read("a") == b"b"

    with_store(url, act)


def test_valkey_schemes_and_sockets_reach_the_same_server(redis: RedisServer) -> None:
    use(f"valkey://127.0.0.1:{redis.port}")
    redis.cli("FLUSHALL")
    use(f"unix://{redis.socket}?db=0")


def test_a_password_opens_the_store_and_a_wrong_one_is_not_repeated() -> None:
    with redis_server(password=CANARY) as redis:
        use(f"redis://:{CANARY}@127.0.0.1:{redis.port}/0")

        async def act(store: RedisStore) -> None:
            with pytest.raises(StoreError) as raised:
                await store.read("a")
            assert str(raised.value) == (
                f"the store at 127.0.0.1:{redis.port} cannot be asked (it refuses the user or the password)"
            )
            assert raised.value.__cause__ is None

        with_store(f"redis://user:{CANARY}-wrong@127.0.0.1:{redis.port}/0", act)


def test_a_user_needs_no_more_rights_than_the_page_says(redis: RedisServer) -> None:
    page = (ROOT / "docs/shared-state.md").read_text(encoding="utf-8")
    rights = next(text for text in page.split("`") if text.startswith("+@read"))
    redis.cli("ACL", "SETUSER", "signet", "on", f">{CANARY}", "~signet:*", *rights.split())

    use(f"redis://signet:{CANARY}@127.0.0.1:{redis.port}/0")

    async def act(store: RedisStore) -> None:
        for _ in range(2):
            await store.take("bank", "a", 0)
        assert await store.start("bank", "a", 0) is True

    with_store(f"redis://signet:{CANARY}@127.0.0.1:{redis.port}/0", act)


def test_tls_is_checked_against_an_authority(tmp_path: Path) -> None:
    write_certificate(tmp_path)
    with redis_server(tls_folder=tmp_path) as redis:
        use(f"rediss://localhost:{redis.port}/0?ca={tmp_path / 'cert.pem'}")

        async def act(store: RedisStore) -> None:
            with pytest.raises(StoreError, match="no connection"):
                await store.read("a")

        with_store(f"rediss://localhost:{redis.port}/0", act)
        redis.cli("FLUSHALL")
        use(f"valkeys://127.0.0.1:{redis.port}/0?verify=no")


def test_all_connections_over_tls_share_one_context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_certificate(tmp_path)
    made: list[int] = []
    original = ssl.create_default_context

    def make() -> ssl.SSLContext:
        made.append(1)
        return original()

    async def act(store: RedisStore) -> None:
        decisions = await asyncio.gather(*(store.decide([Bucket("principal:alice", 20, 3600.0)]) for _ in range(32)))

        assert sum(decision.refused is None for decision in decisions) == 20

    monkeypatch.setattr(ssl, "create_default_context", make)
    with redis_server(tls_folder=tmp_path) as redis:
        with_store(f"rediss://localhost:{redis.port}/0?ca={tmp_path / 'cert.pem'}", act)

    assert made == [1]


@pytest.mark.parametrize("url", ["rediss+sentinel://127.0.0.1/mymaster", "rediss+cluster://127.0.0.1"])
def test_sentinels_and_clusters_share_one_context_too(url: str) -> None:
    async def main() -> None:
        client: Any = open_client(parse_address(url))
        pool = getattr(client, "connection_pool", None)
        if pool is None:
            options = client.nodes_manager.connection_kwargs | {"host": "127.0.0.1", "port": 1}
            kinds = [*(node.connection_class for node in client.startup_nodes), options.pop("connection_class")]
            connections = [kind(**client.startup_nodes[0].connection_kwargs) for kind in kinds]
        else:
            pools = [pool, *(sentinel.connection_pool for sentinel in pool.sentinel_manager.sentinels)]
            connections = [one.connection_class(**one.connection_kwargs) for one in pools]
        contexts = {id(connection.ssl_context.get()) for connection in connections}
        await close_client(client)

        assert len(connections) == 2
        assert len(contexts) == 1

    asyncio.run(main())


def test_a_file_of_tls_that_is_not_there_stops_the_start(tmp_path: Path) -> None:
    settings = Settings(store=f"rediss://localhost:1/0?ca={tmp_path / 'none.pem'}")

    with pytest.raises(UsageError, match=r"--store \(SIGNET_STORE\): .*No such file"):
        open_store(settings, open_log(settings))


def test_a_sentinel_says_where_the_master_is() -> None:
    with redis_server(password=CANARY) as master, redis_sentinel(master) as sentinel:
        use(f"redis+sentinel://:{CANARY}@127.0.0.1:{sentinel.port}/{SERVICE}/0")

        assert len(master.keys()) == 7


def test_a_cluster_has_the_keys_of_one_caller_in_one_slot(cluster: list[RedisServer]) -> None:
    callers = [f"user-{number}" for number in range(30)]

    async def act(store: RedisStore) -> None:
        for name in callers:
            buckets = [Bucket(f"principal:{name}", 5, 60.0), Bucket(f"tool:a:principal:{name}", 1)]
            assert (await store.decide(buckets)).refused is None
            assert (await store.decide(buckets)).refused == 1
            assert await store.begin(name, "one", "a", 60, holder=f"principal {name}") == Kept("new")
        await store.take("bank", "me", 0.0)

    hosts = ",".join(f"127.0.0.1:{node.port}" for node in cluster[:2])
    with_store(f"redis+cluster://{hosts}", act)
    names = [node.cli("--scan").split() for node in cluster]
    sizes = list(map(len, names))
    rooms = {name.split("}")[0] for mine in names for name in mine if name.startswith("signet:{keys-")}

    # For each caller two buckets, its entries and their order; for each room of callers what all of them have there.
    assert sum(sizes) == 4 * len(callers) + 2 * len(rooms) + 1
    assert 8 <= len(rooms) <= 16
    assert min(sizes) > 0


def test_on_a_cluster_a_limit_that_all_share_holds_beside_others(cluster: list[RedisServer]) -> None:
    table = {"rate": "100/h", "quota": 50, "tools": {"odd.fine": {"rate": "3/h", "shared": True}}}

    async def act(store: RedisStore) -> None:
        figures = LimitCounts()
        gate = LimitGate(read_policy(table), store, figures.events, StoreOutage(figures.events))
        for name in ("odd.other", "odd.fine"):
            said = [await entered(gate, call(f"user-{number}"), tool(name)) for number in range(5)]
            assert sum(entry is None for entry in said) == (3 if name == "odd.fine" else 5)
        assert figures.store_errors == 0

    with_store(f"redis+cluster://127.0.0.1:{cluster[0].port}", act)


def test_a_question_that_the_store_refuses_is_no_outage(redis: RedisServer, cluster: list[RedisServer]) -> None:
    told: list[str] = []
    apart = [Bucket("principal:alice", 1, 60.0), Bucket("principal:bob", 1, 60.0)]

    async def main(port: int) -> None:
        async with opened(f"redis+cluster://127.0.0.1:{port}", told.append) as store:
            with pytest.raises(StoreError):
                await store.decide(apart)
            assert (await store.decide(apart[:1])).refused is None

    async def one() -> None:
        async with opened(redis.url, told.append) as store:
            with pytest.raises(StoreError, match="it refuses the question"):
                await store.decide(apart)
            assert await store.read("a") is None

    asyncio.run(main(cluster[0].port))
    redis.cli("HSET", "signet:{principal:alice}:limit:60s:principal:alice", "a", "b")
    asyncio.run(one())

    assert told == []


# --- keys while the server stands still


def test_a_call_that_ends_or_begins_while_the_server_stands_still_is_run_once() -> None:
    """Its answer reaches the store afterwards, and no key stays locked for nobody."""
    of, one, two = tool(), call("alice", key="ends"), call("alice", key="begins")

    async def leave(entry: Entry, value: object) -> None:
        assert entry is not None
        assert not isinstance(entry, Fault | Outcome)
        left = entry.leave(Outcome(one, of, value, json.dumps(value).encode()))
        assert left is not None
        await left

    async def main(redis: RedisServer) -> None:
        async with opened(redis.url, answer_s=ANSWER_S) as store, opened(redis.url, answer_s=ANSWER_S) as other:
            here, there = (IdempotencyGate(kept, StoreOutage(LimitCounts().events), 5.0) for kept in (store, other))
            ends = await entered(here, one, of)
            redis.pause()
            try:
                await leave(ends, 1)
                begins = await entered(here, two, of)
                again = await entered(here, one, of)
            finally:
                redis.resume()
            await leave(begins, 2)
            assert isinstance(again, Outcome)
            assert again.result == 1
            while here._unsaved._task is not None and not here._unsaved._task.done():
                await asyncio.wait([here._unsaved._task])
            known = [await entered(there, two, of), await entered(there, one, of)]
            assert [entry.result for entry in known if isinstance(entry, Outcome)] == [2, 1]

    with redis_server() as redis:
        asyncio.run(main(redis))


# --- at the end

IMPATIENT = """
import sys
sys.path.insert(0, sys.argv.pop(1))
import limited_server
from signet.transports import http_server
http_server.GRACE_S = 0.2
sys.exit(limited_server.main())
"""


def test_a_stop_frees_the_keys_of_the_calls_that_it_cuts_off(redis: RedisServer) -> None:
    command = [
        sys.executable,
        "-c",
        IMPATIENT,
        str(ROOT / "tests/support"),
        "serve",
        "--port",
        "0",
        "--toolsets",
        "waiting",
    ]
    with serving_command(*command, env={"SIGNET_STORE": redis.url}) as server:
        client = http.client.HTTPConnection("127.0.0.1", server.port)
        headers = {"Content-Type": "application/json", "Idempotency-Key": "k"}
        client.request("POST", "/api/tools/waiting_forever", b"{}", headers)
        deadline = time.monotonic() + PATIENCE_S
        while not redis.keys():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        server.process.terminate()
        server.process.wait(PATIENCE_S)
        client.close()

    assert redis.keys() == {}


# --- at the start


def test_a_server_starts_with_a_warning_while_its_store_is_away() -> None:
    url = f"redis://:{CANARY}@127.0.0.1:1/0"
    with serving("--toolsets", "plantuml", env={"SIGNET_STORE": url}) as server:
        answer = server.post("/api/tools/encodePlantUML", {"plantumlCode": "A"})
        stderr = server.stderr()

    assert answer.status == 200
    assert "store.away" in stderr
    assert "127.0.0.1:1" in stderr
    assert CANARY not in stderr


@pytest.mark.parametrize(
    "url",
    [
        f"http://user:{CANARY}@host/0",
        CANARY,
        f"redis://:{CANARY}@host:port/0",
        f"redis://:{CANARY}@host:99999/0",
        f"redis://:{CANARY}@/0",
        f"redis://:{CANARY}@host/one",
        f"redis://:{CANARY}@host/0?timeout=3",
        f"redis+sentinel://:{CANARY}@host",
        f"redis+cluster://:{CANARY}@host/1",
        f"unix://:{CANARY}@host/path",
        f"redis://:{CANARY}@one,two/0",
    ],
)
def test_an_address_that_cannot_be_used_stops_the_start_and_is_not_repeated(url: str) -> None:
    with pytest.raises(ValueError, match="the address of the store cannot be used") as raised:
        parse_address(url)

    assert CANARY not in str(raised.value)


def test_a_bad_address_is_a_usage_error() -> None:
    done = run("serve", "--port", "0", "--store", f"rediz://:{CANARY}@host")

    assert done.returncode == 2
    assert b"--store (SIGNET_STORE): the address of the store cannot be used" in done.stderr
    assert CANARY.encode() not in done.stderr + done.stdout


def test_without_the_client_the_start_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "redis"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "redis", None)
    monkeypatch.setitem(sys.modules, "redis.asyncio", None)
    settings = Settings(store="redis://host")

    with pytest.raises(UsageError, match=r"-m pip install .*\[redis\]'?$"):
        open_store(settings, open_log(settings))


def test_no_representation_of_an_address_has_the_password() -> None:
    address = parse_address(f"redis://user:{CANARY}@one.example:7000/3")

    assert CANARY not in repr(address) + str(address) + address.shown
    assert (address.username, address.password, address.db) == ("user", CANARY, 3)
    assert json.dumps(address.hosts) == '[["one.example", 7000]]'
