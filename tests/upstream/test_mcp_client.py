"""The MCP client: both eras on both transports, and servers that flood, hang or will not end."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Iterator
from http.client import HTTPException

import pytest

from processes import PATIENCE_S, SIGNET, clean_env, serving
from signet.kernel.protocol import HANDSHAKE_VERSIONS, MODERN_VERSIONS, Identity
from signet.mcp.blocking import HttpTransport, McpClient, StdioTransport
from signet.mcp.messages import MessageBuilder, read_result
from signet.system import processes
from signet.upstream import server_process
from signet.upstream.server_process import ServerProcess

ME = Identity("tests", "1")
VERSIONS = (*HANDSHAKE_VERSIONS, *MODERN_VERSIONS)
SOON_S = 0.3
SMALL = 1 << 16


@contextlib.contextmanager
def process(*command: str, grace_s: float = PATIENCE_S) -> Iterator[ServerProcess]:
    server = ServerProcess(command, clean_env())
    try:
        yield server
    finally:
        server.close(grace_s)
        assert server.status is not None


def python(program: str) -> contextlib.AbstractContextManager[ServerProcess]:
    return process(sys.executable, "-c", program, grace_s=SOON_S)


def ask(server: ServerProcess, timeout_s: float = PATIENCE_S) -> object:
    transport = StdioTransport(server, timeout_s=timeout_s, max_bytes=SMALL)
    return McpClient(transport, ME).list_tools()


# --- both eras, both transports


@pytest.mark.parametrize("version", VERSIONS)
def test_tools_are_listed_over_stdio_in_every_revision(version: str) -> None:
    with process(SIGNET, "stdio", "--toolsets", "plantuml", "--no-journal") as server:
        tools = McpClient(StdioTransport(server, timeout_s=PATIENCE_S), ME, version).list_tools()

    assert [tool.name for tool in tools] == ["encodePlantUML"]
    assert server.status == 0


def test_tools_are_listed_and_called_over_http_in_every_revision() -> None:
    with serving("--toolsets", "plantuml", "--no-journal") as server:
        clients = [
            McpClient(HttpTransport(f"{server.url}/mcp", timeout_s=PATIENCE_S), ME, version) for version in VERSIONS
        ]
        names = [[tool.name for tool in client.list_tools()] for client in clients]
        call = {"name": "encodePlantUML", "arguments": {"plantumlCode": "A -> B"}}
        formats = [client.request("tools/call", call)["structuredContent"]["format"] for client in clients]

    assert names == [["encodePlantUML"]] * len(VERSIONS)
    assert formats == ["svg"] * len(VERSIONS)


def test_a_modern_request_repeats_itself_in_its_headers() -> None:
    message = MessageBuilder("2026-07-28", ME).request(7, "tools/call", {"name": "図", "arguments": {}})

    assert json.loads(message.body) == {
        "jsonrpc": "2.0",
        "id": 7,
        "method": "tools/call",
        "params": {
            "name": "図",
            "arguments": {},
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        },
    }
    assert message.headers == {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "=?base64?5Zuz?=",
    }


def test_other_messages_are_passed_over() -> None:
    texts = (b"log line", b'{"id":1,"method":"ping"}', b'{"id":2,"result":0}', b'{"id":1,"result":{"a":1}}')

    assert read_result(texts, 1) == {"a": 1}
    with pytest.raises(ValueError, match="does not answer"):
        read_result(texts[1:3], 1)
    with pytest.raises(ValueError, match="malformed"):
        read_result(texts[:1], 1)


# --- processes that misbehave


@pytest.mark.parametrize(
    "program",
    [
        "import sys\nwhile True: sys.stdout.write('x' * 65536)",
        "while True: print('{}')",
        """while True: print('{"jsonrpc":"2.0","id":0,"method":"ping"}')""",
    ],
    ids=["one endless line", "other messages", "requests of its own"],
)
def test_a_server_that_floods_is_a_clear_error(program: str) -> None:
    with python(program) as server, pytest.raises(ValueError, match=f"longer than {SMALL} bytes"):
        ask(server)


@pytest.mark.parametrize("program", ["input(); input()", "import time; time.sleep(60)"])
def test_a_server_that_never_answers_is_a_clear_error(program: str) -> None:
    with python(program) as server, pytest.raises(TimeoutError, match="it does not answer in time"):
        ask(server, SOON_S)


def test_a_server_that_never_reads_is_a_clear_error() -> None:
    with python("import time; time.sleep(60)") as server:
        transport = StdioTransport(server, timeout_s=SOON_S)
        message = MessageBuilder("2026-07-28", ME).request(0, "x", {"text": "x" * (1 << 20)})

        with pytest.raises(TimeoutError):
            transport.exchange(message, list)
        with pytest.raises(TimeoutError):
            transport.notify(message)


def test_a_server_that_ends_says_its_last_words() -> None:
    with python("import sys; print('x' * 10**6, file=sys.stderr); sys.exit('out of order\\n')") as server:
        with pytest.raises((EOFError, BrokenPipeError)):
            ask(server)

        assert server.last_words() == "out of order"


def test_messages_without_end_hold_up_nobody() -> None:
    program = "import sys\nfor n in range(2000): sys.stderr.write('x' * 9999)\nprint(input() and 1)"

    with python(program) as server:
        with pytest.raises(EOFError):
            ask(server)

        assert server.last_words() == "x" * 200


@pytest.mark.parametrize("deaf_to", ["", "signal.SIGTERM"])
def test_a_server_that_will_not_end_is_ended(monkeypatch: pytest.MonkeyPatch, deaf_to: str) -> None:
    if deaf_to:
        monkeypatch.setattr(processes, "GRACE_S", SOON_S)
    deaf = f"signal.signal({deaf_to}, signal.SIG_IGN); " if deaf_to else ""
    server = ServerProcess(
        (sys.executable, "-c", f"import signal, time; {deaf}print('up', flush=True); time.sleep(60)")
    )
    server.receive(time.monotonic() + PATIENCE_S, SMALL)

    server.close(SOON_S)

    assert server.status == (-9 if deaf_to else -15)


def test_a_pipe_that_somebody_else_holds_does_not_keep_us(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_process, "SETTLE_S", SOON_S)
    program = (
        "import os, time\n"
        "if not (pid := os.fork()):\n"
        "    time.sleep(60)\n"
        "print(pid, flush=True)\n"
        "input()\n"
        "os._exit(0)\n"
    )
    server = ServerProcess((sys.executable, "-c", program))
    heir = int(server.receive(time.monotonic() + PATIENCE_S, SMALL))
    try:
        with pytest.raises(TimeoutError):
            ask(server, SOON_S)

        server.close()

        assert server.status == 0
    finally:
        os.kill(heir, 9)
        server.close()


# --- hosts that misbehave


@contextlib.contextmanager
def host(*parts: bytes) -> Iterator[str]:
    """Accept one connection, read its request and send these bytes a little at a time; then hold it open."""
    done = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection, contextlib.suppress(OSError):
                connection.recv(SMALL)
                for part in parts:
                    connection.sendall(part)
                    if done.wait(SOON_S / 10):
                        return
                done.wait(PATIENCE_S)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            done.set()
            thread.join()


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    "parts",
    [(), [b"x-a: b\r\n" for _ in range(90)], [HEAD, b"Content-Length: 99\r\n\r\n", *[b" "] * 98]],
    ids=["silence", "headers drop by drop", "a body drop by drop"],
)
def test_a_host_that_takes_its_time_is_a_clear_error(parts: list[bytes]) -> None:
    first = (b"HTTP/1.1 200 OK\r\n",) if parts and not parts[0].startswith(b"HTTP") else ()
    with host(*first, *parts) as url, pytest.raises(TimeoutError, match="timed out"):
        McpClient(HttpTransport(url, timeout_s=SOON_S), ME).list_tools()


def test_a_host_that_sends_too_much_is_a_clear_error() -> None:
    big = b"Content-Length: 99999999\r\n\r\n" + b" " * (SMALL + 1)
    with host(HEAD, big) as url, pytest.raises(ValueError, match=f"longer than {SMALL} bytes"):
        McpClient(HttpTransport(url, timeout_s=PATIENCE_S, max_bytes=SMALL), ME).list_tools()


def test_a_host_that_sends_informational_responses_without_end_is_left_at_once() -> None:
    interim = b"HTTP/1.1 100 Continue\r\n\r\n"
    words = r"it sends more than 100 informational answers \(1xx\) and no result"
    with host(interim * 101) as url, pytest.raises(HTTPException, match=words):
        McpClient(HttpTransport(url, timeout_s=PATIENCE_S), ME).list_tools()


def test_a_hundred_informational_responses_are_skipped() -> None:
    interim = b"HTTP/1.1 100 Continue\r\n\r\n" * 100
    with host(interim + HEAD + b"Content-Length: 2\r\n\r\n{}") as url:
        message = MessageBuilder(MODERN_VERSIONS[-1], ME).request(0, "tools/list", {})

        texts = HttpTransport(url, timeout_s=PATIENCE_S).exchange(message, list)

    assert texts == [b"{}"]
