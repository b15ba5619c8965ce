"""The tutorial is true: each of its files is written, each of its commands run, each of its answers given."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from processes import BIN, FIRST_AND_LAST_DOOR, PATIENCE_S, ROOT, clean_env

PAGE = (ROOT / "docs/own-tools.md").read_text(encoding="utf-8")
PEERS = (ROOT / "docs/from-fastmcp.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"```(\w+) ?([\w.]*)\n(.*?)```", re.DOTALL)
SERVERS = {name: code for kind, name, code in BLOCK.findall(PEERS) if kind == "python"}


def run(script: str, folder: Path, port: int, *, fails: bool = False) -> str:
    """Run a block of commands, the last of which may be meant to fail; return what it printed."""
    lines = script.replace("8900", str(port))
    env = {**clean_env(FIRST_AND_LAST_DOOR), "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "NO_COLOR": "1"}
    command = [shutil.which("bash") or "bash", "-c", f"set -eu\n{lines}"]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, timeout=4 * PATIENCE_S, check=False)
    assert (done.returncode != 0) == fails, done.stdout.decode() + done.stderr.decode()
    return (done.stderr if fails and not done.stdout else done.stdout).decode()


def test_the_tutorial_can_be_walked_from_its_beginning_to_its_end(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    blocks = BLOCK.findall(PAGE)
    compared = 0
    for number, (kind, name, text) in enumerate(blocks):
        follower = blocks[number + 1] if number + 1 < len(blocks) else ("", "", "")
        if kind in {"python", "toml"}:
            (tmp_path / name).write_text(text)
        elif kind == "sh":
            printed = run(text, tmp_path, port, fails="fails" in follower[1] or '"error"' in follower[2])
            if follower[0] == "json":
                assert json.loads(printed.strip().splitlines()[-1]) == json.loads(follower[2])
                compared += 1
            elif follower[0] == "text":
                assert follower[2].strip() in " ".join(printed.split())
                compared += 1

    assert compared >= 6


@pytest.mark.parametrize("name", ["signet", "sdk"])
def test_the_servers_side_by_side_answer_alike(name: str, tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text(SERVERS[name])
    server = StdioServerParameters(command=sys.executable, args=[str(script)], env=clean_env(), cwd=tmp_path)

    async def session() -> Any:
        async with Client(server) as client:
            return await client.call_tool("add", {"a": 1, "b": 2})

    assert asyncio.run(session()).structured_content == {"result": 3}


def test_the_page_shows_the_three_servers() -> None:
    assert SERVERS.keys() == {"fastmcp", "sdk", "signet"}
    for code in SERVERS.values():
        compile(code, "server.py", "exec")
