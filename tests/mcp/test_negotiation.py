"""The beginning of a dialogue with a real child: one that never begins is given up, and ended."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from processes import PATIENCE_S, ROOT
from signet.mcp import negotiation
from signet.mcp.link import LinkError
from signet.mcp.negotiation import Introduction, introduce
from signet.mcp.session import ClientSession, Hooks
from signet.relay.links import child_link
from signet.settings.server_spec import ServerSpec

HOSTILE = ROOT / "tests/wrap/hostile_server.py"


def our_children() -> str:
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text()


def nothing(*_: object, **__: object) -> None:
    pass


LATE = """
import json, sys
good, fields = sys.argv[1], json.loads(sys.argv[2])
asked = [json.loads(sys.stdin.readline()) for _ in range(2)]
for one in reversed(asked) if len(sys.argv) > 3 else asked:
    said = {"result": fields} if one["method"] == good else {"error": {"code": -32601, "message": "Method not found"}}
    print(json.dumps({"jsonrpc": "2.0", "id": one["id"], **said}), flush=True)
sys.stdin.read()
"""
"""A server that answers when it has been asked in both eras, as if it had started then; it speaks one of them."""
HELLO = {
    "initialize": {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "l", "version": "1"}},
    "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {}},
}


def begin(mode: str, only: str = "auto", *, prefers_modern: bool = False) -> ClientSession:
    return begin_with((str(HOSTILE), mode, "marker"), only, prefers_modern=prefers_modern)


def begin_with(words: tuple[str, ...], only: str = "auto", *, prefers_modern: bool = False) -> ClientSession:
    spec = ServerSpec(name="hostile", command=(sys.executable, "-I", "-S", *words))
    hooks = Hooks(notified=nothing, asked=nothing, lost=nothing, log=nothing)

    async def run() -> ClientSession:
        how = Introduction(prefers_modern=prefers_modern, only=only)
        dialogue = await asyncio.wait_for(
            introduce(lambda: ClientSession(child_link(spec, nothing), hooks), how), PATIENCE_S
        )
        await dialogue.close()
        return dialogue

    return asyncio.run(run())


def test_a_server_that_hangs_at_the_start_is_given_up_and_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(negotiation, "START_S", 0.3)
    before = our_children()

    with pytest.raises(LinkError, match=r"^it does not answer within 0\.3 s$"):
        begin("hangs at start")

    assert our_children() == before


@pytest.mark.parametrize(
    ("mode", "why"),
    [
        ("dies at start", "it ended with exit code 1; .* cannot read the licence, token=\\[redacted\\]$"),
        ("exits at once", "^it ended with exit code 0$"),
    ],
)
def test_a_server_that_ends_at_the_start_is_told_with_its_last_words(mode: str, why: str) -> None:
    before = our_children()

    with pytest.raises(LinkError, match=why):
        begin(mode)

    assert our_children() == before


@pytest.mark.parametrize("prefers_modern", [True, False])
def test_a_server_of_one_era_is_spoken_to_in_that_era_whatever_is_preferred(prefers_modern: bool) -> None:
    dialogue = begin("plain", prefers_modern=prefers_modern)

    assert (dialogue.modern, dialogue.version) == (False, "2025-11-25")


@pytest.mark.parametrize("order", [(), ("reversed",)], ids=["in order", "reversed"])
@pytest.mark.parametrize("prefers_modern", [True, False])
@pytest.mark.parametrize("good", HELLO)
def test_a_server_that_starts_late_is_spoken_to_in_its_era_whichever_answer_comes_first(
    monkeypatch: pytest.MonkeyPatch, good: str, prefers_modern: bool, order: tuple[str, ...]
) -> None:
    monkeypatch.setattr(negotiation, "PROBE_S", 0.01)
    words = ("-c", LATE, good, json.dumps(HELLO[good]), *order)

    dialogue = begin_with(words, prefers_modern=prefers_modern)

    version = "2026-07-28" if good == "server/discover" else "2025-11-25"
    assert (dialogue.modern, dialogue.version) == (good == "server/discover", version)
    assert set(dialogue.hello) == set(HELLO[good])


def test_an_era_that_a_server_does_not_speak_is_told() -> None:
    with pytest.raises(LinkError, match=r"^it refuses to begin: Method not found$"):
        begin("plain", only="modern")


def test_the_last_words_of_a_server_are_told_without_its_secrets() -> None:
    script = "import os, sys; sys.exit('refused: ' + os.environ['SERVICE_KEY'])"
    env = (("SERVICE_KEY", "opensesame-1234"),)
    spec = ServerSpec(name="s", command=(sys.executable, "-I", "-S", "-c", script), env=env)
    hooks = Hooks(notified=nothing, asked=nothing, lost=nothing, log=nothing)

    async def run() -> None:
        await introduce(lambda: ClientSession(child_link(spec, nothing), hooks), Introduction(only="handshake"))

    with pytest.raises(LinkError, match=r"exit code 1; .*: refused: \[redacted\]$"):
        asyncio.run(asyncio.wait_for(run(), PATIENCE_S))
