"""The log of what servers bring about: a flood of one kind hides no other, and is told by its number."""

from __future__ import annotations

from typing import Any

from signet.relay.bounded_log import LINES_PER_SECOND, BoundedLog


def test_lines_of_one_kind_are_bounded_in_a_second_and_the_rest_is_counted() -> None:
    logged: list[tuple[str, dict[str, Any]]] = []
    now = 0.0
    log = BoundedLog(lambda event, **fields: logged.append((event, fields)), lambda: now)

    for number in range(LINES_PER_SECOND + 7):
        log("stray", number=number)
    log("lost", why="it ended")
    assert [event for event, _ in logged] == ["stray"] * LINES_PER_SECOND + ["lost"]

    now = 1.5
    log("stray", number=0)
    assert logged[-2:] == [("server.log_dropped", {"kind": "stray", "lines": 7}), ("stray", {"number": 0})]
