"""Snapshots of real processes and of servers over HTTP: both eras, all pages, and every way to misbehave."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from lock import changing_server
from processes import PATIENCE_S, ROOT
from signet.lock.comparison import compare
from signet.mcp.snapshot import Snapshot
from signet.relay.server_snapshot import SnapshotError, take_snapshot
from signet.settings.server_spec import ServerSpec

SERVER = (sys.executable, str(ROOT / "tests/lock/changing_server.py"))
WEATHER, TIME = changing_server.WEATHER, changing_server.TIME


def take(*words: str, timeout_s: float = PATIENCE_S, **more: Any) -> Snapshot:
    return take_snapshot(ServerSpec(name="changing", command=(*SERVER, *words), **more), timeout_s)


def refusal(*words: str, timeout_s: float = PATIENCE_S, **more: Any) -> str:
    with pytest.raises(SnapshotError) as caught:
        take(*words, timeout_s=timeout_s, **more)
    return str(caught.value)


def values(snapshot: Snapshot) -> dict[str, list[Any]]:
    return {
        where: [json.loads(bytes(one)) for one in getattr(snapshot, where)]
        for where in ("tools", "prompts", "resources", "templates")
    }


EVERYTHING = {
    "tools": [WEATHER, TIME],
    "prompts": [changing_server.PROMPT],
    "resources": [changing_server.RESOURCE],
    "templates": [changing_server.TEMPLATE],
}


@pytest.mark.parametrize(
    ("words", "era", "version"),
    [
        ((), "handshake", "2025-11-25"),
        (("modern",), "modern", "2026-07-28"),
        (("modern", "pages"), "modern", "2026-07-28"),
        (("pages", "stray", "asks"), "handshake", "2025-11-25"),
        (("dies",), "handshake", "2025-11-25"),
    ],
)
def test_everything_is_read_in_the_era_that_the_server_speaks(words: tuple[str, ...], era: str, version: str) -> None:
    snapshot = take(*words)

    assert (snapshot.era, snapshot.version) == (era, version)
    assert values(snapshot) == EVERYTHING
    assert json.loads(bytes(snapshot.server_info)) == {"name": "changing", "version": "1.0.0"}
    assert json.loads(bytes(snapshot.capabilities)) == {"tools": {}, "prompts": {}, "resources": {}}
    assert snapshot.instructions == "Ask for one city at a time."


def test_a_server_that_does_not_answer_what_it_does_not_know_is_started_again() -> None:
    assert take("silent", timeout_s=16.0).era == "handshake"


def test_an_entry_is_kept_as_it_is_written_without_the_blanks_between() -> None:
    text = bytes(take().tools[1])

    assert text == (
        b'{"name":"time","description":"Return the time of day.","inputSchema":'
        b'{"type":"object","properties":{"zone":{"type":"string","maxLength":15.0}}}}'
    )


def test_an_era_can_be_demanded() -> None:
    assert take("modern", era="handshake").era == "handshake"
    assert "Method not found" in refusal(era="modern")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("twice",), "it lists the tool 'time' twice"),
        (("many",), "it lists more than 10,000 entries, or 32 MB"),
        (("loop",), "its tools/list does not end"),
        (("endless",), "its tools/list does not end"),
    ],
)
def test_a_list_that_has_no_end_or_no_sense_is_refused(words: tuple[str, ...], why: str) -> None:
    assert why in refusal(*words)


def test_a_server_that_never_answers_is_given_up() -> None:
    assert "does not answer in time" in refusal("silent", "stubborn", timeout_s=1.0, era="handshake")


def test_what_cannot_be_started_is_told() -> None:
    with pytest.raises(SnapshotError, match="no such command '/nowhere/server'"):
        take_snapshot(ServerSpec(name="a", command=("/nowhere/server",)), 5.0)
    with pytest.raises(SnapshotError, match="neither a command nor a URL"):
        take_snapshot(ServerSpec(name="a", openapi="a.json"), 5.0)


def test_a_child_gets_the_variables_of_the_list_and_those_that_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGNET_TOKEN", "secret")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")

    why = refusal("environ", env=(("NAMED", "1"),))

    names = set(json.loads(why[why.index("[") :]))
    allowed = {"PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TERM", "SHELL", "USER", "LOGNAME"}
    assert {"NAMED", "PATH", "LC_ALL"} <= names <= allowed | {"NAMED", "LC_CTYPE", "CHILD_OF_SIGNET"}


def test_the_children_of_a_server_end_with_it(tmp_path: Path) -> None:
    pids = tmp_path / "pids"

    take("grandchild", "dies", env=(("PIDS", str(pids)),))

    started = [int(pid) for pid in pids.read_text().split()]
    assert len(started) == 2
    deadline = time.monotonic() + PATIENCE_S
    while any(map(is_running, started)):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    """Return whether a process is there and has not ended; one that nobody waited for is done too."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def over_http(*, modern: bool, seen: list[dict[str, str]]) -> Iterator[str]:
    """Run the same server over HTTP; one of the handshake era refuses what it does not know by its status."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            seen.append({name.lower(): value for name, value in self.headers.items()})
            message = json.loads(self.rfile.read(int(self.headers["content-length"])))
            is_known = modern or message["method"] != "server/discover"
            answer = changing_server.result(message["method"], message.get("params", {})) if is_known else None
            body = json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "result": answer}).encode()
            self.send_response(200 if answer is not None else 202 if "id" not in message else 400)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/mcp"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("modern", [True, False])
def test_a_remote_server_is_asked_with_the_headers_that_are_given(
    modern: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changing_server, "WORDS", ["modern"] if modern else [])
    monkeypatch.setitem(os.environ, "NO_PROXY", "127.0.0.1")
    seen: list[dict[str, str]] = []
    with over_http(modern=modern, seen=seen) as url:
        snapshot = take_snapshot(ServerSpec(name="a", url=url, headers=(("X-Key", "k"),)), PATIENCE_S)

    assert snapshot.era == ("modern" if modern else "handshake")
    assert values(snapshot) == EVERYTHING
    assert {headers["x-key"] for headers in seen} == {"k"}


OFFICIAL = """
from mcp.server import MCPServer

server = MCPServer("official", instructions="Add.")

@server.tool()
def add(a: int, b: int = 0) -> int:
    "Add two numbers."
    return a + b

@server.prompt()
def hello(name: str) -> str:
    return name

@server.resource("a://b/{c}")
def one(c: str) -> str:
    return c

server.run()
"""


def test_a_server_of_the_official_sdk_is_read_alike_in_both_eras(tmp_path: Path) -> None:
    script = tmp_path / "official.py"
    script.write_text(OFFICIAL)

    modern, handshake = (
        take_snapshot(ServerSpec(name="official", command=(sys.executable, str(script)), era=era), PATIENCE_S)
        for era in ("auto", "handshake")
    )

    assert (modern.era, handshake.era) == ("modern", "handshake")
    assert [tool["name"] for tool in values(modern)["tools"]] == ["add"]
    assert [template["uriTemplate"] for template in values(modern)["templates"]] == ["a://b/{c}"]
    assert modern.instructions == "Add."
    assert compare(handshake, modern) == ()
