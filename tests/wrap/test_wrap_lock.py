"""A server that changed since it was pinned, behind `signet wrap`: what is listed, and what may be called."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from door_calls import rpc
from processes import PATIENCE_S, SIGNET, clean_env, piping

CHANGING = Path(__file__).parents[1] / "lock/changing_server.py"
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "witness", "version": "1"}}
PINNED = "Return the weather of a city."


@pytest.fixture(scope="module")
def lock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lock") / "signet.lock"
    command = [SIGNET, "lock", "--lock-file", str(path), "--name", "changing", "--", sys.executable, str(CHANGING)]
    subprocess.run(command, check=True, env=clean_env(None), timeout=PATIENCE_S, capture_output=True)
    return path


def seen(lock: Path, word: str, tool: str = "weather", *flags: str) -> tuple[list[dict[str, Any]], dict[str, Any], str]:
    """Return the listed tools, the answer to a call, and the log, of a server with one change."""
    server = (sys.executable, str(CHANGING), word)
    options = ("--lock-file", str(lock), "--name", "changing", "--no-journal", *flags)
    with piping(SIGNET, "wrap", *options, "--", *server) as pipe:
        pipe.ask(rpc("initialize", HELLO, request_id=1))
        listed = pipe.ask(rpc("tools/list", {}, request_id=2))["result"]["tools"]
        answer = pipe.ask(rpc("tools/call", {"name": tool, "arguments": {"city": "Oslo"}}, request_id=3))
        _, _, log = pipe.finish()
    return listed, answer, log.decode()


def blocked(answer: dict[str, Any]) -> str:
    """Return why a call was blocked; fail if it was not."""
    assert answer["result"]["isError"] is True, answer
    return str(answer["result"]["content"][0]["text"])


def reached(answer: dict[str, Any]) -> bool:
    """Return whether a call came to the server, which knows no calls."""
    return bool(answer.get("error", {}).get("code") == -32601)


@pytest.mark.parametrize(
    ("word", "field", "why"),
    [
        ("argument", "widened: inputSchema", "units"),
        ("required", "breaking: inputSchema", "units"),
        ("field", "breaking: outputSchema", "sky"),
        ("hidden", "widened: description", "U+200B"),
        ("destination", "widened: description", "evil.example"),
        ("rename", "under another name", "forecast"),
        ("annotations", "widened: annotations", "readOnlyHint"),
    ],
)
def test_a_change_that_widens_or_breaks_is_blocked_until_it_is_accepted(
    lock: Path, word: str, field: str, why: str
) -> None:
    """A model reads which field changed, and no new word; the operator reads the change in the log."""
    listed, answer, log = seen(lock, word)

    assert field in blocked(answer)
    assert why not in blocked(answer)
    assert blocked(answer).endswith("; ask the operator of this server to review the change")
    assert "signet lock" not in blocked(answer), "a model with a shell could approve the change itself"
    assert (listed[0]["name"], listed[0]["description"]) == ("weather", PINNED)
    assert why in log


def test_what_did_not_change_is_called_beside_what_did(lock: Path) -> None:
    _, answer, _ = seen(lock, "field", "time")

    assert reached(answer)


def test_changed_words_are_noted_and_the_pinned_ones_are_listed(lock: Path) -> None:
    listed, answer, log = seen(lock, "description")

    assert reached(answer)
    assert listed[0]["description"] == PINNED
    assert "description" in log


def test_changed_words_are_blocked_where_the_policy_says_so(lock: Path) -> None:
    _, answer, _ = seen(lock, "description", "weather", "--lock", "text=block")

    assert "description" in blocked(answer)


def test_a_compatible_change_is_let_through_and_noted(lock: Path) -> None:
    _, answer, log = seen(lock, "optional")

    assert reached(answer)
    assert "compatible" in log


def test_without_the_lock_everything_is_as_the_server_says(lock: Path) -> None:
    listed, answer, _ = seen(lock, "rename", "forecast", "--lock", "off")

    assert [tool["name"] for tool in listed] == ["forecast", "time"]
    assert reached(answer)


def test_a_lock_that_cannot_be_read_keeps_the_wrapper_from_starting(tmp_path: Path) -> None:
    broken = tmp_path / "signet.lock"
    broken.write_text(json.dumps({"lockVersion": 1, "servers": []}), encoding="utf-8")
    command = [SIGNET, "wrap", "--lock-file", str(broken), "--", sys.executable, str(CHANGING)]

    refused = subprocess.run(
        command, check=False, input=b"", env=clean_env(None), timeout=PATIENCE_S, capture_output=True
    )

    assert refused.returncode == 2
    assert str(broken).encode() in refused.stderr
