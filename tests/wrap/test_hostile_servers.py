"""Servers that misbehave, behind `signet wrap`: a clear answer for each call, the next one served, no process left."""

from __future__ import annotations

import socket
import time

import pytest

from processes import PATIENCE_S

from .doors import Door, ask, call, processes_of, said, wrapping

DOORS = ("stdio", "http")
SHORT = ("--call-timeout-s", "4")
"""For calls that no server answers."""
NOISE = {
    "stray lines at first": "hurt",
    "stray lines": "hurt",
    "unknown notifications": "hurt",
    "unknown ids": "hurt",
    "answers twice": "hurt",
    "floods stderr": "hurt",
    "floods notifications": "hurt",
    "long lines on stderr": "hurt",
    "floods stdout": "hurt",
    "floods replies": "hurt",
    "floods questions": "hurt",
    "asks with one id": "3 responses to ['1']",
    "asks for the unknown": "codes [-32601, -32601]",
    "null for an error": "hurt",
    "bad schema": "hurt",
    "older draft": "hurt",
    "has grandchildren": "hurt",
    "heeds nothing": "hurt",
}
"""What a server does beside its answers, and what it says to a call."""
FAILURES = {
    "dies in a call": "may have happened",
    "never answers": "",
    "dies after half an answer": "may have happened",
    "long line": "16 MiB",
    "invalid UTF-8": "",
    "breaks its schema": "",
    "no object": "",
    "error without words": "",
}
"""How a call gets no proper answer, and words of the error."""
NO_START = {"dies at start": "cannot read the licence", "exits at once": "exit code 0"}


def in_turn(modes: dict[str, str]) -> list[tuple[str, str, str]]:
    """Return each mode with a door: one part talks to servers, whatever the door, so the doors take turns."""
    return [(DOORS[place % 2], mode, words) for place, (mode, words) in enumerate(modes.items())]


@pytest.fixture(params=DOORS)
def door(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def names(client: Door) -> set[str]:
    return {tool["name"] for tool in ask(client, "tools/list")["result"]["tools"]}


@pytest.mark.parametrize(("door", "mode", "text"), in_turn(NOISE))
def test_noise_changes_no_answer(door: str, mode: str, text: str) -> None:
    with wrapping(door, mode) as client:
        assert call(client, "hurt") == ("result", text)
        assert call(client, "echo", "after") == ("result", "after")

        stderr = client.stderr()

    assert "Traceback" not in stderr
    assert len(stderr) < 500_000


@pytest.mark.parametrize(
    ("door", "mode", "words"),
    [*in_turn(FAILURES), ("http", "dies in a call", "may have happened"), ("stdio", "never answers", "")],
)
def test_a_call_that_gets_no_proper_answer_gets_a_clear_error(door: str, mode: str, words: str) -> None:
    with wrapping(door, mode, flags=SHORT) as client:
        kind, text = call(client, "hurt")

        assert (kind, bool(text)) == ("error", True)
        assert words in text
        assert call(client, "echo", "after") == ("result", "after")
        assert "Traceback" not in client.stderr()


@pytest.mark.parametrize(("door", "mode"), [("stdio", "half a surrogate"), ("http", "deep nesting")])
def test_what_some_parsers_take_and_others_refuse_is_answered_anyhow(door: str, mode: str) -> None:
    with wrapping(door, mode, flags=SHORT) as client:
        assert call(client, "hurt")[0] in {"result", "error"}
        assert call(client, "echo", "after") == ("result", "after")
        assert "Traceback" not in client.stderr()


@pytest.mark.parametrize(("door", "mode", "words"), in_turn(NO_START))
def test_a_server_that_does_not_start_is_told_to_each_caller(door: str, mode: str, words: str) -> None:
    with wrapping(door, mode, flags=SHORT) as client:
        found = [call(client, "echo", "one"), call(client, "echo", "two")]
        stderr = client.stderr()

    assert [kind for kind, _ in found] == ["error", "error"]
    assert all(words in text for _, text in found)
    assert "abcdefgh12345678" not in stderr + str(found)


def test_answers_out_of_order_go_to_whom_they_belong(door: str) -> None:
    texts = ["one", "two", "three"]
    with wrapping(door, "out of order") as client:
        requests = [("tools/call", {"name": "echo", "arguments": {"text": text}}) for text in texts]

        assert [said(response) for response in client.ask_all(requests)] == [("result", text) for text in texts]
        assert call(client, "echo", "after") == ("result", "after")


def test_the_content_of_an_error_result_is_not_held_to_the_schema(door: str) -> None:
    with wrapping(door, "error with content") as client:
        result = ask(client, "tools/call", name="hurt", arguments={})["result"]

        assert (result["isError"], result["content"]) == (True, [{"type": "text", "text": "no"}])
        assert call(client, "echo", "after") == ("result", "after")


def test_a_reference_to_the_network_is_not_followed(door: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/schema.json"
        with wrapping(door, "schema elsewhere", address) as client:
            assert call(client, "echo", "after") == ("result", "after")
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_a_list_that_changes_in_the_middle_is_listed_anew(door: str) -> None:
    with wrapping(door, "changes its list") as client:
        assert names(client) == {"echo", "hurt"}
        assert call(client, "hurt") == ("result", "hurt")
        deadline = time.monotonic() + PATIENCE_S
        while "added" not in names(client):
            assert time.monotonic() < deadline
            time.sleep(0.02)

        assert call(client, "added", "after") == ("result", "after")


def test_a_server_that_no_longer_reads_delays_nobody_for_ever(door: str) -> None:
    with wrapping(door, "never reads", flags=SHORT) as client:
        assert call(client, "hurt") == ("result", "hurt")
        large = [("tools/call", {"name": "echo", "arguments": {"text": "x" * 500_000}})] * 24

        found = [said(response) for response in client.ask_all(large)]

        assert [kind for kind, _ in found] == ["error"] * 24
        assert all(text for _, text in found)
        assert ask(client, "ping").get("error") is None


def test_a_daemon_that_left_holds_nobody_up_and_ends_with_the_server(door: str) -> None:
    with wrapping(door, "has a daemon") as client:
        assert call(client, "echo", "one") == ("result", "one")
        client.stderr()

        assert processes_of(client.marker) == []


def test_whoever_kills_the_wrapper_leaves_no_server_behind(door: str) -> None:
    with wrapping(door, "has grandchildren") as client:
        assert call(client, "echo", "one") == ("result", "one")
        process = client._pipe.process if door == "stdio" else client._server.process
        assert len({process.pid, *processes_of(client.marker)}) == 3

        process.kill()
        process.wait()


@pytest.mark.parametrize(
    ("pool", "count"), [("shared", {"stdio": 1, "http": 1}), ("session", {"stdio": 1, "http": 4}), ("call", 4)]
)
def test_a_caller_without_a_session_shares_a_server_with_nobody_unless_all_do(
    door: str, pool: str, count: int | dict[str, int]
) -> None:
    """One caller must not see what another has left in the server."""
    with wrapping(door, "tells its id", flags=("--pool", pool)) as client:
        found = {call(client, "hurt") for _ in range(4)}
        deadline = time.monotonic() + PATIENCE_S
        while len(processes_of(client.marker)) > 2 and time.monotonic() < deadline:
            time.sleep(0.02)

        assert {kind for kind, _ in found} == {"result"}
        assert len(found) == (count if isinstance(count, int) else count[door])
        assert len(processes_of(client.marker)) <= 2, "the wrapper, and one server"
