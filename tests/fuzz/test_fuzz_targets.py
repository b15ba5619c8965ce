"""Every reader of outside bytes: its kept inputs again, and some hundred fresh ones, the same in each run."""

from __future__ import annotations

import pytest

from fuzz.catalogue import NAMES, find_target
from fuzz.session import Session, corpus_of
from fuzz.trial import Failure

SEED = 16
"""The same inputs in each run."""


def told(failures: dict[str, Failure]) -> str:
    return "\n".join(f"{one.key}\n{one.data!r}\n{one.told}" for one in failures.values())


@pytest.mark.parametrize("name", NAMES)
def test_no_input_crashes_hangs_blocks_or_breaks_a_contract(name: str) -> None:
    target = find_target(name)
    with target.open() as run:
        session = Session(target, run, SEED)
        session.replay()
        replayed = session.inputs
        for _ in range(target.fresh):
            session.step()

    assert session.failures == {}, told(session.failures)
    assert replayed == len(target.seeds()) + len(corpus_of(target))
    assert session.inputs == replayed + target.fresh
