"""A lock that must be there: what is refused, and what is served all the same, of servers that no lock knows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from door_calls import INITIALIZE, rpc
from processes import PATIENCE_S, ROOT, SIGNET, clean_env

CHANGING = (sys.executable, str(ROOT / "tests/lock/changing_server.py"))
WRAP = ("wrap", "--no-journal")
LISTING = "".join(json.dumps(one) + "\n" for one in (INITIALIZE, rpc("tools/list", {}, request_id=2)))


def signet(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SIGNET, *words],
        cwd=folder,
        env=clean_env(None),
        input=LISTING,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def listed(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Return the names of the tools that a process listed."""
    assert done.returncode == 0, done.stderr
    answer = next(line for line in map(json.loads, done.stdout.splitlines()) if line.get("id") == 2)
    return [tool["name"] for tool in answer["result"]["tools"]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder whose lock knows the server `known`, and no other."""
    (tmp_path / "empty").mkdir()
    pinned = signet(tmp_path, "lock", "--name", "known", "--", *CHANGING)
    assert pinned.returncode == 0, pinned.stderr
    return tmp_path


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--lock-file", "other.lock"), "there is no lock {folder}/other.lock; write it: "),
        (("--lock-file", "other.lock", "--lock", "require"), "there is no lock {folder}/other.lock; write it: "),
        (("--name", "unknown"), "signet.lock does not pin 'unknown'; pin it: "),
        ((), "signet.lock does not pin 'changing_server'; pin it: "),
        (("--lock", "require", "--name", "unknown"), "signet.lock does not pin 'unknown'; pin it: "),
        (("--lock", "text=block", "--name", "unknown"), "signet.lock does not pin 'unknown'; pin it: "),
    ],
)
@pytest.mark.parametrize("door", [(), ("--serve", "--port", "0")], ids=["stdio", "http"])
def test_a_server_that_no_lock_pins_where_one_must_is_not_started(
    folder: Path, words: tuple[str, ...], why: str, door: tuple[str, ...]
) -> None:
    done = signet(folder, *WRAP, *door, *words, "--", *CHANGING)

    assert (done.returncode, done.stdout) == (2, "")
    assert why.format(folder=folder) in done.stderr
    assert "signet lock" in done.stderr


def test_the_command_of_the_refusal_pins_the_server(folder: Path) -> None:
    refused = signet(folder, *WRAP, "--name", "unknown", "--", *CHANGING)
    command = refused.stderr.partition("pin it: ")[2].strip()

    pinned = subprocess.run(
        command.replace("signet", SIGNET, 1) if command.startswith("signet ") else command,
        shell=True,
        cwd=folder,
        env=clean_env(None),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )

    assert pinned.returncode == 0, (command, pinned.stderr)
    assert listed(signet(folder, *WRAP, "--name", "unknown", "--", *CHANGING)) == ["weather", "time"]


def test_a_lock_that_is_required_must_be_there_in_every_folder(folder: Path) -> None:
    done = signet(folder / "empty", *WRAP, "--lock", "require", "--name", "known", "--", *CHANGING)

    assert done.returncode == 2
    assert f"there is no lock {folder}/empty/signet.lock" in done.stderr


def test_without_a_lock_and_without_a_flag_all_is_served_and_the_place_is_told(folder: Path) -> None:
    done = signet(folder / "empty", *WRAP, "--log", "info", "--", *CHANGING)

    assert listed(done) == ["weather", "time"]
    assert f"there is no {folder}/empty/signet.lock, so that nothing is pinned" in done.stderr


def test_a_lock_that_is_left_aside_refuses_nothing(folder: Path) -> None:
    flags = ("--lock", "off", "--lock-file", "other.lock")

    assert listed(signet(folder, *WRAP, *flags, "--name", "unknown", "--", *CHANGING)) == ["weather", "time"]


def test_of_a_file_of_servers_those_that_the_lock_knows_are_served(folder: Path) -> None:
    entry = {"command": CHANGING[0], "args": CHANGING[1:]}
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"known": entry, "unknown": entry}}), encoding="utf-8")
    (folder / "none.json").write_text(json.dumps({"mcpServers": {"a": entry, "b": entry}}), encoding="utf-8")

    some = signet(folder, *WRAP, "--config", "mcp.json")
    none = signet(folder, *WRAP, "--config", "none.json")

    assert listed(some) == ["known_weather", "known_time"]
    assert "lock.unpinned server=unknown" in some.stderr
    assert (none.returncode, "signet.lock does not pin 'a', 'b'; pin it: " in none.stderr) == (2, True)


def test_of_the_servers_of_the_settings_those_that_the_lock_knows_are_served(folder: Path) -> None:
    args = json.dumps(CHANGING[1:])
    tables = [f"[servers.{name}]\ncommand = {json.dumps(CHANGING[0])}\nargs = {args}\n" for name in ("known", "other")]
    (folder / "signet.toml").write_text('toolsets = "plantuml"\n' + "".join(tables), encoding="utf-8")
    (folder / "none.toml").write_text('toolsets = "plantuml"\n' + tables[1], encoding="utf-8")

    some = listed(signet(folder, "stdio", "--no-journal"))
    none = listed(signet(folder, "stdio", "--no-journal", "--config", "none.toml"))

    assert [name for name in some if "weather" in name] == ["known_weather"]
    assert none
    assert not any("weather" in name for name in none)
