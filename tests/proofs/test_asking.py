"""Questions to a child: several by one, limits of time and memory, places that are shared, answers that are kept."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from pathlib import Path

import msgspec
import pytest

from processes import PATIENCE_S
from signet.proofs import asking, changes, examples
from signet.proofs.asking import AnswerError, TooHardError, WorkerAsker, with_asker
from signet.proofs.changes import SchemaChanges
from signet.proofs.kept import KeptProofs
from signet.system.places import FairTurns
from signet.system.threads import BusyError, WorkPlaces

TEXT = {"type": "string"}
HARD = {"type": "string", "pattern": "^([a-z]{1,100}){1,100}$", "minLength": 9_000}


def question(new: object, old: object = TEXT) -> bytes:
    return msgspec.json.encode({"old": old, "new": new, "side": "input"})


def children() -> set[int]:
    found: set[int] = set()
    for path in Path("/proc/self/task").glob("*/children"):
        found |= set(map(int, path.read_text().split()))
    return found


def wait_for_more_than(before: set[int]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not children() - before:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def wait_until_no_more_than(before: set[int]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while children() - before:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_one_child_answers_several_questions_and_ends() -> None:
    before = children()
    with WorkerAsker() as asker:
        answers = [asker.ask(changes.compared, question({"type": "string", "maxLength": n}), 30) for n in (1, 2)]
        first = children() - before
        answers.append(asker.ask(changes.compared, question({}), 30))
        assert (len(first), children() - before) == (1, first)

    assert [msgspec.json.decode(answer)["compatible"] for answer in answers] == [False, False, True]
    assert children() == before


def test_a_hard_question_ends_its_child_and_the_next_has_another() -> None:
    before = children()
    with WorkerAsker() as asker:
        with pytest.raises(TooHardError, match=r"^0.3 s$") as caught:
            asker.ask(changes.compared, question(HARD), 0.3)
        assert caught.value.is_time
        assert children() == before
        classes = [{"pattern": f"\\p{{L}}{{200}}{number}"} for number in range(300)]
        with pytest.raises(TooHardError, match="200 MB of memory"):
            asker.ask(changes.compared, question({"allOf": classes}), PATIENCE_S)

        assert b"true" in asker.ask(changes.compared, question({}), 30)


def test_an_error_in_the_child_is_no_fault_of_the_question() -> None:
    with WorkerAsker() as asker, pytest.raises(AnswerError):
        asker.ask(changes.compared, b"no question", 30)


def test_a_child_that_does_not_start_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "LAUNCH", "raise SystemExit(1)")

    with WorkerAsker() as asker, pytest.raises(AnswerError, match="does not start"):
        asker.ask(changes.compared, question({}), 30)


def test_kept_answers_have_a_bound_in_bytes_and_the_oldest_go() -> None:
    kept = KeptProofs(10)
    for key in (b"a", b"b"):
        kept.put(key, b"12345")
    kept.get(b"a")
    kept.put(b"c", b"123")
    kept.put(b"d", b"larger than all")

    assert [kept.get(key) for key in (b"a", b"b", b"c", b"d")] == [b"12345", None, b"123", None]
    assert kept.size == 8


def test_one_holder_leaves_a_place_and_room_for_others() -> None:
    async def test() -> None:
        places, gate = WorkPlaces(FairTurns("questions", 2, 6, reserves=True), "test"), threading.Event()

        def work(_: WorkerAsker) -> str:
            gate.wait(PATIENCE_S)
            return "done"

        greedy = [asyncio.ensure_future(places.run(with_asker(work), "mallory")) for _ in range(9)]
        await asyncio.sleep(0)
        refused = [one for one in greedy if one.done() and isinstance(one.exception(), BusyError)]
        other = asyncio.ensure_future(places.run(lambda _: "mine", "alice"))

        assert len(refused) == 5
        assert await other == "mine"
        gate.set()
        assert await asyncio.gather(*[one for one in greedy if one not in refused]) == ["done"] * 4
        assert await places.run(lambda _: "free again", "bob") == "free again"

    asyncio.run(test())


def test_who_waits_too_long_is_refused_and_who_leaves_ends_the_child() -> None:
    before = children()

    async def test() -> None:
        places = WorkPlaces(FairTurns("questions", 1, 4, reserves=True), "test", 0.01)
        hard = asyncio.ensure_future(
            places.run(with_asker(lambda asker: asker.ask(changes.compared, question(HARD), 600)))
        )
        await asyncio.to_thread(wait_for_more_than, before)
        with pytest.raises(BusyError):
            await places.run(lambda _: None)
        hard.cancel()
        await asyncio.wait([hard])
        wait_until_no_more_than(before)

        while True:
            try:
                assert await places.run(lambda _: "free again") == "free again"
                break
            except BusyError:
                await asyncio.sleep(0)

    asyncio.run(test())


def test_a_change_that_is_settled_at_once_needs_no_child(monkeypatch: pytest.MonkeyPatch) -> None:
    found = SchemaChanges()

    assert found.find(TEXT, TEXT, "input") is not None
    assert found.find(TEXT, {**TEXT, "description": "A city."}, "input") is not None
    assert not found.are_open


def test_a_hard_change_keeps_no_easy_one_from_its_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "PROOF_S", 3.0)
    found = SchemaChanges()
    pairs = [(TEXT, HARD), (TEXT, {}), ({"maxLength": os.getpid()}, {"maxLength": os.getpid() + 1})]
    assert [found.find(old, new, "input") for old, new in pairs] == [None] * 3

    with WorkerAsker() as asker:
        found.ask(asker)

    verdicts = [found.find(old, new, "input") for old, new in pairs]
    assert [one is not None and one.compatible for one in verdicts] == [False, True, True]
    assert not found.are_open
    assert SchemaChanges().find(*pairs[0], "input") == verdicts[0], "it is not compared again at once"


def test_schemas_without_measure_are_not_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "MAX_BYTES", 200)
    deep: object = TEXT
    for _ in range(5_000):
        deep = {"items": deep}
    found = SchemaChanges()

    verdicts = [found.find(TEXT, one, "input") for one in (deep, {"enum": ["a" * 300]})]  # type: ignore[arg-type]

    assert [one is not None and one.compatible for one in verdicts] == [False, False]
    assert not found.are_open


def test_commands_find_examples_and_what_is_too_hard_is_not_found() -> None:
    assert examples.example_of({"type": "object", "required": ["a"]}) == {"a": None}
    assert examples.is_contradiction({"type": "string", "minLength": 2, "maxLength": 1})
    assert examples.keep(TEXT, ["a", 1]) == [True, False]
    assert examples.keep({"type": 5}, ["a"]) == []
    assert examples.outsider_of({"type": "object", "required": ["a"]}) == {}
    assert examples.wrong_default({"properties": {"a": {"type": "string", "default": 1}}}).startswith(
        "the default of a"
    )
    assert examples.example_of({"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}] * 60_000}}}) is (
        msgspec.UNSET
    )
