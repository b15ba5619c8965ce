"""The fork server: a process that begins as a copy does what a process that begins from nothing does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import fork_server
from processes import FIRST_AND_LAST_DOOR, PATIENCE_S, SIGNET, clean_env, piping, serving

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
FRESH = {"FRESH_PROCESSES": "1"}
COMMANDS = [
    ("--version",), ("--help",), ("no-such-command",), ("tools",), ("config",), ("completion", "bash"),
    ("stdio", "--no-journal"), ("call", "encodePlantUML", "plantumlCode=A -> B"), ("call", "encodePlantUML"),
    ("call", "--sandbox", "get_problem", "source=leetcode", "id=9001"), ("boj", "databases"),
    ("oj", "show", "--sandbox", "leetcode:1"), ("serve", "--port", "no-port"), ("audit", "verify", "no-such-file"),
]  # fmt: skip


def ended(folder: Path, *command: str, **more: str) -> tuple[int, bytes, bytes]:
    """Return how a command ends and what it prints."""
    env = clean_env({"COLUMNS": "100", "SIGNET_JOURNAL": "no", **more})
    done = subprocess.run(
        command, input=PING, cwd=folder, env=env, capture_output=True, timeout=PATIENCE_S, check=False
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_that_begins_as_a_copy_does_what_it_does_from_nothing(tmp_path: Path, words: tuple[str, ...]) -> None:
    assert ended(tmp_path, SIGNET, *words) == ended(tmp_path, SIGNET, *words, **FRESH)


def test_a_module_that_is_run_by_its_name_is_one_too(tmp_path: Path) -> None:
    command = (sys.executable, "-m", "signet", "call", "encodePlantUML", "--help")

    assert ended(tmp_path, *command) == ended(tmp_path, *command, **FRESH)


def test_copies_and_others_are_told_apart() -> None:
    """By the line that started them: a copy has that of the fork server."""

    def line_of(pid: int) -> bytes:
        return Path(f"/proc/{pid}/cmdline").read_bytes()

    with piping(SIGNET, "stdio", "--no-journal") as copy, piping(SIGNET, "stdio", "--no-journal", env=FRESH) as fresh:
        assert copy.ask({"jsonrpc": "2.0", "id": 1, "method": "ping"})["result"] == {}
        assert [b"fork_server.py" in line_of(pipe.process.pid) for pipe in (copy, fresh)] == [True, False]


@pytest.mark.parametrize(
    ("command", "more", "can"),
    [
        ([SIGNET, "tools"], {}, True),
        ([SIGNET, "tools"], FIRST_AND_LAST_DOOR, True),
        ([SIGNET, "tools"], FRESH, False),
        ([SIGNET, "tools"], {"PYTHONPATH": "/elsewhere"}, False),
        ([SIGNET, "tools"], {"PYTHONIOENCODING": "ascii"}, False),
        ([SIGNET, "tools"], {"SSL_CERT_FILE": "/a/file"}, False),
        ([sys.executable, "-m", "signet"], {}, True),
        ([sys.executable, "-m", "pip"], {}, False),
        ([sys.executable, "-c", "import signet"], {}, False),
        ([sys.executable], {}, False),
        (["/bin/sh", "-c", SIGNET], {}, False),
    ],
)
def test_what_an_interpreter_reads_at_its_start_is_left_to_a_start(
    command: list[str], more: dict[str, str], can: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("FRESH_PROCESSES", "COVERAGE_PROCESS_START"):
        monkeypatch.delenv(name, raising=False)

    assert fork_server.can_fork(command, clean_env(more)) is can


def test_a_copy_is_a_child_of_the_tests_and_hears_their_signals() -> None:
    with serving("--toolsets", "plantuml", "--no-journal") as server:
        stat = Path(f"/proc/{server.process.pid}/stat").read_text(encoding="utf-8")
        server.process.send_signal(signal.SIGKILL)
        status = server.process.wait(PATIENCE_S)

    assert int(stat.rpartition(")")[2].split()[1]) == os.getpid()
    assert status == -signal.SIGKILL
