"""Kinds of traffic, valid and hostile: each opens a connection, does what it is called, and returns the answers."""

from __future__ import annotations

import contextlib
import json
import random
import socket
import struct
import time
from collections.abc import Callable, Iterator

from attack.clients import Answer, connect, exchange, head, parse, post, read_answers
from attack.observation import CALL, CALLS, ENCODED, result_of
from door_calls import modern_headers, rpc

CLOSE = ("Connection", "close")
STREAM = ("Accept", "application/json, text/event-stream")
PROGRESS = rpc(
    "tools/call",
    {"name": "test_tool_with_progress", "arguments": {}, "_meta": {"progressToken": 1}},
)
HEAD = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
NEXT = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
HOLD_S = 1.0
"""How long a client that does nothing does it."""

Kind = Callable[[int, str, random.Random], list[Answer]]
"""(port, the client's address, chance) → the answers that it got."""

SMUGGLING: tuple[bytes, ...] = (
    HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + NEXT,
    HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n{}   " + NEXT,
    HEAD + b"Content-Length: 2, 2\r\n\r\n{}" + NEXT,
    HEAD + b"Content-Length: +2\r\n\r\n{}" + NEXT,
    HEAD + b"Content-Length: 0x2\r\n\r\n{}" + NEXT,
    HEAD + b"Content-Length: -2\r\n\r\n{}" + NEXT,
    HEAD + b"Content-Length: 99999999999999999999\r\n\r\n{}" + NEXT,
    HEAD + b"Content-Length : 2\r\n\r\n{}" + NEXT,
    HEAD + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + NEXT,
    HEAD + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + NEXT,
    HEAD + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + NEXT,
    HEAD + b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n" + NEXT,
    HEAD + b"Transfer-Encoding: chunked\r\n\r\n0x1\r\n{\r\n0\r\n\r\n" + NEXT,
    HEAD + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n{" + NEXT,
    HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\n{\n0\n\n" + NEXT,
    HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;" + b"x" * 100_000 + b"\r\n{\r\n0\r\n\r\n" + NEXT,
    b"GET /healthz HTTP/1.1\nHost: localhost\n\n" + NEXT,
    b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: a\rY: b\r\n\r\n" + NEXT,
    b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: a\x00b\r\n\r\n" + NEXT,
    b"GET  /healthz  HTTP/1.1\r\nHost: localhost\r\n\r\n" + NEXT,
    b"GET http://evil.example/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" + NEXT,
    b"GET /healthz HTTP/9.9\r\nHost: localhost\r\n\r\n" + NEXT,
    b"GET /healthz\r\n\r\n" + NEXT,
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
)


@contextlib.contextmanager
def client_of(port: int, source: str, receive_buffer: int = 0) -> Iterator[socket.socket]:
    with contextlib.closing(connect(port, source, receive_buffer)) as client:
        yield client


def reset(client: socket.socket) -> None:
    """Leave without a good-bye: the next packet is a reset."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


def _exchange(port: int, source: str, *sent: bytes) -> list[Answer]:
    with client_of(port, source) as client:
        client.settimeout(5)
        with contextlib.suppress(TimeoutError):
            return exchange(client, *sent)
    return []


# --- valid


def calls_through_each_door(port: int, source: str, chance: random.Random) -> list[Answer]:
    """Make calls on one connection, some of them pipelined; each result must be right."""
    doors = chance.choices(list(CALLS), k=12)
    with client_of(port, source) as client:
        answers = []
        for first, second in zip(doors[::2], doors[1::2], strict=True):
            client.sendall(CALLS[first] + CALLS[second])
            answers += read_answers(client, 2)
    for door, answer in zip(doors, answers, strict=True):
        assert (answer.status, result_of(door, answer.json())["encoded"]) == (200, ENCODED)
    return answers


def reads_pages(port: int, source: str, _: random.Random) -> list[Answer]:
    paths = ("/", "/healthz", "/readyz", "/openapi.json", "/api/tools")
    with client_of(port, source) as client:
        client.sendall(b"".join(head("GET", path) for path in paths))
        answers = read_answers(client, len(paths))
    assert [answer.status for answer in answers] == [200] * len(paths)
    return answers


def follows_progress(port: int, source: str, chance: random.Random) -> list[Answer]:
    """Call a tool that tells its progress three times; the answer is a stream of four messages."""
    if chance.random() < 0.5:
        sent = post("/mcp", PROGRESS, [STREAM])
    else:
        modern = rpc("tools/call", {"name": "test_tool_with_progress", "arguments": {}}, modern=True)
        modern["params"]["_meta"] = {**modern["params"]["_meta"], "progressToken": 1}
        sent = post("/mcp", modern, modern_headers("tools/call", "test_tool_with_progress").items())
    with client_of(port, source) as client:
        client.sendall(sent)
        [answer] = read_answers(client, 1)
    messages = [json.loads(line[6:]) for line in answer.body.split(b"\r\n") if line.startswith(b"data: ")]
    assert [message.get("method", "result") for message in messages] == ["notifications/progress"] * 3 + ["result"]
    return [answer]


VALID: dict[str, Kind] = {
    "calls through each door": calls_through_each_door,
    "pages": reads_pages,
    "progress": follows_progress,
}


# --- hostile


def sends_no_json(port: int, source: str, chance: random.Random) -> list[Answer]:
    path = chance.choice(["/mcp", "/api/tools/encodePlantUML", "/mcp/tool/plantuml.encode", "/mcp/v1/encode-plantuml"])
    body = chance.choice([b"{", b"", b"null", b"[" * 10_000, b"\xff\xfe", b'{"a":1e999}', chance.randbytes(300)])
    return _exchange(port, source, post(path, body, [CLOSE]))


def breaks_a_contract(port: int, source: str, chance: random.Random) -> list[Answer]:
    """Send nearly a mebibyte of items that are wrong."""
    item = chance.choice(["0,", '"",', "{},", "[],", "null,"])
    wrong = f'{{"plantumlCode":[{item * (1_000_000 // len(item))}0]}}'.encode()
    return _exchange(port, source, post("/api/tools/encodePlantUML", wrong, [CLOSE]))


def sends_too_much(port: int, source: str, _: random.Random) -> list[Answer]:
    return _exchange(port, source, post("/mcp", b" " * (3 << 20), [CLOSE]))


def floods_headers(port: int, source: str, chance: random.Random) -> list[Answer]:
    names = chance.choice([[("a", "")] * 20_000, [(f"{place:x}", "") for place in range(20_000)]])
    return _exchange(port, source, head("GET", "/healthz", [CLOSE, ("a", ""), *names]))


def pipelines_without_reading(port: int, source: str, chance: random.Random) -> list[Answer]:
    request = head("GET", chance.choice(["/healthz", "/openapi.json", "/nowhere"])) * 500
    with client_of(port, source, receive_buffer=4096) as client:
        client.setblocking(False)
        deadline = time.monotonic() + HOLD_S
        while time.monotonic() < deadline:
            try:
                client.send(request)
            except BlockingIOError:
                time.sleep(0.05)
    return []


def keeps_waiting(port: int, source: str, chance: random.Random) -> list[Answer]:
    """Hold ten connections with heads or bodies that do not come to an end."""
    with contextlib.ExitStack() as stack:
        for _ in range(10):
            client = stack.enter_context(client_of(port, source))
            client.sendall(chance.choice([b"", HEAD[:9], HEAD, HEAD + b"Content-Length: 9\r\n\r\n{"]))
        time.sleep(HOLD_S)
    return []


def leaves_in_the_middle(port: int, source: str, chance: random.Random) -> list[Answer]:
    whole = chance.choice([*CALLS.values(), post("/mcp", PROGRESS, [STREAM]), head("GET", "/openapi.json") * 50])
    with client_of(port, source) as client:
        client.sendall(whole[: chance.randrange(len(whole)) + 1])
        if chance.random() < 0.5:
            time.sleep(0.02)
        reset(client)
    return []


def leaves_its_call(port: int, source: str, chance: random.Random) -> list[Answer]:
    """Make a call that hangs, and leave it."""
    with client_of(port, source) as client:
        client.sendall(post("/api/tools/waiting_forever", {}))
        time.sleep(0.1)
        if chance.random() < 0.5:
            reset(client)
    return []


def closes_half(port: int, source: str, chance: random.Random) -> list[Answer]:
    sent = chance.choice(
        [*CALLS.values(), HEAD, HEAD + b"Content-Length: 9\r\n\r\n{", post("/mcp", PROGRESS, [STREAM])]
    )
    with client_of(port, source) as client:
        client.settimeout(5)
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionError, TimeoutError):
            return parse(b"".join(iter(lambda: client.recv(1 << 16), b"")))
    return []


def speaks_tls(port: int, source: str, chance: random.Random) -> list[Answer]:
    return _exchange(port, source, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + chance.randbytes(508))


def sends_anything(port: int, source: str, chance: random.Random) -> list[Answer]:
    noise = chance.randbytes(chance.randrange(1, 5000))
    with client_of(port, source) as client:
        client.sendall(chance.choice([noise, noise + b"\r\n\r\n", HEAD + noise, CALLS["rest"][:60] + noise]))
        client.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionError):
            return parse(b"".join(iter(lambda: client.recv(1 << 16), b"")))
    return []


def sends_trailers(port: int, source: str, chance: random.Random) -> list[Answer]:
    body = json.dumps(CALL).encode()
    trailers = b"Host: evil.example\r\nAuthorization: Bearer x\r\n" * chance.choice([1, 10_000])
    chunked = HEAD + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    return _exchange(port, source, chunked + b"%x\r\n%s\r\n0\r\n%s\r\n" % (len(body), body, trailers))


def smuggles(port: int, source: str, chance: random.Random) -> list[Answer]:
    with client_of(port, source) as client:
        client.sendall(chance.choice(SMUGGLING))
        client.shutdown(socket.SHUT_WR)
        client.settimeout(5)
        with contextlib.suppress(ConnectionError, TimeoutError):
            return parse(b"".join(iter(lambda: client.recv(1 << 16), b"")))
    return []


def has_a_false_name(port: int, source: str, chance: random.Random) -> list[Answer]:
    host = chance.choice(["evil.example", "localhost:80@evil.com", "[::1].evil.com", "", "x" * 9000])
    return _exchange(port, source, post("/mcp", CALL, [CLOSE, ("Origin", f"http://{host}")], host))


HOSTILE: dict[str, Kind] = {
    kind.__name__.replace("_", " "): kind
    for kind in (
        sends_no_json, breaks_a_contract, sends_too_much, floods_headers, pipelines_without_reading, keeps_waiting,
        leaves_in_the_middle, leaves_its_call, closes_half, speaks_tls, sends_anything, sends_trailers, smuggles,
        has_a_false_name,
    )
}  # fmt: skip
