"""The store in the process: exact to one call, atomic over buckets and threads, within its bounds."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from limit_harness import SECOND_NS, Clock
from signet.operations.store.memory import MemoryStore
from signet.operations.store.store import Bucket, Decision, Kept

MINUTE = Bucket("principal:alice", 60, 60.0)
DAY_S = 86_400


def test_as_many_calls_as_the_count_come_at_once_and_then_one_for_each_step() -> None:
    clock = Clock()
    store = clock.store()

    first = [store.decide([MINUTE]) for _ in range(61)]
    clock.turn(0.999_999_999)
    early = store.decide([MINUTE])
    clock.turn(0.000_000_001)
    late = [store.decide([MINUTE]) for _ in range(2)]

    assert [one.refused for one in first] == [None] * 60 + [0]
    assert [one.remaining for one in first[:60]] == list(range(59, -1, -1))
    assert first[60].retry_after_s == 1.0
    assert early == Decision(0, 0.001)
    assert [one.refused for one in late] == [None, 0]


def test_a_burst_is_what_comes_at_once_and_the_rate_stays() -> None:
    clock = Clock()
    store, bucket = clock.store(), Bucket("principal:alice", 60, 60.0, 3)

    at_once = [store.decide([bucket]).refused for _ in range(4)]
    clock.turn(2)
    later = [store.decide([bucket]).refused for _ in range(3)]

    assert (at_once, later) == ([None] * 3 + [0], [None, None, 0])


@given(
    st.sampled_from([(1, 1), (7, 1), (60, 60), (100, 60), (1000, 3600), (3, 86_400)]),
    st.integers(0, 20),
    st.lists(st.tuples(st.integers(0, 5 * SECOND_NS), st.integers(1, 3)), min_size=1, max_size=60),
)
def test_rates_are_those_of_a_bucket_that_drips(
    rate: tuple[int, int], burst: int, calls: list[tuple[int, int]]
) -> None:
    """The model keeps a bucket of tokens in exact fractions: one comes in each whole step of nanoseconds."""
    count, period_s = rate
    step = Fraction(period_s * SECOND_NS // count)
    most = Fraction(burst or count)
    tokens, clock = most, Clock()
    store, bucket = clock.store(), Bucket("x", count, float(period_s), burst)

    for pause_ns, times in calls:
        clock.ns += pause_ns
        tokens = min(most, tokens + pause_ns / step)
        for _ in range(times):
            decision = store.decide([bucket])
            assert (decision.refused is None) == (tokens >= 1)
            if tokens >= 1:
                tokens -= 1
                assert decision.remaining == int(tokens)
            else:
                wait_ns = (1 - tokens) * step
                assert wait_ns <= decision.retry_after_s * SECOND_NS < wait_ns + 1_000_001


def test_a_call_after_the_time_that_was_told_is_let_in() -> None:
    clock = Clock()
    store, bucket = clock.store(), Bucket("x", 7, 1.0)

    for _ in range(100):
        while (refused := store.decide([bucket])).refused is None:
            pass
        clock.turn(refused.retry_after_s)
        assert store.decide([bucket]).refused is None


def test_a_quota_ends_with_the_utc_day() -> None:
    clock = Clock(wall_s=20_000 * DAY_S + DAY_S - 10)
    store, quota = clock.store(), Bucket("quota:principal:alice", 2)

    today = [store.decide([quota]) for _ in range(3)]
    clock.turn(9.999)
    evening = store.decide([quota])
    clock.turn(0.001)
    tomorrow = [store.decide([quota]).refused for _ in range(3)]

    assert today == [Decision(remaining=1), Decision(remaining=0), Decision(0, 10.0)]
    assert evening == Decision(0, 0.001)
    assert tomorrow == [None, None, 0]


def test_a_quota_counts_by_the_day_on_the_wall_though_the_machine_slept() -> None:
    """A clock that never goes back stands still while the machine sleeps."""
    clock = Clock(wall_s=20_000 * DAY_S)
    store, quota = clock.store(), Bucket("quota:principal:alice", 1)

    store.decide([quota])
    clock.wall_ns += 2 * DAY_S * SECOND_NS

    assert store.decide([quota]).refused is None


def test_no_bucket_is_charged_if_one_refuses_and_the_longest_wait_is_told() -> None:
    clock = Clock()
    store = clock.store()
    wide, narrow, narrowest = Bucket("a", 5, 60.0), Bucket("b", 1, 60.0), Bucket("c", 1, 3600.0)

    assert store.decide([wide, narrow, narrowest]).refused is None
    refused = [store.decide([wide, narrow, narrowest]) for _ in range(10)]

    assert refused == [Decision(2, 3600.0)] * 10
    assert [store.decide([wide]).refused for _ in range(5)] == [None] * 4 + [0]


def test_threads_get_no_more_calls_than_the_count() -> None:
    store, bucket = Clock().store(), Bucket("x", 500, 60.0)

    with ThreadPoolExecutor(8) as pool:
        decided = list(pool.map(lambda _: store.decide([bucket]).refused, range(2000)))

    assert decided.count(None) == 500


def test_three_hundred_thousand_addresses_do_not_fill_the_memory_and_get_no_more_than_the_limit() -> None:
    clock = Clock()
    store = MemoryStore(clock, clock.wall)
    for number in range(100_000):
        store.decide([Bucket(f"address:{number}", 1, 60.0)])
    let_in = 0
    for number in range(100_000, 300_000):
        clock.ns += 45_000
        let_in += store.decide([Bucket(f"address:{number}", 1, 60.0)]).refused is None

    # Nine seconds have passed, and those who came late shared one call a minute.
    assert let_in == 1
    assert len(store) <= 100_001
    assert store.decide([Bucket("address:5", 1, 60.0)]).refused == 0


def test_buckets_that_are_empty_make_room() -> None:
    clock = Clock()
    store = clock.store(max_buckets=100)
    for _ in range(3):
        decided = [store.decide([Bucket(f"{clock.ns}:{number}", 1, 60.0)]).refused for number in range(100)]
        assert decided == [None] * 100
        assert len(store) <= 100
        clock.turn(60)


def test_a_key_is_run_once_and_then_known_until_its_time_is_over() -> None:
    clock = Clock()
    store = clock.store()

    states = [store.begin("k", digest, runner, 80) for digest, runner in (("one", "a"), ("one", "b"), ("other", "c"))]
    store.finish("k", "one", "a", b"answer", 100)
    states += [store.begin("k", "one", "d", 80), store.begin("k", "other", "a", 80)]
    clock.turn(100)

    assert states == [Kept("new"), Kept("running"), Kept("conflict"), Kept("done", b"answer"), Kept("conflict")]
    assert store.begin("k", "other", "e", 80) == Kept("new")


def test_a_runner_that_died_frees_its_key_and_answers_for_nobody_when_it_comes_back() -> None:
    clock = Clock()
    store = clock.store()
    store.begin("k", "one", "dead", 80)
    clock.turn(80)

    assert store.begin("k", "one", "alive", 80) == Kept("new")
    store.finish("k", "one", "dead", b"late", 100)
    store.finish("k", "one", "dead", None, 100)
    assert store.begin("k", "one", "third", 80) == Kept("running")
    assert store.begin("k", "one", "alive", 80) == Kept("new"), "it was not told, and asks again"
    store.finish("k", "one", "alive", None, 100)
    assert store.begin("k", "one", "third", 80) == Kept("new")
