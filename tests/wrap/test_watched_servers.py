"""What can be watched of wrapped servers: state, restarts and lock, in Health and among the metrics."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from commands_in_process import signet_here
from processes import ROOT, SIGNET, Server, serving_command

CHANGING = (sys.executable, str(ROOT / "tests/lock/changing_server.py"))
MORTAL = """
import json, os, sys
for line in sys.stdin:
    got = json.loads(line)
    method = got.get("method")
    if method == "tools/call":
        os._exit(3)
    if "id" not in got:
        continue
    lists = {"tools/list": {"tools": [{"name": "die", "inputSchema": {"type": "object"}}]}}
    info = {"name": "m", "version": "1"}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
    known = {"initialize": hello, **lists}
    said = {"result": known[method]} if method in known else {"error": {"code": -32601, "message": "no"}}
    print(json.dumps({"jsonrpc": "2.0", "id": got["id"], **said}), flush=True)
"""


def metrics(server: Server) -> dict[str, float]:
    """Return the figures of wrapped servers."""
    port = re.search(r"Metrics are at http://[^ ]*:(\d+)/metrics", server.stderr())
    assert port is not None
    exposed = Server(server.process, int(port[1]), server.log).ask("GET", "/metrics").body.decode()
    lines = re.findall(r"^(signet_(?:child_restarts_total|lock_drift)\{.*\}) (\S+)$", exposed, re.MULTILINE)
    return {name: float(value) for name, value in lines}


def servers_in(server: Server) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = server.ask("GET", "/-/health").json()["servers"]
    return found


def test_a_server_that_dies_is_lost_and_started_again_and_both_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "mortal.py"
    path.write_text(MORTAL, encoding="utf-8")
    flags = ("--port", "0", "--no-journal", "--metrics-port", "0", "--lock", "off")
    with serving_command(
        SIGNET, "wrap", "--serve", *flags, "--", sys.executable, str(path), "--token", "t0p"
    ) as server:
        server.ask("GET", "/-/tools")
        before = metrics(server)
        deaths = [server.post("/api/tools/die", {}).status for _ in range(3)]
        server.wait_for("server.lost")
        after = metrics(server)
        (row,) = servers_in(server)

    assert before == {'signet_child_restarts_total{server="mortal"}': 0.0}
    assert deaths == [502] * 3
    # The third death is not followed by a start.
    assert after == {'signet_child_restarts_total{server="mortal"}': 2.0}
    assert (row["name"], row["state"], row["restarts"], row["drift"]) == ("mortal", "lost", 2, None)
    assert row["reason"]
    assert "t0p" not in row["source"]


def test_the_drift_from_the_lock_is_shown_and_counted(tmp_path: Path) -> None:
    first = signet_here(tmp_path, "lock", "--", *CHANGING)
    assert first.returncode == 0, first.stderr
    flags = ("--port", "0", "--no-journal", "--metrics-port", "0", "--lock-file", str(tmp_path / "signet.lock"))
    found = {}
    for way in ((), ("hidden",)):
        with serving_command(SIGNET, "wrap", "--serve", *flags, "--", *CHANGING, *way) as server:
            server.ask("GET", "/-/tools")
            server.post("/api/tools/weather", {"city": "Oslo"})
            (row,) = servers_in(server)
            found[way] = (row, metrics(server)['signet_lock_drift{server="changing_server"}'])

    same, other = found[()], found["hidden",]
    assert (same[0]["state"], same[0]["drift"], same[0]["blocked"], same[1]) == ("running", 0, 0, 0.0)
    assert other[0]["drift"] >= 1
    assert other[1] == float(other[0]["drift"])


def test_a_server_that_does_not_start_says_why() -> None:
    with serving_command(SIGNET, "wrap", "--serve", "--port", "0", "--no-journal", "--", "/no/such/server") as server:
        asleep = servers_in(server)
        server.post("/api/tools/x", {})
        (row,) = servers_in(server)

    assert [one["state"] for one in asleep] == ["not started"]
    assert row["state"] == "failed"
    assert row["reason"]


@pytest.mark.parametrize("flags", [(), ("--sandbox",)])
def test_a_server_without_wrapped_servers_shows_none(flags: tuple[str, ...]) -> None:
    with serving_command(SIGNET, "serve", "--port", "0", "--no-journal", "--toolsets", "plantuml", *flags) as server:
        assert servers_in(server) == []
