"""What a conversation on stdio takes over from its prologue: nothing is lost where the event loop begins."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from channels import rpc
from processes import PATIENCE_S, SIGNET, Pipe, clean_env, piping

COMMAND = (SIGNET, "stdio", "--toolsets", "plantuml", "--no-journal")
FRESH = {"FRESH_PROCESSES": "1"}
"""A copy of a process that has an event loop has one too."""
LIST = rpc("tools/list", {}, request_id="list")
PING = rpc("ping", {}, request_id="ping")


def draw(size: int, request_id: str) -> dict[str, Any]:
    """Return a call: a large text is encoded in a thread, so that its call has to be awaited."""
    params = {"name": "encodePlantUML", "arguments": {"plantumlCode": "x" * size}}
    return rpc("tools/call", params, request_id=request_id)


QUICK, AWAITED = draw(10, "quick"), draw(40_000, "awaited")


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    with piping(*COMMAND, env=FRESH) as running:
        yield running


def has_loop(pipe: Pipe) -> bool:
    """Return whether the server has loaded the C part of asyncio."""
    with open(f"/proc/{pipe.process.pid}/maps", encoding="utf-8") as maps:
        return "_asyncio" in maps.read()


def test_the_event_loop_is_loaded_for_the_first_call_that_is_awaited(pipe: Pipe) -> None:
    before = [(pipe.ask(message)["id"], has_loop(pipe)) for message in (LIST, QUICK, PING)]
    awaited = pipe.ask(AWAITED)["id"], has_loop(pipe)

    assert before == [("list", False), ("quick", False), ("ping", False)]
    assert awaited == ("awaited", True)


def test_the_lines_behind_the_first_call_that_is_awaited_are_answered_too(pipe: Pipe) -> None:
    cut = json.dumps(rpc("ping", {}, request_id="cut")).encode()
    pipe.send(LIST, AWAITED, QUICK, PING)
    pipe.stdin.write(cut[:20])
    pipe.stdin.flush()
    answers = [pipe.receive()["id"] for _ in range(4)]
    pipe.send(cut[20:])

    assert sorted(answers) == ["awaited", "list", "ping", "quick"]
    assert answers[0] == "list"
    assert pipe.receive() == {"jsonrpc": "2.0", "id": "cut", "result": {}}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_before_the_first_awaited_call_ends_the_server_with_status_0(
    pipe: Pipe, number: signal.Signals
) -> None:
    pipe.ask(LIST)
    assert not has_loop(pipe)

    pipe.process.send_signal(number)

    assert pipe.process.wait(PATIENCE_S) == 0


def test_an_input_that_ends_is_answered_to_its_end() -> None:
    lines = b"\n".join(json.dumps(one).encode() for one in (LIST, AWAITED, PING))

    done = subprocess.run(COMMAND, input=lines, capture_output=True, env=clean_env(), timeout=PATIENCE_S, check=False)

    assert done.returncode == 0
    assert sorted(json.loads(line)["id"] for line in done.stdout.splitlines()) == ["awaited", "list", "ping"]


def test_a_client_that_reads_late_gets_every_answer_in_order(pipe: Pipe) -> None:
    count = 2_000
    asked = b"".join(json.dumps(rpc("tools/list", {}, request_id=number)).encode() + b"\n" for number in range(count))
    writer = os.fork()
    if writer == 0:
        pipe.stdin.write(asked)
        pipe.stdin.flush()
        os._exit(0)

    answers = [pipe.receive()["id"] for _ in range(count)]
    os.waitpid(writer, 0)

    assert answers == list(range(count))
    assert has_loop(pipe)
    assert pipe.ask(PING)["id"] == "ping"
