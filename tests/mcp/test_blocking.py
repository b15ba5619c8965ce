"""Sessions of commands: every revision over pipes and HTTP, and servers that flood, hang, or answer too much."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
from collections.abc import Iterator

import pytest

from processes import PATIENCE_S, SIGNET, clean_env, serving
from signet.kernel.protocol import HANDSHAKE_VERSIONS, MODERN_VERSIONS, Identity
from signet.kernel.wire import ProtocolError
from signet.mcp.blocking import BlockingSession
from signet.mcp.child_link import ChildLink
from signet.mcp.messages import MessageBuilder
from signet.mcp.negotiation import Introduction
from signet.mcp.plain_http import PlainHttp, PlainHttpLink

ME = Identity("tests", "1")
VERSIONS = (*HANDSHAKE_VERSIONS, *MODERN_VERSIONS)
SOON_S = 0.3
SMALL = 1 << 16


def introduction(version: str) -> Introduction:
    if version in MODERN_VERSIONS:
        return Introduction(only="modern", capabilities={})
    return Introduction(only="handshake", version=version, capabilities={})


@contextlib.contextmanager
def starting(
    *command: str, version: str = HANDSHAKE_VERSIONS[-1], timeout_s: float = PATIENCE_S, said: list[str] | None = None
) -> Iterator[BlockingSession]:
    """Speak to a server that a command starts."""
    lines: list[str] = [] if said is None else said
    session = BlockingSession(
        lambda: ChildLink(command, clean_env(), lines.append),
        introduction(version),
        timeout_s=timeout_s,
        max_bytes=SMALL,
    )
    try:
        yield session
    finally:
        session.close()


def reaching(
    url: str, version: str = HANDSHAKE_VERSIONS[-1], *, timeout_s: float = PATIENCE_S, max_bytes: int = 1 << 24
) -> BlockingSession:
    """Speak to a server at an address."""
    http = PlainHttp(url, timeout_s=timeout_s, max_bytes=max_bytes)
    return BlockingSession(lambda: PlainHttpLink(http), introduction(version), timeout_s=timeout_s)


# --- both eras, both links


@pytest.mark.parametrize("version", VERSIONS)
def test_tools_are_listed_over_stdio_in_every_revision(version: str) -> None:
    with starting(SIGNET, "stdio", "--toolsets", "plantuml", "--no-journal", version=version) as session:
        tools = session.list_tools()

    assert [tool.name for tool in tools] == ["encodePlantUML"]


def test_tools_are_listed_and_called_over_http_in_every_revision() -> None:
    with serving("--toolsets", "plantuml", "--no-journal") as server:
        sessions = [reaching(f"{server.url}/mcp", version) for version in VERSIONS]
        names = [[tool.name for tool in session.list_tools()] for session in sessions]
        call = {"name": "encodePlantUML", "arguments": {"plantumlCode": "A -> B"}}
        results = [bytes(session.request("tools/call", call)) for session in sessions]

    assert names == [["encodePlantUML"]] * len(VERSIONS)
    assert [b'"format":"svg"' in result for result in results] == [True] * len(VERSIONS)


def test_an_error_of_the_server_is_raised_with_its_code() -> None:
    with (
        starting(SIGNET, "stdio", "--toolsets", "plantuml", "--no-journal") as session,
        pytest.raises(ProtocolError, match="Method not found") as caught,
    ):
        session.request("no/method", {})

    assert caught.value.code == -32601


# --- servers that misbehave


def python(program: str, timeout_s: float = PATIENCE_S) -> contextlib.AbstractContextManager[BlockingSession]:
    return starting(sys.executable, "-c", program, timeout_s=timeout_s)


@pytest.mark.parametrize(
    "program",
    [
        "while True: print('{}')",
        """while True: print('{"jsonrpc":"2.0","id":0,"method":"ping"}')""",
    ],
    ids=["other messages", "requests of its own"],
)
def test_a_server_that_floods_is_a_clear_error(program: str) -> None:
    with python(program) as session, pytest.raises(ValueError, match=f"longer than {SMALL} bytes"):
        session.list_tools()


def test_one_endless_line_is_skipped_and_no_answer() -> None:
    program = "import sys\nwhile True: sys.stdout.write('x' * 65536)"
    with python(program, SOON_S) as session, pytest.raises(TimeoutError, match="it does not answer in time"):
        session.list_tools()


@pytest.mark.parametrize("program", ["input(); input()", "import time; time.sleep(60)"])
def test_a_server_that_never_answers_is_a_clear_error(program: str) -> None:
    with python(program, SOON_S) as session, pytest.raises(TimeoutError, match="it does not answer in time"):
        session.list_tools()


def test_a_server_that_ends_is_told_with_its_last_words() -> None:
    program = "import sys; print('x' * 10**6, file=sys.stderr); sys.exit('out of order\\n')"
    with python(program) as session, pytest.raises(OSError, match=r"exit code 1; .*: out of order$"):
        session.list_tools()


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
    with host(*first, *parts) as url, pytest.raises(TimeoutError, match="it does not answer in time"):
        reaching(url, timeout_s=SOON_S).list_tools()


def test_a_host_that_sends_too_much_is_a_clear_error() -> None:
    big = b"Content-Length: 99999999\r\n\r\n" + b" " * (SMALL + 1)
    with host(HEAD, big) as url, pytest.raises(ValueError, match=f"longer than {SMALL} bytes"):
        reaching(url, max_bytes=SMALL).list_tools()


def test_a_host_that_sends_informational_responses_without_end_is_left_at_once() -> None:
    interim = b"HTTP/1.1 100 Continue\r\n\r\n"
    words = r"it sends more than 100 informational answers \(1xx\) and no result"
    with host(interim * 101) as url, pytest.raises(ValueError, match=words):
        reaching(url).list_tools()


def test_a_hundred_informational_responses_are_skipped() -> None:
    interim = b"HTTP/1.1 100 Continue\r\n\r\n" * 100
    with host(interim + HEAD + b"Content-Length: 2\r\n\r\n{}") as url:
        message = MessageBuilder(MODERN_VERSIONS[-1], ME).request(0, "tools/list", {})

        texts = PlainHttp(url, timeout_s=PATIENCE_S).exchange(message, list)

    assert texts == [b"{}"]
