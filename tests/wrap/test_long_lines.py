"""Messages over 16 MiB of a wrapped server: an error of the request that says the limit, and no part of the message."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from processes import SIGNET, piping, run, serving_command

from .doors import Door, HttpDoor, StdioDoor, ask, call, said

COMMAND = (sys.executable, "-I", "-S", str(Path(__file__).with_name("long_lines_server.py")))
LIMIT = "16 MiB (16777216 bytes)"
FLAGS = ("--no-journal", "--call-timeout-s", "600")
"""An answer that nobody finds would be waited for longer than a test may take."""


@pytest.fixture(scope="module", params=["stdio", "http"])
def door(request: pytest.FixtureRequest) -> Iterator[Door]:
    if request.param == "stdio":
        with piping(SIGNET, "wrap", *FLAGS, "--", *COMMAND) as pipe:
            yield StdioDoor(pipe, "")
    else:
        command = (SIGNET, "wrap", "--serve", "--port", "0", "--no-console", *FLAGS, "--", *COMMAND)
        with serving_command(*command) as server:
            yield HttpDoor(server, "")


def calls(door: Door, *names: str) -> list[tuple[str, str]]:
    """Call tools at once, and return what each answers."""
    requests = [("tools/call", {"name": name, "arguments": {}}) for name in names]
    return [said(response) for response in door.ask_all(requests)]


@pytest.mark.parametrize("place", ["first", "last"])
def test_a_result_that_is_too_long_is_an_error_that_says_the_limit(door: Door, place: str) -> None:
    kind, text = call(door, place)

    assert (kind, LIMIT in text) == ("error", True)
    assert call(door, "echo") == ("result", "echoed")


def test_an_id_inside_of_a_result_that_is_too_long_is_not_that_of_the_request() -> None:
    with piping(SIGNET, "wrap", *FLAGS, "--", *COMMAND) as pipe:
        waited, (kind, text) = calls(StdioDoor(pipe, ""), "waits", "decoy")

    assert waited == ("result", "waited")
    assert (kind, LIMIT in text) == ("error", True)


def test_where_the_request_cannot_be_found_all_that_are_under_way_fail() -> None:
    with piping(SIGNET, "wrap", *FLAGS, "--", *COMMAND) as pipe:
        door = StdioDoor(pipe, "")
        found = calls(door, "waits", "hidden")

        assert [(kind, LIMIT in text) for kind, text in found] == [("error", True)] * 2
        assert call(door, "echo") == ("result", "echoed")


def test_a_request_of_the_server_that_is_too_long_is_refused(door: Door) -> None:
    kind, text = call(door, "asks")

    assert (kind, text[:2], LIMIT in text) == ("result", "q:", True)


def test_a_notification_that_is_too_long_is_passed_over(door: Door) -> None:
    assert call(door, "notifies") == ("result", "notified")


@pytest.mark.parametrize("method", ["tools/list", "prompts/list"])
def test_a_list_that_is_too_long_is_an_error_that_says_the_limit(method: str) -> None:
    with piping(SIGNET, "wrap", *FLAGS, "--", *COMMAND, method) as pipe:
        found = ask(StdioDoor(pipe, ""), method)

    assert LIMIT in found["error"]["message"]


def test_commands_that_ask_a_server_once_say_the_limit() -> None:
    listed, called = run("tools", "--", *COMMAND, "tools/list"), run("call", "first", "--", *COMMAND)

    assert [done.returncode for done in (listed, called)] == [2, 1]
    assert [LIMIT in done.stderr.decode() for done in (listed, called)] == [True, True]
    assert len(listed.stdout + called.stdout) < 1000


def test_a_recording_holds_the_error_in_place_of_a_result_that_is_too_long(tmp_path: Path) -> None:
    tape = str(tmp_path / "tape")
    with piping(SIGNET, "wrap", *FLAGS, "--record", tape, "--", *COMMAND) as pipe:
        door = StdioDoor(pipe, "")
        live = call(door, "first")
        door.stderr()

    with piping(SIGNET, "wrap", *FLAGS, "--replay", tape) as pipe:
        played = call(StdioDoor(pipe, ""), "first")

    assert live == played
    assert LIMIT in played[1]
