"""The page on the lock: its commands run, its table is true, its workflow fits the action."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import yaml

from commands_in_process import signet_here
from processes import ROOT

PAGE = (ROOT / "docs/lock.md").read_text(encoding="utf-8")
SERVER = f"{shlex.quote(sys.executable)} {shlex.quote(str(ROOT / 'tests/lock/changing_server.py'))}"
COMMANDS, SNAPSHOTS = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)


def run(folder: Path, line: str, change: str = "") -> tuple[int, str]:
    """Run a line of the page with the changing server in place of some-server."""
    words = line.partition("#")[0].replace("'stdio:npx -y some-server'", shlex.quote(f"stdio:{SERVER} {change}"))
    command, _, target = words.replace("npx -y some-server", f"{SERVER} {change}").partition(" > ")
    done = signet_here(folder, *shlex.split(command)[1:])
    if target:
        (folder / target.strip()).write_bytes(done.stdout)
    return done.returncode, done.stdout.decode()


def test_the_commands_of_the_page_do_what_it_says(tmp_path: Path) -> None:
    first, later, accept, accept_all, check, preflight = COMMANDS.splitlines()

    assert run(tmp_path, first)[0] == 0
    assert run(tmp_path, later, "argument added")[0] == 11
    assert run(tmp_path, accept, "argument added")[0] == 11
    assert run(tmp_path, accept_all, "argument added")[0] == 0
    assert run(tmp_path, check, "argument added")[0] == 0
    assert run(tmp_path, preflight, "argument added description")[0] == 10


def test_a_snapshot_is_compared_as_the_page_says(tmp_path: Path) -> None:
    snapshot, diff = SNAPSHOTS.splitlines()

    assert run(tmp_path, snapshot)[0] == 0
    assert run(tmp_path, diff)[0] == 0
    assert run(tmp_path, diff, "field")[0] == 1


def test_the_workflow_of_the_page_gives_the_action_what_it_takes() -> None:
    [text] = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    action = yaml.safe_load((ROOT / "deploy/github-action/action.yml").read_text(encoding="utf-8"))

    workflow = yaml.safe_load(text)

    given = workflow["jobs"]["contracts"]["steps"][1]["with"]
    required = {name for name, one in action["inputs"].items() if one.get("required")}
    assert required <= set(given) <= set(action["inputs"])
    assert workflow["permissions"]["security-events"] == "write"
