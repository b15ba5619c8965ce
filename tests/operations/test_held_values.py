"""Values whose bytes callers share: a caller's own oldest give way, and what is fixed never does."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from limit_harness import SECOND_NS
from signet.operations.store.held import COST_BYTES, HeldValues

SIZE = 1_000 - COST_BYTES


def test_the_oldest_of_the_same_holder_give_way_and_no_others() -> None:
    held = HeldValues[str]("values", 10_000)
    held.put("a0", "honest", 0, 60, holder="a", size=SIZE)
    for number in range(100):
        held.put(f"m{number}", "greedy", 0, 60, holder="m", size=SIZE)

    assert held.get("a0", 0) == "honest"
    assert [number for number in range(100) if held.get(f"m{number}", 0)] == [96, 97, 98, 99]


def test_a_fixed_value_gives_way_to_nothing_and_a_new_one_is_refused_then() -> None:
    held = HeldValues[str]("values", 4_000)
    fixed = [held.put(f"f{number}", "runs", 0, 60, holder="", size=SIZE, is_fixed=True) for number in range(5)]

    assert fixed == [True] * 4 + [False]
    assert held.put("f0", "done", 0, 60, holder="", size=SIZE) is True
    assert held.put("more", "runs", 0, 60, holder="", size=SIZE) is True
    assert [held.get(key, 0) for key in ("f0", "f1", "f2", "f3", "more")] == [None, "runs", "runs", "runs", "runs"]


def test_a_value_that_finds_no_room_pushes_out_nothing() -> None:
    held = HeldValues[str]("values", 10_000)
    held.put("a0", "one", 0, 60, holder="a", size=SIZE)

    assert held.put("a1", "large", 0, 60, holder="a", size=9_000) is False
    assert held.put("a0", "larger", 0, 60, holder="a", size=9_000) is False
    assert held.get("a0", 0) == "one"


def test_room_comes_back_with_the_end_of_the_time() -> None:
    held = HeldValues[str]("values", 2_000)
    held.put("a0", "one", 0, 1, holder="a", size=SIZE)
    held.put("b0", "runs", 0, 1, holder="b", size=0, is_fixed=True)

    assert held.put("c0", "new", 0, 60, holder="c", size=SIZE) is False
    assert held.put("c0", "new", SECOND_NS, 60, holder="c", size=SIZE) is True
    assert len(held) == 1


@given(
    st.lists(
        st.tuples(st.sampled_from("pfd"), st.sampled_from("abc"), st.integers(0, 9), st.integers(0, 3_000)), max_size=80
    )
)
def test_whatever_is_done_the_bytes_are_those_of_the_values(steps: list[tuple[str, str, int, int]]) -> None:
    held = HeldValues[int]("values", 9_000)
    now = 0
    for kind, holder, key, size in steps:
        now += SECOND_NS // 4
        others = {
            one: entry
            for one, entry in held._entries.items()
            if (entry.is_fixed or entry.holder != holder) and entry.until_ns > now and one != f"{holder}{key}"
        }
        if kind == "d":
            held.drop(f"{holder}{key}")
        else:
            held.put(f"{holder}{key}", size, now, 1 + key, holder=holder, size=size, is_fixed=kind == "f")
        assert others.items() <= held._entries.items()
        entries = held._entries.values()
        assert held._shares.held == sum(entry.cost for entry in entries) <= 9_000
        assert {k for mine in held._loose.values() for k in mine} == {
            k for k, entry in held._entries.items() if not entry.is_fixed
        }
