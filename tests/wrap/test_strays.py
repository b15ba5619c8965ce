"""Processes that leave the process group of a wrapped server: they end with it, however Signet ends."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from attack.wrapped_processes import ODD, Session, end, wrapping
from processes import PATIENCE_S, SIGNET, serving

from .stdio_caller import StdioCaller

ENDED_S = 6.0
"""The time that is promised."""


def running(pids: Sequence[int]) -> list[int]:
    """Return those processes that have not ended."""
    found = []
    for pid in pids:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        found += [pid] if state not in {"Z", "X"} else []
    return found


def left(pids: Sequence[int]) -> list[int]:
    """Return those processes that have not ended in the time that is promised, and end them."""
    deadline = time.monotonic() + ENDED_S
    while running(pids) and time.monotonic() < deadline:
        time.sleep(0.02)
    found = running(pids)
    for pid in found:
        os.kill(pid, signal.SIGKILL)
    return found


def strays(session: Session, tool: str = "stray") -> list[int]:
    """Let a server start processes that leave its group; return their ids."""
    pids: list[int] = json.loads(session.call(tool)["result"]["content"][0]["text"])
    assert len(running(pids)) == len(pids) == 2
    return pids


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("flags", [(), ("--dev",)], ids=["plain", "dev"])
def test_they_end_with_the_server(tmp_path: Path, number: int, flags: tuple[str, ...]) -> None:
    config = tmp_path / "signet.toml"
    command, *arguments = [*ODD, str(tmp_path)]
    config.write_text(f"[servers.odd]\ncommand = {json.dumps(command)}\nargs = {json.dumps(arguments)}\n")
    with serving("--config", str(config), "--no-journal", "--no-console", *flags) as server:
        session = Session(server.port)
        pids = strays(session, "odd_stray")
        server.process.send_signal(number)
        found = left(pids)
        server.process.wait(PATIENCE_S)

    assert found == []


def test_they_end_with_a_server_on_stdio(tmp_path: Path) -> None:
    caller = StdioCaller((SIGNET, "wrap", "--no-journal", "--", *ODD, str(tmp_path)), "handshake")
    try:
        caller.open()
        pids = json.loads(caller.tool("stray").result["content"][0]["text"])
        assert len(running(pids)) == 2
        caller.process.terminate()
        found = left(pids)
    finally:
        caller.close()

    assert found == []


def test_they_end_with_the_session_and_those_of_another_session_go_on(tmp_path: Path) -> None:
    with wrapping(tmp_path, "session") as server:
        sessions = [Session(server.port) for _ in range(2)]
        for session in sessions:
            session.open()
        mine, others = map(strays, sessions)
        end(sessions[0])

        assert left(mine) == []
        assert running(others) == others
