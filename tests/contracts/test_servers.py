"""Servers of other makes: sessions, pages, event streams, and malformed replies."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from signet.commands.contract.command import read_set
from signet.compatibility.contract_set import ContractTerms
from signet.settings.usage import UsageError

ANY = {"type": "object"}
TOOLS = [{"name": "a", "inputSchema": ANY}]
Answer = tuple[int, dict[str, str], bytes]
Behaviour = Callable[[dict[str, Any], dict[str, str]], Answer]


@contextlib.contextmanager
def behaving(behave: Behaviour) -> Iterator[str]:
    """Run a server that answers each message by a function."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            message = json.loads(self.rfile.read(int(self.headers["content-length"])))
            status, headers, body = behave(message, {key.lower(): value for key, value in self.headers.items()})
            self.send_response(status)
            headers = {"content-length": str(len(body)), **headers}
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)
            if int(headers["content-length"]) > len(body):
                # The promised rest never comes: the connection stays open until the client closes it.
                self.rfile.read(1)

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


def answer(message: dict[str, Any], result: Any) -> Answer:
    body = json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "result": result}).encode()
    return 200, {"content-type": "application/json"}, body


def hello(message: dict[str, Any]) -> Answer:
    return answer(message, {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {}})


def refusal(behave: Behaviour) -> str:
    with behaving(behave) as url, pytest.raises(UsageError) as caught:
        read_set(url)
    return str(caught.value)


def test_sessions_pages_and_event_streams_are_followed() -> None:
    seen: list[tuple[str, str | None, str | None]] = []

    def behave(message: dict[str, Any], headers: dict[str, str]) -> Answer:
        seen.append((message["method"], headers.get("mcp-session-id"), headers.get("mcp-protocol-version")))
        if message["method"] == "initialize":
            status, kinds, body = hello(message)
            return status, {**kinds, "Mcp-Session-Id": "s1"}, body
        if "id" not in message:
            return 202, {}, b""
        first = "cursor" not in message["params"]
        tools = (
            [{"name": "a", "inputSchema": ANY}] if first else [{"name": "b", "inputSchema": ANY, "outputSchema": ANY}]
        )
        _, _, body = answer(message, {"tools": tools, **({"nextCursor": "2"} if first else {})})
        progress = b'event: message\r\ndata: {"jsonrpc":"2.0","method":"notifications/progress"}\r\n\r\n'
        return 200, {"content-type": "text/event-stream"}, progress + b": ping\n\ndata: " + body + b"\n\n"

    with behaving(behave) as url:
        contracts = read_set(url)

    assert contracts.tools == {"a": ContractTerms(ANY, True), "b": ContractTerms(ANY, ANY)}
    assert seen == [
        ("initialize", None, None),
        ("notifications/initialized", "s1", "2025-06-18"),
        ("tools/list", "s1", "2025-06-18"),
        ("tools/list", "s1", "2025-06-18"),
    ]


def test_a_token_goes_nowhere_but_to_the_host_that_was_written() -> None:
    tokens: list[str | None] = []

    def elsewhere(message: dict[str, Any], headers: dict[str, str]) -> Answer:
        tokens.append(headers.get("authorization"))
        return hello(message)

    with behaving(elsewhere) as other:
        sentence = refusal(lambda *_: (307, {"location": other}, b""))

    assert "307" in sentence
    assert tokens == []


def test_an_error_is_told_in_the_words_of_the_server_on_one_line() -> None:
    error = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"closed\\n\\u001bon Sundays"}}'

    assert "(it refuses to begin: closed  on Sundays)" in refusal(
        lambda *_: (200, {"content-type": "application/json"}, error)
    )


def test_a_stream_may_stay_open_behind_its_answer() -> None:
    def behave(message: dict[str, Any], _: dict[str, str]) -> Answer:
        if "id" not in message:
            return 202, {}, b""
        _, _, body = hello(message) if message["method"] == "initialize" else answer(message, {"tools": TOOLS})
        event = b"data: " + body + b"\n\n"
        return 200, {"content-type": "text/event-stream", "content-length": str(len(event) + 100)}, event

    with behaving(behave) as url:
        assert read_set(url).tools == {"a": ContractTerms(ANY, True)}


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b'{"jsonrpc":"2.0","id":7,"result":{}}', b'{"id":0,"result":{}}', b"[" * 9_999]
)
def test_an_answer_that_is_none_is_told(body: bytes) -> None:
    assert "gives no list of tools" in refusal(lambda *_: (200, {"content-type": "application/json"}, body))


@pytest.mark.parametrize("result", [{}, {"tools": [{"name": "a"}]}, {"tools": [{"name": "a", "inputSchema": 3}]}])
def test_a_list_that_is_none_is_told(result: Any) -> None:
    def behave(message: dict[str, Any], _: dict[str, str]) -> Answer:
        return hello(message) if message["method"] == "initialize" else answer(message, result)

    assert "gives no list of tools" in refusal(behave)


def test_a_list_without_end_is_left() -> None:
    def behave(message: dict[str, Any], _: dict[str, str]) -> Answer:
        if message["method"] == "initialize":
            return hello(message)
        return answer(message, {"tools": [], "nextCursor": "again"})

    assert "its tools/list does not end" in refusal(behave)
