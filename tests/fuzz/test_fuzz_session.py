"""The fuzzer itself: it sees each kind of failure, makes inputs smaller, and follows new paths."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import Callable, Iterator

import pytest

from fuzz.minimise import minimised
from fuzz.mutation import mutate
from fuzz.paths import PathWatch
from fuzz.serving import loop_watched
from fuzz.session import Session
from fuzz.target import Target, Violation
from fuzz.trial import Trial
from fuzz.watch import MIB
from signet.toolsets.plantuml_tools.source import find_diagram


def a_target(run: Callable[[bytes], None]) -> Target:
    @contextlib.contextmanager
    def opened() -> Iterator[Callable[[bytes], None]]:
        yield run

    return Target(
        name="none",
        about="",
        open=opened,
        seeds=lambda: [b"seed"],
        generate=lambda chance: bytes([chance.randrange(9)]),
        tokens=(b"x",),
        rooms=("toolsets/",),
    )


def crash(_: bytes) -> None:
    raise KeyError("a")


def break_a_rule(_: bytes) -> None:
    raise Violation("a rule: 5")


def work(_: bytes) -> None:
    end_s = time.process_time() + 0.15
    while time.process_time() < end_s:
        pass


def take_memory(_: bytes) -> None:
    assert len(b"x" * (64 * MIB)) == 64 * MIB


@pytest.mark.parametrize(
    ("run", "key"),
    [
        (crash, "crash KeyError in "),
        (break_a_rule, "contract a rule"),
        (work, "slow CPU time"),
        (take_memory, "memory peak"),
    ],
)
def test_a_failure_has_its_kind(run: Callable[[bytes], None], key: str) -> None:
    failure = Trial(a_target(run), run).run(b"abc")

    assert failure is not None
    assert failure.key.startswith(key)


def test_an_input_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fuzz.watch.HANG_S", 0.05)

    def hang(_: bytes) -> None:
        while True:
            pass

    failure = Trial(a_target(hang), hang).run(b"abc")

    assert failure is not None
    assert failure.kind == "hang"


def test_an_event_loop_that_is_held_is_a_failure_and_one_that_waits_is_none() -> None:
    async def hold() -> None:
        await asyncio.sleep(0)
        work(b"")

    with loop_watched() as watch:
        held = Trial(a_target(crash), lambda _: watch.run(hold())).run(b"")
        waited = Trial(a_target(crash), lambda _: watch.run(asyncio.sleep(0.1))).run(b"")

    assert held is not None
    assert held.key == "slow the event loop was held"
    assert waited is None


def test_what_is_raised_in_an_event_loop_is_a_failure() -> None:
    async def raise_in_a_callback() -> None:
        asyncio.get_running_loop().call_soon(crash, b"")
        await asyncio.sleep(0.01)

    with loop_watched() as watch:
        failure = Trial(a_target(crash), lambda _: watch.run(raise_in_a_callback())).run(b"")

    assert failure is not None
    assert failure.key.startswith("crash KeyError")


def test_a_failing_input_is_made_smaller_and_told_once() -> None:
    def run(data: bytes) -> None:
        if b"x" in data:
            raise ValueError("x")

    target = a_target(run)
    with target.open() as opened:
        session = Session(target, opened, 1)
        for _ in range(200):
            session.step()

    [failure] = session.failures.values()
    assert failure.data == b"x"


def test_an_input_is_made_smaller_as_long_as_it_fails_alike() -> None:
    assert (
        minimised(b"a" * 40 + b"(" + b"b" * 30 + b")" + b"c" * 9, lambda data: b"(" in data and b")" in data) == b"()"
    )


def test_an_input_that_takes_a_new_path_counts_once() -> None:
    paths = PathWatch(("toolsets/plantuml_tools/",))
    counts = []
    for text in ("A -> B", "A -> B", "@startuml\nA -> B\n@enduml", "@startuml\nA -> C\n@enduml"):
        paths.start()
        find_diagram(text)
        paths.stop()
        counts.append(paths.count)

    assert 0 < counts[0] == counts[1] < counts[2] == counts[3]


def test_the_same_seed_gives_the_same_inputs() -> None:
    target = a_target(lambda _: None)
    with target.open() as run:
        one, two, other = (Session(target, run, seed) for seed in (1, 1, 2))
        first, second, third = ([session.next_input() for _ in range(50)] for session in (one, two, other))

    assert first == second != third


def test_a_mutation_has_a_bound() -> None:
    chance = random.Random(3)
    data = b'{"a": [1, "b", {"c": null}]}'
    for _ in range(500):
        data = mutate(chance, data, (b"x" * 50,), (data,))

        assert len(data) <= 60_000
