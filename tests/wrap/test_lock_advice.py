"""A change that the lock blocks: the model reads no command, and the command in the log works when it is pasted."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from door_calls import INITIALIZE, rpc
from processes import PATIENCE_S, ROOT, SIGNET, clean_env
from signet.relay.spec_secrets import lock_words
from signet.settings.server_spec import ServerSpec

CHANGING = ROOT / "tests/lock/changing_server.py"
SERVER = f"""
import runpy, sys
with open("changes", encoding="utf-8") as file:
    sys.argv = [{str(CHANGING)!r}, *file.read().split()]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
SCRIPT = "it's a server.py"
COMMAND = (sys.executable, SCRIPT)
ENTRY = {"command": COMMAND[0], "args": [SCRIPT]}
WRAP = ("wrap", "--no-journal")
SOURCES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...], str]] = {
    "a command": (WRAP, ("--", *COMMAND), "weather"),
    "a name": (WRAP, ("--name", "my-weather", "--", *COMMAND), "weather"),
    "another lock": (WRAP, ("--lock-file", "my.lock", "--era", "handshake", "--", *COMMAND), "weather"),
    "variables": (WRAP, ("--env", "TOKEN=open-sesame", "--env", "HERE", "--env", "B=c d", "--", *COMMAND), "weather"),
    "a client's file": (WRAP, ("--config", "mcp.json"), "one_weather"),
    "signet.toml": (("stdio", "--no-journal", "--log", "info"), (), "one_weather"),
    "another signet.toml": (("stdio", "--no-journal", "--log", "info"), ("--config", "other.toml"), "one_weather"),
}
"""How the server is served, the words that name it, and the tool to call."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / SCRIPT).write_text(SERVER, encoding="utf-8")
    (tmp_path / "changes").write_text("")
    table = f"toolsets = []\n[servers.one]\ncommand = {json.dumps(COMMAND[0])}\nargs = {json.dumps([SCRIPT])}\n"
    other = table.replace("servers.one", "servers.two")
    (tmp_path / "signet.toml").write_text(table, encoding="utf-8")
    (tmp_path / "other.toml").write_text(table + other.partition("\n")[2], encoding="utf-8")
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"one": ENTRY, "two": ENTRY}}), encoding="utf-8")
    return tmp_path


def shell(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    """Run a command as if it had been pasted into a shell."""
    environ = clean_env({"HERE": "1"})
    environ["PATH"] = f"{Path(SIGNET).parent}{os.pathsep}{environ['PATH']}"
    return subprocess.run(
        command, shell=True, cwd=folder, env=environ, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )


def call(folder: Path, words: tuple[str, ...], tool: str) -> tuple[str, str]:
    """Return the answer to a call, if there is one, and the log."""
    said = [INITIALIZE, rpc("tools/call", {"name": tool, "arguments": {"city": "Oslo"}}, request_id=2)]
    done = subprocess.run(
        [SIGNET, *words],
        cwd=folder,
        env=clean_env({"HERE": "1"}),
        input="".join(json.dumps(one) + "\n" for one in said),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return (done.stdout.splitlines() or [""])[-1], done.stderr


def advice(log: str, action: str) -> list[str]:
    """Return the commands that the log advises, or the error with which the start was refused."""
    quoted = re.findall(rf' {action}=("(?:[^"\\]|\\.)*")', log)
    refused = re.findall(r"; (?:write|pin) it: (.*)", log) if action == "pin" else []
    return [*(json.loads(one) for one in quoted), *refused]


@pytest.mark.parametrize("source", SOURCES)
def test_the_advice_of_the_log_works_when_it_is_pasted(folder: Path, source: str) -> None:
    serve, named, tool = SOURCES[source]
    _, log = call(folder, (*serve, *named), tool)
    pinned = shell(folder, *advice(log, "pin"))
    assert pinned.returncode == 0, (log, pinned)
    (folder / "changes").write_text("field")

    answer, log = call(folder, (*serve, *named), tool)
    # The value of a secret is not repeated: a person fills it in.
    accept = [one.replace("[redacted]", "open-sesame") for one in advice(log, "accept") if "weather" in one]

    assert "BLOCKED_BY_LOCK" in answer or "review the change" in answer
    assert re.search(r"signet (lock|wrap)|--accept", answer) is None, "a model with a shell could approve it itself"
    assert "open-sesame" not in log
    assert len(accept) == 1, log
    accepted = shell(folder, accept[0])
    assert (accepted.returncode, "accepted tool weather" in accepted.stdout) == (0, True), (accept, accepted)
    answer, log = call(folder, (*serve, *named), tool)
    assert "review the change" not in answer
    assert [one for one in advice(log, "accept") if "weather" in one] == []


def test_the_advice_of_the_commands_works_when_it_is_pasted(folder: Path) -> None:
    words = f'--name mine --lock-file my.lock -- {sys.executable} "{SCRIPT}"'

    missing = shell(folder, f"signet preflight weather {words}")
    pinned = shell(folder, missing.stderr.partition("write it: ")[2])
    (folder / "changes").write_text("field added")
    changed = shell(folder, f"signet lock {words}")
    one = shell(folder, re.findall(r"accept one: (.*)", changed.stdout)[0])
    rest = shell(folder, re.findall(r"accept all: (.*)", one.stdout)[0])
    unknown = shell(folder, f"signet preflight weather {words.replace('mine', 'other')}")
    both = shell(folder, unknown.stderr.partition("pin it: ")[2])

    assert [done.returncode for done in (missing, pinned, changed, one, rest, unknown, both)] == [
        12,
        0,
        11,
        11,
        0,
        12,
        0,
    ]
    assert shell(folder, f"signet lock --check {words}").returncode == 0


def words(*specs: ServerSpec, lock_file: str = "signet.lock", **environ: str) -> list[str] | None:
    return lock_words(specs, lock_file, environ)


def test_the_words_for_a_server_have_its_source_and_no_secret() -> None:
    remote = ServerSpec(
        name="far", url="https://a:b@host.example/mcp?key=c", headers=(("A", "b"),), header_file="headers.txt"
    )
    local = ServerSpec(name="weather", command=("npx", "weather", "--token", "abc"), env=(("A", "1"), ("PAT", "x")))
    tape = ServerSpec(name="weather", tape="tape")

    assert words(remote) == [
        *("--name", "far", "--url", "https://host.example/mcp?key=[redacted]", "--header-file", "headers.txt")
    ]
    command = ["--", "npx", "weather", "--token", "[redacted]"]
    assert words(local) == ["--env", "A=1", "--env", "PAT=[redacted]", *command]
    assert words(local, A="1", PAT="x") == ["--env", "A", "--env", "PAT", *command]
    assert words(tape) is None
    assert words() is None
    of_file = replace(local, config="mcp.json")
    assert words(of_file, replace(of_file, name="other")) == ["--config", "mcp.json"]
    assert words(of_file, lock_file="a.lock") == ["--lock-file", "a.lock", "--config", "mcp.json", "--name", "weather"]


def test_a_command_that_does_not_fit_into_a_line_is_not_cut(folder: Path) -> None:
    """The line of the log is bounded: a long command has a line of its own, and a longer one none."""
    middle = "a" * (1_690 - len(shlex.join((SIGNET, "lock", "--", *COMMAND))))
    long = "b" * 3_000

    logs = [call(folder, (*WRAP, "--", *COMMAND, word), "weather")[1] for word in (middle, long)]

    assert [middle in line for line in logs[0].splitlines() if "lock.advice" in line] == [True]
    assert ("lock.missing" in logs[1], "b" * 100 in logs[1]) == (True, False)
