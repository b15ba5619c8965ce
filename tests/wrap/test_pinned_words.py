"""A pinned server says something else than what was pinned: no door, page or error has one of the new strings."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from door_calls import modern_headers, rpc
from processes import PATIENCE_S, ROOT, SIGNET, Server, clean_env, piping, serving_command

from .rewording_server import BASE, MARK, OTHERS, WORDS, said

SCRIPT = (sys.executable, str(ROOT / "tests/wrap/rewording_server.py"))
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "witness", "version": "1"}}
LISTS = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "witness", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
TOOLS = [tool["name"] for tool in said(changed=False)["tools"]]
BAD = {"path": 5, "mode": "no such mode", "kind": "x", "free": 1}


@pytest.fixture(scope="module")
def lock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lock")
    words = [SIGNET, "lock", "--name", "pinned", "--", *SCRIPT]
    subprocess.run(words, check=True, cwd=folder, env=clean_env(None), timeout=PATIENCE_S, capture_output=True)
    return folder / "signet.lock"


def options(lock: Path, *flags: str) -> tuple[str, ...]:
    return ("--lock-file", str(lock), "--name", "pinned", "--no-journal", *flags)


def requests() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield requests for all that a client can ask: lists, calls of all tools, and what has no such name."""
    yield from ((method, {}) for method in LISTS)
    for tool in (*TOOLS, "enums", f"{MARK}-added", f"{MARK}-renamed"):
        yield "tools/call", {"name": tool, "arguments": {"path": "a"}}
        yield "tools/call", {"name": tool, "arguments": BAD}
    for prompt in said(changed=False)["prompts"]:
        yield "prompts/get", {"name": prompt["name"], "arguments": {"who": "a"}}
        reference = {"type": "ref/prompt", "name": prompt["name"]}
        yield "completion/complete", {"ref": reference, "argument": {"name": "who", "value": ""}}
    for uri in ("r://name", "r://text", "r://type", "r://uri", "t://a", "u://a", "u://a/b"):
        yield "resources/read", {"uri": uri}
    for template in ("t://{day}", "u://{day}"):
        reference = {"type": "ref/resource", "uri": template}
        yield "completion/complete", {"ref": reference, "argument": {"name": "day", "value": ""}}


def named(params: dict[str, Any]) -> str | None:
    return params.get("name") or params.get("uri")


def over_http(server: Server) -> Iterator[tuple[str, bytes]]:
    """Yield what every door and every page of a server says, with a word for each."""
    opened = server.post("/mcp", rpc("initialize", HELLO), {"accept": "application/json, text/event-stream"})
    yield "initialize", opened.body
    session = {"mcp-session-id": opened.headers.get("mcp-session-id", ""), "mcp-protocol-version": "2025-11-25"}
    accept = {"accept": "application/json, text/event-stream"}
    for method, params in [("server/discover", {}), *requests()]:
        headers = modern_headers(method, named(params))
        modern = rpc(method, {**params, "_meta": MODERN})
        yield f"modern {method} {named(params)}", server.post("/mcp", modern, headers).body
        if method != "server/discover":
            yield f"{method} {named(params)}", server.post("/mcp", rpc(method, params), {**accept, **session}).body
    for tool in TOOLS:
        for arguments in ({"path": "a"}, BAD):
            yield f"REST {tool}", server.post(f"/api/tools/{tool}", arguments).body
        yield f"page {tool}", server.ask("GET", f"/-/tools/{tool}").body
        envelope = {"jsonrpc": "2.0", "id": "1", "method": "tools/call", "params": {"input": {}}}
        yield f"envelope {tool}", server.post(f"/mcp/tool/pinned.{tool}", envelope).body
    for path in (
        "/",
        "/api/tools",
        "/openapi.json",
        "/readyz",
        "/-/tools",
        "/-/health",
        "/-/about",
        "/-/contracts",
        "/-/settings",
    ):
        yield path, server.ask("GET", path).body


def text_of(answer: dict[str, Any]) -> str:
    return str(answer["result"]["content"][0]["text"])


@pytest.mark.parametrize("way", ["changed", "flips"])
@pytest.mark.parametrize("policy", ["text=note", "text=block"])
@pytest.mark.parametrize("era", ["handshake", "modern"])
def test_no_door_has_a_string_that_is_not_pinned(lock: Path, way: str, policy: str, era: str) -> None:
    assert len(WORDS) + len(OTHERS) > 34
    flags = options(lock, "--serve", "--port", "0", "--lock", policy)
    with serving_command(SIGNET, "wrap", *flags, "--", *SCRIPT, way, era) as server:
        server.post("/api/tools/flip", {})
        if way == "flips":
            server.wait_for("lock.note")
        replies = list(over_http(server))
        runs = {tool: server.post(f"/api/tools/{tool}", {"path": "a"}) for tool in (*WORDS, *OTHERS)}
        log = server.stderr()

    found = {name for name, body in replies if MARK in body.decode().replace("\\u200b", "")}
    # What a client asked for by a name of its own making is repeated to it.
    assert {name for name in found if MARK not in name} == set()
    assert len(replies) > 400
    ran = {tool for tool, reply in runs.items() if reply.status == 200}
    assert ran == (set(WORDS) if policy == "text=note" else set())
    assert all(f"{tool}" in log for tool in OTHERS), "the operator reads each change"
    assert MARK in log


def command(folder: Path, *words: str) -> str:
    """Return what a command prints, of the server of a `signet.toml`."""
    table = f"[servers.pinned]\ncommand = {json.dumps(SCRIPT[0])}\nargs = {json.dumps([*SCRIPT[1:], 'changed'])}\n"
    (folder / "signet.toml").write_text(f'toolsets = "plantuml"\n{table}', encoding="utf-8")
    run = subprocess.run(
        [SIGNET, *words], cwd=folder, env=clean_env(None), timeout=PATIENCE_S, capture_output=True, check=False
    )
    return run.stdout.decode()


@pytest.mark.parametrize("policy", ["text=note", "text=block"])
def test_what_is_listed_on_stdio_and_by_the_commands_is_what_was_pinned(lock: Path, policy: str) -> None:
    with piping(SIGNET, "wrap", *options(lock, "--lock", policy), "--", *SCRIPT, "changed") as pipe:
        hello = pipe.ask(rpc("initialize", HELLO, request_id=1))["result"]
        answers = [pipe.ask(rpc(method, params, request_id=2)) for method, params in requests()]
        listed = pipe.ask(rpc("tools/list", {}, request_id=3))["result"]["tools"]
        taken = pipe.ask(rpc("tools/call", {"name": "raised", "arguments": {"path": "twelve chars"}}, request_id=4))
        refused = pipe.ask(rpc("tools/call", {"name": "raised", "arguments": {"path": "thirteen char"}}, request_id=5))
        pipe.finish()
    shown = [command(lock.parent, *words) for words in (("tools", "--json"), ("tools",), ("call", "pinned_enum"))]

    about = said(changed=False)["about"]
    assert (hello["serverInfo"], hello["instructions"]) == (about["serverInfo"], about["instructions"])
    assert hello["capabilities"]["experimental"] == {"known": {}}
    assert listed == said(changed=False)["tools"]
    asked = [json.dumps(params) for _, params in requests()]
    pairs = zip(asked, answers, strict=True)
    assert [one for words, one in pairs if MARK not in words and MARK in json.dumps(one)] == []
    # A value passes by the new schema, and what both refuse is told by the pinned one.
    assert text_of(taken) == "ran raised"
    assert BASE["inputSchema"]["properties"]["path"]["maxLength"] == 9
    assert ("9" in json.dumps(refused), "12" in json.dumps(refused)) == (True, False)
    assert ["pinned_enum" in one for one in shown] == [True, True, False]
    assert [one for one in shown if MARK in one] == []


@pytest.mark.parametrize("way", ["refuses", "fails", "twice", "dies"])
def test_an_error_of_a_pinned_server_has_none_of_its_words(lock: Path, way: str) -> None:
    with serving_command(SIGNET, "wrap", *options(lock, "--serve", "--port", "0"), "--", *SCRIPT, way) as server:
        replies = [server.post("/api/tools/same", {"path": "a"}) for _ in range(2)]
        replies += [server.post("/mcp", rpc("tools/call", {"name": "same", "arguments": {}}))]
        replies += [server.ask("GET", path) for path in ("/-/health", "/readyz", "/-/about")]
        log = server.stderr()

    assert replies[0].status >= 500
    assert [reply.body for reply in replies if MARK.encode() in reply.body] == []
    assert MARK in log, "the operator reads the reason"
