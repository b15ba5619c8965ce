"""What a call waits for, in words, at the moment somebody asks."""

from __future__ import annotations

from signet.kernel.waiting import Waiting


def test_where_nobody_said_the_text_is_empty() -> None:
    assert Waiting().text() == ""


def test_the_last_text_that_was_set_holds() -> None:
    waiting = Waiting("waiting for a turn")
    assert waiting.text() == "waiting for a turn"

    waiting.now = "waiting for the answer"
    assert waiting.text() == "waiting for the answer"


def test_a_text_that_changes_with_time_is_made_each_time_somebody_asks_and_not_before() -> None:
    seconds = iter(["1 s", "2 s"])
    waiting = Waiting(lambda: f"waiting for {next(seconds)}")

    assert [waiting.text(), waiting.text()] == ["waiting for 1 s", "waiting for 2 s"]
    assert next(seconds, None) is None
