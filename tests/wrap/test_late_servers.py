"""One of several wrapped servers that is mute for long: it holds up its own tools alone, which join later."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path

import pytest

from processes import SIGNET, serving_command

from .callers import Caller
from .http_caller import HttpCaller
from .stdio_caller import StdioCaller

TOOLS = ("ask", "other", "late", "beside")
SERVER = (sys.executable, "-I", "-S", str(Path(__file__).with_name("asking_server.py")))


ODD = (sys.executable, "-I", "-S", str(Path(__file__).with_name("odd_server.py")))
ODD_TOOLS = [f"odd_{name}" for name in ("count", "wait", "stray")]
WELL_TOOLS = [f"well_{name}" for name in TOOLS]
SERVE = (SIGNET, "wrap", "--serve", "--port", "0", "--no-journal")


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


def odd_servers(folder: Path, manner: str) -> str:
    """Return a file of two servers, of which the first has a manner."""
    words = {"odd": (*ODD, str(folder), manner), "well": (*SERVER,)}
    servers = {name: {"command": command[0], "args": command[1:]} for name, command in words.items()}
    config = folder / "mcp.json"
    config.write_text(json.dumps({"mcpServers": servers}))
    return str(config)


@pytest.mark.parametrize("manner", ["silent", "endless"])
def test_a_server_whose_lists_do_not_end_holds_up_no_other_through_any_door(tmp_path: Path, manner: str) -> None:
    with serving_command(*SERVE, "--config", odd_servers(tmp_path, manner)) as server:
        called = server.post("/api/tools/well_beside", {}).status
        page = server.ask("GET", "/openapi.json").json()["paths"]
        listed = [tool["name"] for tool in server.ask("GET", "/api/tools").json()["tools"]]
        caller = HttpCaller(f"{server.url}/mcp", "handshake")
        try:
            caller.open()
            told = names(caller)
        finally:
            caller.close()

    assert (called, listed, told) == (200, WELL_TOOLS, WELL_TOOLS)
    assert [name for name in WELL_TOOLS if f"/api/tools/{name}" in page] == WELL_TOOLS


def test_a_server_that_falls_silent_is_served_as_it_is_known(tmp_path: Path) -> None:
    """A request that waited for the silent server would end with its deadline, and the list would lack its tools."""
    (tmp_path / "mannered").touch()
    caller = StdioCaller((SIGNET, "wrap", "--no-journal", "--config", odd_servers(tmp_path, "silent")), "handshake")
    try:
        caller.open()
        first = names(caller)
        (tmp_path / "silent").touch()
        later = [names(caller) for _ in range(3)]
        told = caller.log().count("it has not listed its tools within 1 s")
    finally:
        caller.close()

    assert (first, later) == (ODD_TOOLS + WELL_TOOLS, [ODD_TOOLS + WELL_TOOLS] * 3)
    assert told == 1


def test_a_server_that_always_tells_of_changes_is_read_one_list_at_a_time(tmp_path: Path) -> None:
    caller = StdioCaller((SIGNET, "wrap", "--no-journal", "--config", odd_servers(tmp_path, "changing")), "handshake")
    try:
        caller.open()
        first = names(caller)
        caller.wait_for(lambda: caller.notifications("notifications/tools/list_changed"), "a change")
        again = names(caller), caller.tool("odd_count").result["content"][0]["text"]
    finally:
        caller.close()

    assert (first, again[0]) == (ODD_TOOLS + WELL_TOOLS, ODD_TOOLS + WELL_TOOLS)
    assert json.loads(again[1])["calls"] == 1
