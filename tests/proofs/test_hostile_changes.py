"""A pinned schema that changed into one that takes minutes to compare: it breaks, and nobody else waits for it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from door_calls import rpc
from processes import PATIENCE_S, ROOT, SIGNET, Pipe, clean_env, piping

HOSTILE = str(ROOT / "tests/proofs/schema_server.py")
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "witness", "version": "1"}}
UNPROVEN = "it is not proven to be compatible within 10 s and 200 MB of memory, and that counts as breaking"
COMPARED = "the change is still being compared: call it again in a few seconds"


def signet(folder: Path, *args: str) -> tuple[int, str]:
    command = [SIGNET, *args]
    done = subprocess.run(command, check=False, cwd=folder, env=clean_env(), timeout=PATIENCE_S, capture_output=True)
    return done.returncode, done.stdout.decode() + done.stderr.decode()


def server(word: str = "") -> tuple[str, ...]:
    return ("--name", "changing", "--", sys.executable, HOSTILE, word)


@pytest.fixture(scope="module")
def pinned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the lock of the server as it was."""
    folder = tmp_path_factory.mktemp("pinned")
    assert signet(folder, "lock", *server())[0] == 0
    return folder


def test_a_change_that_cannot_be_proven_in_time_breaks_the_lock(pinned: Path) -> None:
    status, told = signet(pinned, "lock", "--check", *server("pattern"))

    assert status == 11
    assert UNPROVEN in told


@pytest.mark.parametrize("word", ["classes", "doubling", "doubling-choices", "deep", "chain", "malformed", "choices"])
def test_a_change_that_takes_too_much_of_something_else_breaks_the_lock(pinned: Path, word: str) -> None:
    status, told = signet(pinned, "lock", "--check", *server(word))

    assert status == 11
    assert "tool weather: breaking" in told


def test_a_change_that_is_cheap_to_prove_is_let_through_as_before(pinned: Path) -> None:
    status, told = signet(pinned, "lock", "--check", *server("optional"))

    assert status == 10
    assert "inputSchema: takes more (compatible)" in told


@pytest.mark.parametrize("word", ["pattern", "classes", "doubling", "chain"])
def test_the_first_lock_pins_whatever_the_schema_is(tmp_path: Path, word: str) -> None:
    status, told = signet(tmp_path, "lock", *server(word))

    assert (status, told) == (0, "changing: pinned 2 tools\n")
    assert signet(tmp_path, "lock", "--check", *server(word)) == (0, "all as pinned in signet.lock\n")


def test_a_hard_comparison_of_contract_sets_breaks(pinned: Path) -> None:
    new = f"stdio:{sys.executable} {HOSTILE} pattern"

    status, told = signet(pinned, "contract", "diff", "signet.lock", new, "--json")

    assert status == 1
    assert UNPROVEN in json.loads(told)["findings"][0]["why"]


def call(pipe: Pipe, tool: str, number: int) -> Any:
    params = {"name": tool, "arguments": {"city": "Oslo"}}
    return pipe.ask(rpc("tools/call", params, request_id=number))["result"]


def test_unchanged_tools_are_called_while_a_changed_one_is_compared(pinned: Path) -> None:
    flags = ("--lock-file", str(pinned / "signet.lock"), "--no-journal", *server("pattern"))
    with piping(SIGNET, "wrap", *flags) as pipe:
        pipe.ask(rpc("initialize", HELLO, request_id=1))
        listed = pipe.ask(rpc("tools/list", {}, request_id=2))["result"]["tools"]
        answers = [call(pipe, "time", number)["content"][0]["text"] for number in range(3, 23)]
        refused = call(pipe, "weather", 30)

        assert [tool["name"] for tool in listed] == ["weather", "time"]
        assert answers == ["called"] * 20
        assert refused["isError"] is True
        assert refused["content"][0]["text"].endswith(COMPARED)


def test_a_changed_tool_that_is_quickly_proven_waits_for_its_proof(pinned: Path) -> None:
    flags = ("--lock-file", str(pinned / "signet.lock"), "--no-journal", *server("optional"))
    with piping(SIGNET, "wrap", *flags) as pipe:
        pipe.ask(rpc("initialize", HELLO, request_id=1))

        assert call(pipe, "weather", 2)["content"][0]["text"] == "called"


def test_a_changed_tool_without_a_proof_stays_blocked_and_the_operator_reads_why(pinned: Path) -> None:
    flags = ("--lock-file", str(pinned / "signet.lock"), "--no-journal", *server("pattern"))
    with piping(SIGNET, "wrap", *flags) as pipe:
        pipe.ask(rpc("initialize", HELLO, request_id=1))
        while COMPARED in call(pipe, "weather", 1)["content"][0]["text"]:
            continue
        answers = [call(pipe, "weather", 2), call(pipe, "weather", 3), call(pipe, "time", 4)]
        _, _, log = pipe.finish()

    told = [answer["content"][0]["text"] for answer in answers]
    assert told[0] == told[1]
    assert told[0].endswith("; ask the operator of this server to review the change")
    assert told[2] == "called"
    assert log.count(UNPROVEN.encode()) == 1
