"""A caller with a process of its own: what it says of itself, and what becomes of its process, concern nobody else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from processes import SIGNET, run, serving_command

from .http_caller import HttpCaller

ODD = (sys.executable, "-I", "-S", str(Path(__file__).with_name("odd_server.py")))
REFUSED = {"experimental": {"odd": {"refuse": True}}}
MUTE = {"experimental": {"odd": {"mute": True}}}
TOOLS = ["count", "wait", "stray"]


class Site:
    """A served wrapper of an odd server, whose callers have a token each."""

    def __init__(self, url: str, tokens: dict[str, str], stack: ExitStack) -> None:
        self._url = url
        self._tokens = tokens
        self._stack = stack

    def caller(self, name: str, era: str, capabilities: dict[str, Any] | None = None) -> HttpCaller:
        caller = HttpCaller(f"{self._url}/mcp", era, capabilities, token=self._tokens[name])
        self._stack.callback(caller.close)
        return caller


@contextmanager
def serving(folder: Path, pool: str) -> Iterator[Site]:
    file = str(folder / "tokens")
    tokens = {
        name: run("token", "new", name, "--scopes", "tools:call", "--tokens-file", file).stdout.decode().split()[-1]
        for name in ("alice", "mallory")
    }
    flags = ("--serve", "--port", "0", "--no-journal", "--no-console", "--pool", pool, "--tokens-file", file)
    with serving_command(SIGNET, "wrap", *flags, "--", *ODD, str(folder)) as server, ExitStack() as stack:
        yield Site(server.url, tokens, stack)


def listed(caller: HttpCaller) -> list[str]:
    return [tool["name"] for tool in caller.request("tools/list").result["tools"]]


@pytest.mark.parametrize(("pool", "era"), [("session", "handshake"), ("session", "modern"), ("call", "modern")])
def test_a_start_that_is_refused_for_one_callers_words_is_refused_to_no_other(
    tmp_path: Path, pool: str, era: str
) -> None:
    with serving(tmp_path, pool) as site:
        mallory = site.caller("mallory", era, REFUSED)
        hello = "initialize" if era == "handshake" else "tools/call"
        what: dict[str, Any] = {"name": "count", "arguments": {}}
        if era == "handshake":
            client = {"name": "mallory", "version": "1"}
            what = {"protocolVersion": "2025-11-25", "capabilities": REFUSED, "clientInfo": client}
        refused = [mallory.request(hello, what).error["message"] for _ in range(3)]
        alice = site.caller("alice", era)
        alice.open()
        answer = alice.tool("count").result

    assert [why.partition("; the next try")[0] for why in refused] == [
        "the server odd_server does not start: it refuses to begin: "
        + ("refused" if era == "modern" else "Method not found")
    ] * 3
    assert "; the next try is in" in refused[2]
    assert '"calls": 1' in answer["content"][0]["text"]


def test_the_instance_that_lists_for_all_knows_nothing_of_who_asks(tmp_path: Path) -> None:
    with serving(tmp_path, "call") as site:
        assert listed(site.caller("mallory", "modern", MUTE)) == TOOLS
        assert listed(site.caller("alice", "modern")) == TOOLS


def test_a_session_whose_process_answers_no_list_holds_up_no_list_of_others(tmp_path: Path) -> None:
    with serving(tmp_path, "session") as site:
        mallory, alice = site.caller("mallory", "handshake", MUTE), site.caller("alice", "handshake")
        mallory.open()
        mute = [mallory.start("tools/list", {}) for _ in range(2)]
        alice.open()
        first = listed(alice)
        mute += [mallory.start("tools/list", {}) for _ in range(2)]
        again = listed(alice)
        ended = [one.ended.is_set() for one in mute]

    assert (first, again) == (TOOLS, TOOLS)
    assert ended == [False] * 4
