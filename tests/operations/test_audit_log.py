"""The audit log of real servers: one line for each request, whatever became of it, before its answer."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import signal
import socket
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from audit_logs import events_in, lines_in, requests_in, wait_for_requests, wait_for_started
from door_calls import invocation, rpc
from processes import (
    LIMITED,
    PATIENCE_S,
    ROOT,
    SIGNET,
    Server,
    clean_env,
    piping,
    run,
    serving,
    serving_extended,
    serving_limited,
)

CALL = {"name": "encodePlantUML", "arguments": {"plantumlCode": "A"}}
FOREVER = {"name": "waiting_forever", "arguments": {}}
CANARY = "canary-7f3a9b-token"
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
KEYS = [
    "kind", "time", "principal", "address", "door", "method", "tool", "contract", "code", "refusal", "status",
    "durationMs", "left", "requestId", "traceId", "target", "calls", "seq", "prev", "hash",
]  # fmt: skip
BUNDLE = json.loads((ROOT / "src/signet/schemas/tools/plantuml.encode.json").read_bytes())
DIGEST = hashlib.sha256(
    json.dumps(BUNDLE, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
).hexdigest()


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Path]]:
    """A server that asks for a token."""
    folder = tmp_path_factory.mktemp("secured")
    log = folder / "audit.log"
    flags = ("--toolsets", "plantuml", "--no-journal", "--audit-log", str(log))
    with serving(*flags, env={"SIGNET_TOKEN": CANARY}) as server:
        yield server, log


AUTHORIZED = {"authorization": f"Bearer {CANARY}"}
JSON = {"content-type": "application/json"}
REFUSED: dict[str, tuple[tuple[str, str, bytes, dict[str, str]], dict[str, Any]]] = {
    "no token": (("POST", "/mcp", b"{}", JSON), {"status": 401, "code": "UNAUTHORIZED", "door": "http mcp"}),
    "another token": (
        ("POST", "/mcp/tool/plantuml.encode", b"{}", {**JSON, "authorization": "Bearer wrong-canary"}),
        {"status": 401, "code": "UNAUTHORIZED", "refusal": "UNAUTHORIZED", "door": "http envelope"},
    ),
    "another origin": (
        ("POST", "/mcp", b"{}", {**AUTHORIZED, **JSON, "origin": "https://evil.example"}),
        {"status": 403, "code": "UNAUTHORIZED", "refusal": "ORIGIN_NOT_ALLOWED"},
    ),
    "no such path": (("GET", "/x/%E2%80%AE", b"", AUTHORIZED), {"status": 404, "code": "NOT_FOUND", "door": "http"}),
    "no such tool": (
        ("POST", "/api/tools/evilName", b"{}", {**AUTHORIZED, **JSON}),
        {"status": 404, "code": "NOT_FOUND", "tool": None, "door": "rest"},
    ),
    "a long body": (
        ("POST", "/mcp", b"x" * 1_048_577, {**AUTHORIZED, **JSON}),
        {"status": 413, "code": "INVALID_INPUT", "refusal": "REQUEST_TOO_LARGE"},
    ),
    "another host": (
        ("GET", "/", b"", {**AUTHORIZED, "host": "evil.example"}),
        {"status": 421, "refusal": "HOST_NOT_ALLOWED", "method": "GET"},
    ),
    "not JSON": (
        ("POST", "/mcp", b"{", {**AUTHORIZED, **JSON}),
        {"status": 400, "code": "INVALID_INPUT", "refusal": "NOT_JSON"},
    ),
    "not our method": (
        ("BREW", "/", b"", AUTHORIZED),
        {"status": 400, "code": "INVALID_INPUT", "refusal": "BAD_REQUEST", "method": "unknown"},
    ),
    "another method": (
        ("GET", "/mcp", b"", AUTHORIZED),
        {"status": 405, "code": "INVALID_INPUT", "refusal": "METHOD_NOT_ALLOWED", "method": "GET"},
    ),
    "another type": (
        ("POST", "/mcp", b"{}", {**AUTHORIZED, "content-type": "text/plain"}),
        {"status": 415, "refusal": "UNSUPPORTED_MEDIA_TYPE", "principal": "token"},
    ),
    "not an envelope": (
        ("POST", "/mcp/tool/plantuml.encode", b'{"jsonrpc":"2.0"}', {**AUTHORIZED, **JSON}),
        {"status": 400, "code": "INVALID_INPUT", "refusal": "INVALID_ENVELOPE", "tool": None},
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_request_that_is_refused_before_it_is_a_call_has_one_line(secured: tuple[Server, Path], kind: str) -> None:
    server, log = secured
    (method, path, body, headers), expected = REFUSED[kind]
    before = len(requests_in(log))

    reply = server.ask(method, path, body, headers)

    (line,) = requests_in(log)[before:]
    assert line | expected == line
    assert (line["status"], line["address"], line["left"]) == (reply.status, "127.0.0.1", False)
    assert list(line) == KEYS


@pytest.mark.parametrize(
    ("door", "path", "body"),
    [
        ("http mcp", "/mcp", rpc("tools/call", {**CALL, "_meta": {"traceparent": TRACE}})),
        ("rest", "/api/tools/encodePlantUML", CALL["arguments"]),
        ("http envelope", "/mcp/tool/plantuml.encode", invocation("plantuml.encode", CALL["arguments"])),
    ],
)
def test_a_call_is_told_with_its_tool_and_the_digest_of_its_contracts(
    secured: tuple[Server, Path], door: str, path: str, body: Any
) -> None:
    server, log = secured
    before = len(requests_in(log))

    assert server.post(path, body, AUTHORIZED).status == 200

    (line,) = requests_in(log)[before:]
    told = {name: line[name] for name in ("door", "tool", "contract", "code", "refusal", "status")}
    assert told == {
        "door": door, "tool": "plantuml.encode", "contract": DIGEST, "code": "OK", "refusal": None, "status": 200,
    }  # fmt: skip
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"])
    assert line["durationMs"] > 0
    assert line["traceId"] == (TRACE.split("-")[1] if door == "http mcp" else None)


def test_a_request_whose_head_cannot_be_read_has_one_line(secured: tuple[Server, Path]) -> None:
    server, log = secured
    before = len(requests_in(log))

    answers = []
    for head in (b"GARBAGE\r\n\r\n", b"GET / HTTP/1.1\r\nx: " + b"y" * 100_000 + b"\r\n\r\n"):
        with server.connect() as client:
            client.sendall(head)
            answers.append(int(client.recv(4096).split()[1]))

    lines = requests_in(log)[before:]
    assert [line["status"] for line in lines] == answers == [400, 431]
    assert all(line["refusal"] and line["method"] == "unknown" for line in lines)


def test_neither_a_token_nor_text_of_callers_is_in_it(secured: tuple[Server, Path]) -> None:
    server, log = secured
    evil = {"name": "nobody\u202e" + CANARY, "arguments": {"password": CANARY}}
    server.post("/mcp", rpc("tools/call", evil), {**AUTHORIZED, "x-request-id": f"a\x1b {CANARY}"})
    server.ask("GET", f"/{CANARY}?token={CANARY}", headers=AUTHORIZED)

    text = log.read_bytes()

    assert b"canary" not in text
    assert b"password" not in text
    assert b"nobody" not in text
    assert set(text) <= set(range(0x20, 0x7F)) | {0x0A}


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[tuple[Server, Path]]:
    log = tmp_path / "audit.log"
    with serving_limited("--toolsets", "waiting", "--no-journal", "--audit-log", str(log), head_s=1.5) as server:
        yield server, log


def test_a_client_that_leaves_before_its_answer_has_one_line(waiting: tuple[Server, Path]) -> None:
    server, log = waiting
    body = json.dumps(rpc("tools/call", FOREVER)).encode()
    accepts = (b"application/json", b"application/json, text/event-stream")
    for number, (path, accept) in enumerate(
        [(b"/mcp", accepts[0]), (b"/mcp", accepts[1]), (b"/api/tools/waiting_forever", accepts[0])]
    ):
        sent = body if path == b"/mcp" else b"{}"
        client = server.connect()
        client.sendall(
            b"POST %b HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: %b\r\n"
            b"content-length: %d\r\n\r\n%b" % (path, accept, len(sent), sent)
        )
        _wait_until_started(server, number + 1)
        client.close()
        wait_for_requests(log, number + 1)
    server.ask("GET", "/healthz")
    server.process.terminate()
    server.process.wait(PATIENCE_S)

    lines = requests_in(log)

    told = [(line["tool"], line["code"], line["status"], line["left"]) for line in lines]
    assert told == [("waiting.forever", "INTERNAL_ERROR", 499, True)] * 3 + [(None, "OK", 200, False)]
    assert events_in(log) == ["started", "stopped"]


def _wait_until_started(server: Server, count: int) -> None:
    server.wait_for("waiting_forever: started\n" * count)


def test_a_head_that_does_not_come_in_time_has_one_line(waiting: tuple[Server, Path]) -> None:
    server, log = waiting
    with server.connect() as client:
        client.sendall(b"GET / HTTP/1.1\r\n")
        assert client.recv(4096).split()[1] == b"408"

    (line,) = requests_in(log)

    assert (line["status"], line["refusal"], line["door"]) == (408, "REQUEST_TIMEOUT", "http")


def test_a_call_that_is_in_flight_when_the_server_stops_has_one_line(waiting: tuple[Server, Path]) -> None:
    server, log = waiting
    client = server.connect()
    body = json.dumps(rpc("tools/call", FOREVER)).encode()
    head = b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    client.sendall(head % len(body) + body)
    _wait_until_started(server, 1)
    server.process.terminate()
    client.shutdown(socket.SHUT_RDWR)
    client.close()
    assert server.process.wait(PATIENCE_S) == 0

    assert [line["left"] for line in requests_in(log)] == [True]
    assert events_in(log) == ["started", "stopped"]


def test_a_stream_has_one_line_with_its_outcome(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    params = {"name": "test_tool_with_progress", "arguments": {}, "_meta": {"progressToken": 1}}
    with serving_extended("--toolsets", "conformance", "--no-journal", "--audit-log", str(log)) as server:
        reply = server.post("/mcp", rpc("tools/call", params), {"accept": "application/json, text/event-stream"})
        (line,) = requests_in(log)

    assert reply.headers["content-type"] == "text/event-stream"
    assert (line["code"], line["status"], line["left"], line["tool"] is None) == ("OK", 200, False, False)


def test_each_message_on_stdio_that_is_answered_has_one_line(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    with piping(*LIMITED, "stdio", "--toolsets", "waiting,plantuml", "--no-journal", "--audit-log", str(log)) as pipe:
        pipe.ask(rpc("tools/list", {}))
        pipe.ask(rpc("tools/call", CALL))
        pipe.ask(rpc("tools/call", {"name": "waiting_turn", "arguments": {}}))
        pipe.ask(rpc("evil/\u202e", {}))
        pipe.ask(b"not JSON")
        pipe.ask(invocation("plantuml.encode", CALL["arguments"]))
        pipe.ask({**invocation("plantuml.encode", CALL["arguments"]), "params": {"tool": "plantuml.encode"}})
        pipe.send(rpc("tools/call", FOREVER, request_id="gone"))
        pipe.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "gone"}})
        wait_for_requests(log, 8)
        assert pipe.finish()[0] == 0

    told = [[line[name] for name in ("door", "method", "tool", "code", "refusal", "left")] for line in requests_in(log)]

    mcp = "stdio mcp"
    assert told == [
        [mcp, "tools/list", None, "OK", None, False],
        [mcp, "tools/call", "plantuml.encode", "OK", None, False],
        [mcp, "tools/call", "waiting.turn", "OK", None, False],
        [mcp, "evil/\u202e", None, "INVALID_INPUT", "METHOD_NOT_FOUND", False],
        [mcp, "unknown", None, "INVALID_INPUT", "NOT_JSON", False],
        ["stdio envelope", "mcp.tool.invoke", "plantuml.encode", "OK", None, False],
        ["stdio envelope", "mcp.tool.invoke", None, "INVALID_INPUT", "INVALID_ENVELOPE", False],
        [mcp, "tools/call", "waiting.forever", "INTERNAL_ERROR", None, True],
    ]
    assert events_in(log) == ["started", "stopped"]


@pytest.mark.parametrize("workers", [1, 2])
def test_every_answer_has_its_line_although_the_server_is_killed(tmp_path: Path, workers: int) -> None:
    log = tmp_path / "audit.log"
    flags = ("--toolsets", "plantuml", "--no-journal", "--audit-log", str(log), "--workers", str(workers))
    answered = [0] * 6
    with serving(*flags) as server:

        def load(number: int) -> None:
            try:
                while True:
                    reply = server.post("/api/tools/encodePlantUML", CALL["arguments"])
                    answered[number] += reply.status == 200
                    if sum(answered) > 600:
                        return
            except (OSError, ValueError):
                return

        threads = [threading.Thread(target=load, args=(number,)) for number in range(len(answered))]
        for thread in threads:
            thread.start()
        while sum(answered) < 300:
            threading.Event().wait(0.001)
        # Stopped first: it would start another worker in the place of one that is gone.
        server.process.send_signal(signal.SIGSTOP)
        for pid in (*_children_of(server), server.process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for thread in threads:
            thread.join()
        server.process.wait(PATIENCE_S)

    lines = requests_in(log)
    assert 300 <= sum(answered) <= len(lines) <= sum(answered) + len(answered)
    assert len({line["seq"] for line in lines}) == len(lines)
    verified = run("audit", "verify", str(log))
    assert verified.returncode == 0, verified.stdout
    assert b"did not say that it stopped" in verified.stdout

    with serving(*flags) as server:
        server.post("/api/tools/encodePlantUML", CALL["arguments"])
    assert len(requests_in(log)) == len(lines) + 1
    assert events_in(log)[-1] == "stopped"
    assert run("audit", "verify", str(log)).returncode == 0


def _children_of(server: Server) -> list[int]:
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text(encoding="ascii")
    return [int(pid) for pid in children.split()]


def test_two_processes_write_one_chain_and_each_says_that_it_stopped(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    flags = ("--toolsets", "plantuml", "--no-journal", "--audit-log", str(log))
    with serving(*flags, "--workers", "2") as server, piping(SIGNET, "stdio", *flags) as pipe:
        threads = [threading.Thread(target=lambda: [server.post("/mcp", rpc("tools/call", CALL)) for _ in range(40)])]
        threads[0].start()
        for _ in range(40):
            pipe.ask(rpc("tools/call", CALL))
        threads[0].join()
        pipe.finish()
        # The other worker may still be starting.
        wait_for_started(log, 3)

    lines = lines_in(log)

    assert len(requests_in(log)) == 80
    assert sorted(events_in(log)) == ["started"] * 3 + ["stopped"] * 3
    assert (lines[-1]["calls"], lines[-1]["lines"]) == (80, len(lines))


@pytest.mark.parametrize("command", [("serve",), ("serve", "--workers", "2"), ("stdio",)], ids=" ".join)
def test_a_process_that_is_stopped_as_soon_as_it_serves_says_that_it_stopped(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    log = tmp_path / "audit.log"
    port = () if command == ("stdio",) else ("--port", "0")
    flags = ("--toolsets", "plantuml", "--no-journal", "--audit-log", str(log))
    with piping(SIGNET, *command, *port, *flags) as process:
        wait_for_started(log, 1)
        process.process.send_signal(signal.SIGTERM)
        assert process.process.wait(PATIENCE_S) == 0

    assert Counter(events_in(log))["started"] == Counter(events_in(log))["stopped"] >= 1


@pytest.mark.parametrize("command", [("serve", "--port", "0"), ("stdio",)])
@pytest.mark.parametrize("kind", ["folder", "missing folder", "another file", "/dev/full"])
def test_a_file_that_cannot_be_written_keeps_the_server_from_starting(
    tmp_path: Path, command: tuple[str, ...], kind: str
) -> None:
    path = {"missing folder": tmp_path / "none/audit.log", "/dev/full": Path("/dev/full")}.get(kind, tmp_path / "x")
    if kind == "folder":
        path.mkdir()
    if kind == "another file":
        path.write_bytes(b"something else\n")

    done = run(*command, "--toolsets", "plantuml", "--no-journal", "--audit-log", str(path))

    assert done.returncode == 2
    assert done.stderr.startswith(f"signet: the audit log {path} cannot be written (".encode())
    assert kind != "another file" or path.read_bytes() == b"something else\n"


@pytest.mark.parametrize("command", [("serve", "--port", "0"), ("stdio",)])
def test_a_disk_that_is_full_at_the_start_keeps_the_server_from_starting(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    path = tmp_path / "audit.log"
    limited = ("sh", "-c", 'ulimit -f 0; exec "$0" "$@"', SIGNET, *command)
    flags = ("--toolsets", "plantuml", "--no-journal", "--audit-log", str(path))

    done = subprocess.run(
        [*limited, *flags],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=clean_env(),
        timeout=PATIENCE_S,
        check=False,
    )

    assert done.returncode == 2
    assert f"signet: the audit log {path} cannot be written (File too large)".encode() in done.stderr
    assert path.read_bytes() == b""
