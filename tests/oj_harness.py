"""The judge behind the tools: the embedded upstream, told what to answer, and `oj-mcp-rs` at the end of two pipes."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

from channels import rpc
from processes import BIN, PATIENCE_S, Pipe, piping
from signet.catalogue import find_toolset
from signet.sandbox import start_in_thread

OJ = str(BIN / "oj-mcp-rs")
TOOLS = ["get_daily_challenge", "get_problem", "find_similar_problems", "resolve_problem", "get_platform_status"]
DIRECT = {"NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}
"""Nothing between a test and its upstream, whatever the machine's settings."""

PROBLEM = {
    "id": "1", "source": "leetcode", "slug": "two-sum", "title": "Two Sum", "title_cn": "", "difficulty": "Easy",
    "ac_rate": 57.08, "rating": 0.0, "contest": None, "problem_index": None, "tags": ["Array", "Hash Table"],
    "link": "https://leetcode.com/problems/two-sum/", "category": "Algorithms", "paid_only": 0,
    "content": "<p>Add <b>two</b> numbers.</p>", "content_cn": None, "similar_questions": [],
}  # fmt: skip
PAGE = """\
# Two Sum

- Source: leetcode | ID: 1 | Difficulty: Easy
- Tags: Array, Hash Table
- Link: https://leetcode.com/problems/two-sum/
- AC Rate: 57.1%

---

Add **two** numbers."""
"""How that problem is shown."""

HIT = {
    "source": "leetcode", "id": "167", "title": "Two Sum II", "difficulty": "Medium", "link": "https://x.example/167",
    "similarity": 0.79,
}  # fmt: skip
SIMILAR = {"rewritten_query": "pairs that add up", "results": [HIT]}
STATUS = {
    "version": "1.2.3",
    "platforms": [
        {"source": "spoj", "total": 12984, "missing_content": 100, "not_embedded": 1000},
        {"source": "atcoder", "total": 0, "missing_content": 0, "not_embedded": 0},
        {"source": "leetcode", "total": 1234567, "missing_content": 999, "not_embedded": 8356},
    ],
}
SAMPLE = ("leetcode", "9001")
"""A problem that the embedded upstream has."""

UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")

Said = tuple[str, Any]
"""("answer", text), ("told", text) for a result that is an error, or ("failed", code) for a protocol error."""


def encoded(text: str) -> str:
    """Percent-encode a text, byte by byte: what stands in no library's table of exceptions."""
    return "".join(chr(byte) if byte in UNRESERVED else f"%{byte:02X}" for byte in text.encode())


@dataclass
class OjHarness:
    """The embedded upstream."""

    url: str

    def control(self, method: str, path: str, value: object = None) -> Any:
        """Ask the sandbox itself."""
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=PATIENCE_S)
        try:
            body = None if value is None else json.dumps(value, ensure_ascii=False).encode()
            connection.request(method, f"/_sandbox{path}", body)
            answer = connection.getresponse()
            told = answer.read()
            assert answer.status < 300, told
            return json.loads(told) if told else None
        finally:
            connection.close()

    def clear(self) -> None:
        """Let no order stand, and forget the requests."""
        self.control("DELETE", "/faults")
        self.control("DELETE", "/requests")

    def order(self, fault: str, **parameters: Any) -> None:
        """Let a fault befall what is asked from now on."""
        self.control("POST", "/faults", {"fault": fault, **parameters})

    def answers(self, value: object, **parameters: Any) -> None:
        """Let it answer with a value as JSON from now on."""
        self.order("answer", body=json.dumps(value, ensure_ascii=False), **parameters)

    def requests(self) -> list[dict[str, Any]]:
        """Every request so far, in order."""
        seen: list[dict[str, Any]] = self.control("GET", "/requests")["requests"]
        return seen

    def targets(self) -> list[str]:
        """What was asked for so far, byte for byte."""
        return [seen["target"] for seen in self.requests()]

    def bearers(self) -> list[str | None]:
        """The Authorization of every request so far, veiled as the log veils it."""
        return [seen["headers"].get("authorization") for seen in self.requests()]

    def settled(self) -> list[dict[str, Any]]:
        """Every request so far, once none is on its way any more."""
        return self.once(lambda seen: all(one["end"] is not None for one in seen))

    def once(self, ready: Any) -> list[dict[str, Any]]:
        """Every request so far, once they are what was waited for."""
        deadline = time.monotonic() + PATIENCE_S
        while not ready(seen := self.requests()):
            assert time.monotonic() < deadline, f"it never came to that: {seen}"
            time.sleep(0.01)
        return seen


def veiled(token: str) -> str:
    """The Authorization header of a token, as the log of the sandbox veils it."""
    return f"Bearer sha256:{sha256(token.encode()).hexdigest()[:16]}"


@contextlib.contextmanager
def oj_sandbox(token: str | None = None) -> Iterator[OjHarness]:
    """Play the upstream until the block ends."""
    url, stop = start_in_thread(find_toolset("oj"), token=token)
    try:
        yield OjHarness(url)
    finally:
        stop()


def serving_oj(url: str, *flags: str, env: Mapping[str, str] | None = None) -> contextlib.AbstractContextManager[Pipe]:
    """Run `oj-mcp-rs` for an upstream until the block ends; quiet unless told otherwise, so that no pipe fills."""
    return piping(OJ, "--base-url", url, *flags, env={**DIRECT, "RUST_LOG": "off", **(env or {})})


def call(pipe: Pipe, name: str, **arguments: Any) -> Said:
    """Call one tool and say what came of it."""
    return said(pipe.ask(rpc("tools/call", {"name": name, "arguments": arguments})))


def said(answer: dict[str, Any]) -> Said:
    """Bring an answer to one form, and hold it to the shape that all have."""
    if "error" in answer:
        return "failed", answer["error"]["code"]
    result = answer["result"]
    assert set(result) - {"_meta", "resultType"} == {"content", "isError"}
    [block] = result["content"]
    assert set(block) == {"type", "text"}
    assert block["type"] == "text"
    return "told" if result["isError"] else "answer", block["text"]


@dataclass
class Listener:
    """A bare socket that keeps what it is sent, and answers each request with the same bytes."""

    port: int
    connections: list[bytes] = field(default_factory=list)
    """What came over each connection so far."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def received(self) -> bytes:
        return b"".join(self.connections)


@contextlib.contextmanager
def listening(reply: bytes, *, hangs_up: bool = False) -> Iterator[Listener]:
    """Listen on a free port until the block ends."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        listener = Listener(server.getsockname()[1])
        thread = threading.Thread(target=_accept, args=(server, listener, (reply, hangs_up)))
        thread.start()
        try:
            yield listener
        finally:
            # Closing alone would leave the thread in accept().
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


def _accept(server: socket.socket, listener: Listener, reply: tuple[bytes, bool]) -> None:
    threads = []
    with contextlib.suppress(OSError):
        while True:
            peer, _ = server.accept()
            listener.connections.append(b"")
            place = len(listener.connections) - 1
            threads.append(threading.Thread(target=_converse, args=(peer, listener, place, reply)))
            threads[-1].start()
    for thread in threads:
        thread.join()


def _converse(peer: socket.socket, listener: Listener, place: int, reply: tuple[bytes, bool]) -> None:
    with peer, contextlib.suppress(OSError):
        peer.settimeout(PATIENCE_S)
        while chunk := peer.recv(65_536):
            listener.connections[place] += chunk
            if listener.connections[place].endswith(b"\r\n\r\n"):
                peer.sendall(reply[0])
                if reply[1]:
                    return


def http_answer(value: object) -> bytes:
    """A whole response with a value as JSON."""
    body = json.dumps(value).encode()
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)
