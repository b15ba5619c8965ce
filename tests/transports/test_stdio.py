"""The stdio door: what goes over two pipes, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator

import pytest

from channels import rpc
from processes import PATIENCE_S, ROOT, Pipe, piping

ODD = (sys.executable, str(ROOT / "tests/misbehaving_server.py"), "stdio")
PING = {"jsonrpc": "2.0", "id": "p", "method": "ping"}
PONG = {"jsonrpc": "2.0", "id": "p", "result": {}}


@pytest.fixture(params=["auto", "thread"])
def reader(request: pytest.FixtureRequest) -> dict[str, str]:
    """Both ways of reading: awaited, and in a thread where that cannot be."""
    return {"SIGNET_STDIO_READER": request.param}


@pytest.fixture
def patient(reader: dict[str, str]) -> Iterator[Pipe]:
    """The odd tools, with all the time in the world."""
    with piping(*ODD, "60", env=reader) as pipe:
        yield pipe


def call(name: str, request_id: object, **arguments: object) -> dict[str, object]:
    return rpc("tools/call", {"name": name, "arguments": arguments}, request_id=request_id)


def ids_in(lines: bytes) -> list[object]:
    return [json.loads(line)["id"] for line in lines.splitlines()]


def test_calls_run_side_by_side_and_answers_come_as_they_are_ready(patient: Pipe) -> None:
    patient.send(call("waits", "slow", n=300), call("waits", "quick", n=1), PING)

    answers = [patient.receive()["id"] for _ in range(3)]

    assert answers == ["p", "quick", "slow"]


CANCEL = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "gone"}}


def test_a_cancelled_call_is_never_answered(patient: Pipe) -> None:
    patient.send(call("hangs", "gone"), PING)
    assert patient.receive() == PONG
    patient.send(CANCEL)

    status, out, err = patient.finish()

    assert (status, out) == (0, b"")
    assert b"hangs: cancelled" in err


def test_a_call_that_is_cancelled_in_the_same_breath_is_not_answered_either(patient: Pipe) -> None:
    patient.send(call("hangs", "gone"), CANCEL, PING)

    status, out, err = patient.finish()

    assert (status, ids_in(out)) == (0, ["p"])
    assert b"Warning" not in err


@pytest.mark.parametrize("params", [{}, {"requestId": None}, {"requestId": "nobody"}, []])
def test_a_cancellation_of_nothing_changes_nothing(patient: Pipe, params: object) -> None:
    patient.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})

    assert patient.ask(PING) == PONG


def test_progress_comes_before_the_answer_and_carries_its_token(patient: Pipe) -> None:
    patient.send(rpc("tools/call", {"name": "ticks", "arguments": {"n": 2}, "_meta": {"progressToken": "t"}}))

    told = [patient.receive() for _ in range(3)]

    assert [one.get("method") for one in told] == ["notifications/progress"] * 2 + [None]
    assert told[0]["params"] == {"progressToken": "t", "progress": 0, "message": "step 0"}
    assert told[2]["result"]["structuredContent"] == {"n": 2}


def test_progress_is_told_to_nobody_who_did_not_ask(patient: Pipe) -> None:
    answer = patient.ask(call("ticks", 1, n=3))

    assert answer["result"]["structuredContent"] == {"n": 3}


def test_the_end_of_input_is_answered_to_the_last_call(patient: Pipe) -> None:
    patient.send(*(call("waits", number, n=50) for number in range(20)))

    status, out, _ = patient.finish()

    assert status == 0
    assert sorted(ids_in(out)) == list(range(20))  # type: ignore[type-var]


def test_a_last_line_without_an_end_is_answered_too(patient: Pipe) -> None:
    patient.stdin.write(json.dumps(PING).encode())

    status, out, _ = patient.finish()

    assert (status, ids_in(out)) == (0, ["p"])


def test_a_tool_that_will_not_end_does_not_keep_the_process(reader: dict[str, str]) -> None:
    with piping(*ODD, "0.1", env=reader) as pipe:
        pipe.send(call("clings", 1))

        status, out, _ = pipe.finish()

        assert (status, ids_in(out)) == (0, [1])


def test_a_client_that_does_not_read_stops_the_reading_and_loses_nothing(patient: Pipe) -> None:
    """20 MB of answers against a pipe of 64 KiB: what is not read is not asked for either."""
    line = json.dumps(rpc("tools/list", {})).encode() + b"\n"
    size = len(patient.ask(json.loads(line)))
    count = 20_000_000 // max(size, 3000)
    writer = os.fork()
    if writer == 0:
        patient.stdin.write(line * count)
        patient.stdin.flush()
        os._exit(0)

    answers = [patient.line() for _ in range(count)]
    os.waitpid(writer, 0)

    assert len(set(answers)) == 1
    assert _peak_mb(patient.process.pid) < 60


def _peak_mb(pid: int) -> float:
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_process_at_once_and_well(patient: Pipe, number: signal.Signals) -> None:
    patient.send(call("hangs", 1), PING)
    assert patient.receive() == PONG

    patient.process.send_signal(number)

    assert patient.process.wait(PATIENCE_S) == 0


def test_a_client_that_is_gone_ends_the_process() -> None:
    with piping() as pipe:
        pipe.stdout.close()
        pipe.send(*[PING] * 3)
        pipe.stdin.close()

        assert pipe.process.wait(PATIENCE_S) == 0
