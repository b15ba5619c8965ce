"""Records that nobody has looked at: what is kept of them, and how many."""

from __future__ import annotations

from signet.console.unread import Trouble, UnreadRecord, UnreadRecords
from signet.journal.record import JournalRecord, Metadata


def record(number: int) -> UnreadRecord:
    metadata = Metadata(deterministic=False, prompt_id=None, schema_version="0.1.0", tool_id=None)
    texts = {name: f"{name} é {number}" for name in ("method", "request_id", "route", "span_id", "status", "task_id")}
    more = {name: f"{name} {number}" for name in ("agent_id", "trace_id", "transport", "ts")}
    numbers = dict.fromkeys(("attempt", "input_bytes", "step_id"), number)
    error = {"code": "X", "details": {"mode": "shadow"}}
    line = JournalRecord(
        duration_ms=0.125 * number, output_bytes=2**40, error=error, metadata=metadata, **numbers, **texts, **more
    )
    trouble = Trouble("X", "input", True, "a[1]", "type") if number % 2 else None
    return UnreadRecord(line, "tool", "rest", "alice", f"request {number}", 1_700_000_000.25 + number, trouble)


def test_what_is_taken_is_what_was_added() -> None:
    unread = UnreadRecords(10)
    records = [record(number) for number in range(6)]

    unread.add(records[:2])
    unread.add([])
    unread.add(records[2:])

    assert len(unread) == 6
    assert unread.take() == records
    assert (len(unread), unread.take()) == (0, [])


def test_the_latest_are_kept_in_whole_batches_and_the_oldest_go() -> None:
    unread = UnreadRecords(10)
    records = [record(number) for number in range(45)]

    for start in range(0, 40, 4):
        unread.add(records[start : start + 4])
        assert sum(count for count, _ in unread._batches) < 10 + 4

    assert len(unread) == 10
    assert unread.take() == records[30:40]
    unread.add(records)
    assert unread.take() == records[35:]
