"""`signet wrap --record`, then `--replay` without the server: the same through every door, to clients of both eras."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commands_in_process import run_here
from processes import SIGNET, Pipe, Server, piping, serving, serving_command
from signet.lock.file import Lock, LockedServer, write_lock
from signet.recording.message_reader import MessageReader

SERVER = Path(__file__).with_name("recorded_server.py")
CANARY = "canary/7d1+f00=dbeef"
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}, "sampling": {}},
    "io.modelcontextprotocol/clientInfo": {"name": "witness", "version": "1"},
}
HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"elicitation": {"form": {}}, "sampling": {}},
    "clientInfo": {"name": "witness", "version": "1"},
}
ANSWERS = {
    "elicitation/create": {"action": "accept", "content": {"name": "Ann"}},
    "sampling/createMessage": {"role": "assistant", "model": "m", "content": {"type": "text", "text": "Thought."}},
}
REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("tools/list", {}),
    ("tools/call", {"name": "echo", "arguments": {"a": 1.5}}),
    ("tools/call", {"name": "echo", "arguments": {"a": 1.5}}),
    ("tools/call", {"name": "count", "_meta": {"progressToken": "mine"}}),
    ("tools/call", {"name": "ask", "arguments": {}}),
    ("tools/call", {"name": "think", "arguments": {}}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("resources/read", {"uri": "memo://one"}),
    ("prompts/list", {}),
    ("prompts/get", {"name": "greet", "arguments": {"who": "Zoe"}}),
    ("completion/complete", {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "who", "value": ""}}),
]

Ask = Callable[[str, dict[str, Any]], tuple[dict[str, Any], list[Any]]]
"""Sends one request; returns its reply, and the notifications and questions that came before it."""


def on_stdio(pipe: Pipe) -> Ask:
    """Ask a wrapper at the end of two pipes, and answer its questions."""
    count = 0

    def ask(method: str, params: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
        nonlocal count
        count += 1
        pipe.send({"jsonrpc": "2.0", "id": count, "method": method, "params": params})
        before = []
        while True:
            message = pipe.receive()
            if "method" not in message:
                assert message["id"] == count
                return message, before
            before.append((message["method"], message["params"]))
            if "id" in message:
                pipe.send({"jsonrpc": "2.0", "id": message["id"], "result": ANSWERS[message["method"]]})

    return ask


def over_http(server: Server) -> Ask:
    """Ask a wrapper that listens, in the modern era."""

    def ask(method: str, params: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
        headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": method}
        headers |= {"accept": "application/json, text/event-stream"}
        if name := params.get("name", params.get("uri")):
            headers["mcp-name"] = name
        reply = server.post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, headers)
        if not reply.headers["content-type"].startswith("text/event-stream"):
            return reply.json(), []
        events = [json.loads(line[5:]) for line in reply.body.splitlines() if line.startswith(b"data:")]
        return events[-1], [(event["method"], event["params"]) for event in events[:-1]]

    return ask


def converse(ask: Ask, *, modern: bool) -> list[Any]:
    """Go through the whole protocol; return each result with what came before it."""
    told: list[Any] = []
    hello, _ = ask("server/discover", {"_meta": MODERN}) if modern else ask("initialize", HELLO)
    told.append(hello["result"]["capabilities"])
    for method, params in REQUESTS:
        meta = {**(MODERN if modern else {}), **params.get("_meta", {})}
        whole = {**params, "_meta": meta} if meta else params
        reply, before = ask(method, whole)
        told += before
        result = reply["result"]
        if result.get("resultType") == "input_required":
            told.append(result["inputRequests"])
            answers = {key: ANSWERS[one["method"]] for key, one in result["inputRequests"].items()}
            again = {**whole, "inputResponses": answers}
            again |= {"requestState": result["requestState"]} if "requestState" in result else {}
            result = ask(method, again)[0]["result"]
        told.append(result)
    return told


def talk(*flags: str, modern: bool, command: tuple[str, ...] = ()) -> list[Any]:
    behind = ("--", *command) if command else ()
    with piping(SIGNET, "wrap", "--no-journal", *flags, *behind) as pipe:
        told = converse(on_stdio(pipe), modern=modern)
        code, _, stderr = pipe.finish()
        assert code == 0, stderr
    return told


def server_of(era: str) -> tuple[str, ...]:
    return (sys.executable, "-I", str(SERVER), era)


@pytest.mark.parametrize("era", ["handshake", "modern"])
def test_what_was_recorded_is_replayed_on_every_door_in_both_eras(tmp_path: Path, era: str) -> None:
    tape = str(tmp_path / "tape")
    legacy = talk("--record", tape, modern=False, command=server_of(era))
    modern = talk("--record", str(tmp_path / "other"), modern=True, command=server_of(era))

    assert [kind for kind, _ in filter(lambda one: isinstance(one, tuple), legacy)] == [
        "notifications/progress",
        "notifications/progress",
        "elicitation/create",
        "sampling/createMessage",
    ]
    assert talk("--replay", tape, modern=False) == legacy
    assert talk("--replay", tape, modern=True) == modern
    with serving_command(SIGNET, "wrap", "--serve", "--port", "0", "--no-journal", "--replay", tape) as server:
        assert converse(over_http(server), modern=True) == modern


def test_a_call_that_was_not_recorded_is_told_with_the_nearest(tmp_path: Path) -> None:
    tape = str(tmp_path / "tape")
    with piping(SIGNET, "wrap", "--no-journal", "--record", tape, "--", *server_of("handshake")) as pipe:
        ask = on_stdio(pipe)
        ask("initialize", HELLO)
        ask("tools/list", {})
        ask("tools/call", {"name": "echo", "arguments": {"city": "Rome"}})
        pipe.finish()

    with piping(SIGNET, "wrap", "--no-journal", "--replay", tape) as pipe:
        ask = on_stdio(pipe)
        ask("initialize", HELLO)
        reply, _ = ask("tools/call", {"name": "echo", "arguments": {"city": "Roma"}})
        pipe.finish()

    assert reply["error"]["code"] == -32602
    assert 'city is "Roma" here and "Rome" there' in reply["error"]["message"]


def test_no_secret_of_the_environment_and_no_labelled_one_is_recorded(tmp_path: Path) -> None:
    tape = tmp_path / "tape"
    flags = ("--record", str(tape), "--env", "CANARY_TOKEN")
    env = {"CANARY_TOKEN": CANARY}
    with piping(SIGNET, "wrap", "--no-journal", *flags, "--", *server_of("handshake"), env=env) as pipe:
        ask = on_stdio(pipe)
        ask("initialize", HELLO)
        live, _ = ask("tools/call", {"name": "leak", "arguments": {"password": "given-canary"}})
        pipe.finish()

    assert json.loads(live["result"]["content"][0]["text"])["says"] == "[redacted]"
    written = b"".join(path.read_bytes() for path in tape.rglob("*") if path.is_file())
    assert b"leak" in written
    assert [word for word in (b"canary/", b"labelled-canary", b"given-canary") if word in written] == []


def test_the_headers_for_a_remote_server_are_not_recorded(tmp_path: Path) -> None:
    headers = tmp_path / "headers"
    headers.write_text(f"Authorization: Bearer {CANARY}\n")
    call = {"name": "encodePlantUML", "arguments": {"plantumlCode": "A -> B"}}
    with serving("--toolsets", "plantuml", "--token", CANARY, "--no-journal") as remote:
        flags = ("--url", f"{remote.url}/mcp", "--header-file", str(headers), "--record", str(tmp_path / "tape"))
        with piping(SIGNET, "wrap", "--no-journal", *flags) as pipe:
            ask = on_stdio(pipe)
            ask("initialize", HELLO)
            live, _ = ask("tools/call", call)
            pipe.finish()

    written = b"".join(path.read_bytes() for path in (tmp_path / "tape").rglob("*") if path.is_file())
    assert b"encodePlantUML" in written
    assert b"canary" not in written
    with piping(SIGNET, "wrap", "--no-journal", "--replay", str(tmp_path / "tape")) as pipe:
        ask = on_stdio(pipe)
        ask("initialize", HELLO)
        assert ask("tools/call", call)[0]["result"] == live["result"]
        pipe.finish()


@pytest.mark.parametrize("broken", ["missing", "newer"])
def test_a_recording_that_cannot_be_read_stops_the_start_with_a_sentence(tmp_path: Path, broken: str) -> None:
    if broken == "newer":
        (tmp_path / "recording.json").write_text('{"format": 9}')

    done = run_here("wrap", "--no-journal", "--replay", str(tmp_path))

    assert done.returncode == 2
    assert (b"there is no recording in" if broken == "missing" else b"newer format") in done.stderr


def record_echo(tape: Path) -> None:
    with piping(SIGNET, "wrap", "--no-journal", "--record", str(tape), "--", *server_of("handshake")) as pipe:
        ask = on_stdio(pipe)
        ask("initialize", HELLO)
        ask("tools/list", {})
        ask("tools/call", {"name": "echo", "arguments": {}})
        pipe.finish()


def test_the_recording_of_another_server_of_that_name_stops_the_start_with_a_sentence(tmp_path: Path) -> None:
    record_echo(tmp_path)

    done = run_here("wrap", "--no-journal", "--record", str(tmp_path), "--name", "recorded_server", "--", "another")

    assert done.returncode == 2
    assert b"is a recording of recorded_server" in done.stderr


def test_a_learned_schema_is_enforced_where_the_server_states_none(tmp_path: Path) -> None:
    record_echo(tmp_path / "tape")
    learned = tmp_path / "learned"
    assert run_here("contract", "learn", str(tmp_path / "tape"), "--out", str(learned)).returncode == 0
    bundle = json.loads((learned / "tools/echo.json").read_bytes())
    assert bundle["output"]["properties"] == {"call": {"type": "integer"}, "ratio": {"type": "number"}}

    def call() -> tuple[Any, Any]:
        flags = ("--no-journal", "--replay", str(tmp_path / "tape"), "--contracts", str(learned))
        with piping(SIGNET, "wrap", *flags) as pipe:
            ask = on_stdio(pipe)
            ask("initialize", HELLO)
            tools = ask("tools/list", {})[0]["result"]["tools"]
            reply, _ = ask("tools/call", {"name": "echo", "arguments": {}})
            pipe.finish()
        return [tool for tool in tools if "outputSchema" in tool], reply

    listed, kept = call()
    bundle["output"]["properties"]["ratio"] = {"type": "string"}
    (learned / "tools/echo.json").write_text(json.dumps(bundle))
    _, broken = call()

    assert (listed, kept["result"]["structuredContent"]) == ([], {"call": 1, "ratio": 0.5})
    assert "structuredContent" not in broken["result"]
    assert (broken["result"]["isError"], broken["result"]["_meta"]["canonical_code"]) == (True, "INVALID_OUTPUT")
    assert broken["result"]["content"][0]["text"] == "echo gave a result that breaks its contract: ratio (type)"


def test_a_recording_that_differs_from_the_lock_is_told(tmp_path: Path) -> None:
    record_echo(tmp_path / "tape")
    lock = tmp_path / "signet.lock"
    tape = MessageReader(str(tmp_path / "tape"))
    tape.load()
    locked = LockedServer(name="recorded_server", command=server_of("handshake"), snapshot=tape.snapshot())
    write_lock(str(lock), Lock({"recorded_server": locked}))
    tape.close()
    text = (tmp_path / "tape/servers/recorded_server/messages.jsonl").read_text()
    (tmp_path / "tape/servers/recorded_server/messages.jsonl").write_text(
        text.replace("The tool count.", "Another text.")
    )

    with piping(SIGNET, "wrap", "--no-journal", "--lock-file", str(lock), "--replay", str(tmp_path / "tape")) as pipe:
        on_stdio(pipe)("initialize", HELLO)
        _, _, stderr = pipe.finish()

    assert b"record.differs" in stderr
    assert b"the tool count differs from the lock in description" in stderr


def test_a_replay_is_not_recorded(tmp_path: Path) -> None:
    record_echo(tmp_path / "tape")

    done = run_here("wrap", "--replay", str(tmp_path / "tape"), "--record", str(tmp_path / "other"))

    assert done.returncode == 2
    assert (
        b"a run is either recorded or replayed: write --record (SIGNET_RECORD) or --replay (SIGNET_REPLAY)"
        in done.stderr
    )
