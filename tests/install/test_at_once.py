"""Several `signet install` at one time: each entry is kept, and each backup is the file as it was before."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from commands_in_process import signet_here
from processes import PATIENCE_S, SIGNET, clean_env
from signet.system.files import locked_folder

NAMES = [f"server-{number}" for number in range(6)]
HOLDER = """
import sys
from signet.system.files import locked_folder
with locked_folder(sys.argv[1], wait_s=0):
    print("held", flush=True)
    sys.stdin.read()
"""


def environ(home: Path) -> dict[str, str]:
    return clean_env({"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"), "CLAUDE_CONFIG_DIR": ""})


def at_once(home: Path, *commands: list[str]) -> list[tuple[int, str]]:
    """Run commands at one time; return their statuses and what they printed as errors."""
    running = [
        subprocess.Popen([SIGNET, *words], cwd=home, env=environ(home), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for words in commands
    ]
    texts = [process.communicate(timeout=PATIENCE_S)[1].decode() for process in running]
    return [(process.returncode, text) for process, text in zip(running, texts, strict=True)]


def entries(path: Path) -> dict[str, object]:
    return dict(json.loads(path.read_bytes())["mcpServers"])


@pytest.mark.parametrize("form", ["missing", "file", "link"])
def test_six_at_once_keep_all_entries(tmp_path: Path, form: str) -> None:
    path = tmp_path / ".cursor/mcp.json"
    if form == "file":
        path.parent.mkdir()
        path.write_text('{"mcpServers": {"mine": {"command": "x"}}}')
    if form == "link":
        path.parent.mkdir()
        (tmp_path / "dotfiles").mkdir()
        path.symlink_to(tmp_path / "dotfiles/cursor.json")
    mine = {"mine"} if form == "file" else set()

    for _ in range(2):
        done = at_once(tmp_path, *[["install", "cursor", "boj", "--name", name] for name in NAMES])

        assert done == [(0, "")] * 6
        assert entries(path).keys() == {*NAMES, *mine}
        backups = [sorted(json.loads(one.read_bytes())["mcpServers"]) for one in path.parent.glob("*.bak")]
        # Each of them is the file as another one left it; a file that was missing has no backup.
        assert sorted(map(len, backups)) == list(range(len(mine) if mine else 1, 6 + len(mine)))
        assert {one.name for one in path.parent.iterdir() if not one.name.endswith(".bak")} == {"mcp.json"}

        assert at_once(tmp_path, *[["uninstall", "cursor", "--name", name] for name in NAMES]) == [(0, "")] * 6
        assert not path.exists() or entries(path).keys() == mine
        for backup in path.parent.glob("*.bak"):
            backup.unlink()


def test_a_change_waits_for_another_one_and_its_end_by_kill_frees_the_lock(tmp_path: Path) -> None:
    (tmp_path / ".cursor").mkdir()
    words = [sys.executable, "-c", HOLDER, str(tmp_path / ".cursor")]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=clean_env()) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(TimeoutError), locked_folder(str(tmp_path / ".cursor"), wait_s=0):
            pytest.fail("two hold the lock")
        holder.kill()

    assert at_once(tmp_path, ["install", "cursor", "boj"]) == [(0, "")]
    assert os.listdir(tmp_path / ".cursor") == ["mcp.json"]


def test_a_change_that_does_not_end_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("signet.commands.install.config_file.LOCK_WAIT_S", 0.0)
    (tmp_path / ".cursor").mkdir()

    with locked_folder(str(tmp_path / ".cursor"), wait_s=0):
        done = signet_here(tmp_path, "install", "cursor", "boj", environ=environ(tmp_path))
        shown = signet_here(tmp_path, "install", "cursor", "boj", "--print", environ=environ(tmp_path))

    told = f"{tmp_path}/.cursor cannot be written (another process has locked it: try again)"
    assert (done.returncode, told in done.stderr.decode()) == (1, True)
    assert shown.returncode == 0
    assert os.listdir(tmp_path / ".cursor") == []


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """Nobody may write into /proc, not even root."""
    path = tmp_path / ".cursor/mcp.json"
    path.parent.mkdir()
    path.symlink_to("/proc/signet-mcp.json")

    done = signet_here(tmp_path, "install", "cursor", "boj", environ=environ(tmp_path))

    assert (done.returncode, "/proc/signet-mcp.json" in done.stderr.decode()) == (1, True)
    assert "cannot be written" in done.stderr.decode()
    assert os.listdir(path.parent) == ["mcp.json"]
