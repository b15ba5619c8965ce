"""A tool that misbehaves fails alone: its call is answered with a clear error, and the next one is served."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from processes import SIGNET, Pipe, Server, piping, serving

TOOLS = str(Path(__file__).with_name("misbehaving_tools.py"))
BUG = "failed: this is a fault of the server, not of the call"
BROKEN = "gave a result that breaks its contract"
LATE = "did not answer within 1 s"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving(TOOLS, "--call-timeout-s", "1") as running:
        yield running


@pytest.fixture(scope="module")
def pipe() -> Iterator[Pipe]:
    with piping(SIGNET, "stdio", TOOLS, "--call-timeout-s", "1", "--no-journal") as running:
        yield running


CASES = [
    ("exits", {}, "INTERNAL_ERROR", BUG),
    ("exits_async", {}, "INTERNAL_ERROR", BUG),
    ("interrupts", {}, "INTERNAL_ERROR", BUG),
    ("stops", {}, "INTERNAL_ERROR", BUG),
    ("sleeps", {}, "INTERNAL_ERROR", LATE),
    ("waits", {}, "INTERNAL_ERROR", LATE),
    ("nan", {}, "INVALID_OUTPUT", BROKEN),
    ("deep_nan", {}, "INVALID_OUTPUT", BROKEN),
    ("cyclic", {}, "INVALID_OUTPUT", BROKEN),
    ("wrong", {}, "INVALID_OUTPUT", BROKEN),
    ("odd", {}, "INVALID_OUTPUT", BROKEN),
    ("huge", {}, "INVALID_OUTPUT", "bytes, and may give 2,097,152 at most: ask for less"),
    ("forgets", {}, "INTERNAL_ERROR", BUG),
    ("secret", {}, "INTERNAL_ERROR", BUG),
    ("refuses", {"name": "it"}, "NOT_FOUND", "there is no it"),
]
SPINS = ("spins", {}, "INTERNAL_ERROR", LATE)
"""In processes of its own: it takes a processor to their end."""


@pytest.mark.parametrize(("name", "arguments", "code", "words"), CASES)
def test_over_http_the_call_fails_and_the_next_is_served(
    server: Server, name: str, arguments: dict[str, Any], code: str, words: str
) -> None:
    failed = server.post(f"/api/tools/{name}", arguments).json()
    after = server.post("/api/tools/echo", {"text": "still here"}).json()

    assert failed["error"]["code"] == code
    assert words in failed["error"]["message"]
    assert after["result"] == {"result": "still here"}
    assert "canary-of-a-secret" not in server.stderr()


@pytest.mark.parametrize(("name", "arguments", "code", "words"), CASES)
def test_on_stdio_the_call_fails_and_the_next_is_served(
    pipe: Pipe, name: str, arguments: dict[str, Any], code: str, words: str
) -> None:
    failed = pipe.ask(_call(1, name, arguments))
    after = pipe.ask(_call(2, "echo", {"text": "still here"}))

    said = failed["error"] if "error" in failed else failed["result"]
    assert (said.get("data") or said.get("_meta"))["canonical_code"] == code
    assert words in (said.get("message") or said["content"][0]["text"])
    assert after["result"]["structuredContent"] == {"result": "still here"}


def test_a_tool_that_spins_fails_alone_too() -> None:
    with serving(TOOLS, "--call-timeout-s", "1") as own:
        test_over_http_the_call_fails_and_the_next_is_served(own, *SPINS)
    with piping(SIGNET, "stdio", TOOLS, "--call-timeout-s", "1", "--no-journal") as own_pipe:
        test_on_stdio_the_call_fails_and_the_next_is_served(own_pipe, *SPINS)


def test_what_a_tool_prints_reaches_no_client() -> None:
    with piping(SIGNET, "stdio", TOOLS, "--no-journal") as pipe:
        answer = pipe.ask(_call(1, "prints", {"text": "hello"}))
        status, out, err = pipe.finish()

    assert answer["result"]["structuredContent"] == {"result": "hello"}
    assert (status, out) == (0, b"")
    assert err.count(b"hello") == 2
    assert b"printed while it was imported" in err
    assert b"from a child" in err


def test_a_server_ends_although_tools_never_return() -> None:
    """A thread that runs for ever must not keep the process."""
    with piping(SIGNET, "stdio", TOOLS, "--no-journal", "--call-timeout-s", "1") as pipe:
        pipe.ask(_call(1, "sleeps", {}))
        status, _, _ = pipe.finish()

    assert status == 0


def _call(number: int, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def test_a_tool_that_reads_standard_input_takes_no_message_of_the_client() -> None:
    with piping(SIGNET, "stdio", TOOLS, "--no-journal") as pipe:
        pipe.send(_call(1, "asks", {}), _call(2, "echo", {"text": "still here"}))
        answers = {answer["id"]: answer["result"]["structuredContent"] for answer in (pipe.receive(), pipe.receive())}

    assert answers == {1: {"result": ""}, 2: {"result": "still here"}}


def test_a_tool_that_never_returns_takes_no_other_tool_down() -> None:
    """With as many calls as there are threads, all given up, plain functions are still served."""
    with piping(SIGNET, "stdio", TOOLS, "--no-journal", "--call-timeout-s", "1") as pipe:
        pipe.send(*[_call(number, "sleeps", {}) for number in range(64)])
        given_up = [pipe.receive() for _ in range(64)]
        after = pipe.ask(_call(100, "echo", {"text": "still here"}))
        refused = pipe.ask(_call(101, "sleeps", {}))

    assert all(LATE in answer["error"]["message"] for answer in given_up)
    assert after["result"]["structuredContent"] == {"result": "still here"}
    assert refused["error"]["message"] == (
        "64 of your earlier calls, which timed out or were left, still run: wait until they have ended, "
        "then call sleeps again. If they never end, the tool has to be mended"
    )
