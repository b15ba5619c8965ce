"""One of several wrapped servers that is mute for long: it holds up its own tools alone, which join later."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path

from processes import SIGNET

from .callers import Caller
from .stdio_caller import StdioCaller

TOOLS = ("ask", "other", "late", "beside")
SERVER = (sys.executable, "-I", "-S", str(Path(__file__).with_name("asking_server.py")))


def names(caller: Caller) -> list[str]:
    return [tool["name"] for tool in caller.request("tools/list").result["tools"]]


def test_a_mute_server_holds_up_its_own_tools_alone(tmp_path: Path) -> None:
    start = tmp_path / "start"
    os.mkfifo(start)
    late = f"read word < {shlex.quote(str(start))}; exec {shlex.join(SERVER)}"
    servers = {
        "good": {"command": SERVER[0], "args": SERVER[1:]},
        "late": {"command": "/bin/sh", "args": ["-c", late]},
    }
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": servers}))
    caller = StdioCaller((SIGNET, "wrap", "--no-journal", "--config", str(config)), "handshake", cwd=str(tmp_path))
    try:
        caller.open()
        caller.answers["elicitation/create"] = lambda _: {"action": "decline"}
        before = names(caller), caller.tool("good_ask").result["content"][0]["text"]
        start.write_text("begin\n")
        caller.wait_for(lambda: caller.notifications("notifications/tools/list_changed"), "the change of the tools")
        after = names(caller)
    finally:
        caller.close()

    assert before == ([f"good_{name}" for name in TOOLS], "decline")
    assert after == [f"{server}_{name}" for server in servers for name in TOOLS]
