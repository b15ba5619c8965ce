"""HTTP requests as a grammar: heads, bodies, chunks and pipelines, with the mistakes of clients and of attackers."""

from __future__ import annotations

import random

from fuzz.odd_values import text

from .frames import frame_text

__all__ = ["TOKENS", "good_requests", "pipeline", "request"]

METHODS = (
    "POST",
    "POST",
    "POST",
    "GET",
    "HEAD",
    "OPTIONS",
    "PUT",
    "DELETE",
    "PATCH",
    "CONNECT",
    "post",
    "M-SEARCH",
    "PRI",
    "SOURCE",
)
PATHS = (
    "/mcp", "/mcp", "/api/tools", "/api/tools/encodePlantUML", "/api/tools/repeat", "/api/tools/wait_a_turn",
    "/api/tools/fail",
    "/mcp/tool/plantuml.encode", "/mcp/tool/fuzzed.wait_a_turn", "/mcp/tool/", "/healthz", "/readyz", "/openapi.json",
    "/", "*",
    "//", "/..", "/%2e%2e/", "/mcp?x=1", "/mcp#x", "http://localhost/mcp", "http://evil/mcp", "/mcp/tool/%00",
    "/api/tools/%ff", "localhost:80",
)  # fmt: skip
FIELDS = (
    "Host", "Content-Type", "Content-Length", "Transfer-Encoding", "Connection", "Expect", "Upgrade", "Origin",
    "Accept", "Authorization",
    "Accept-Encoding", "MCP-Protocol-Version", "Mcp-Session-Id", "Mcp-Method", "Mcp-Name", "X-Forwarded-For",
    "Forwarded", "Idempotency-Key",
    "X-Request-Id", "Traceparent", "Access-Control-Request-Headers", "Last-Event-ID", "Trailer", "TE", "X-A",
)  # fmt: skip
VALUES = (
    "localhost", "127.0.0.1", "evil.example", "application/json", "text/plain", "chunked", "gzip, chunked",
    "identity", "close", "keep-alive",
    "upgrade", "h2c", "websocket", "100-continue", "0", "5", "-1", "+5", "0x5", "5, 5", "99999999999999999999",
    "2000000", "null",
    "http://localhost", "https://evil.example", "*/*", "text/event-stream", "application/json, text/event-stream",
    "Bearer x", "gzip", "br;q=0",
    "2025-11-25", "2026-07-28", "tools/call", "repeat", "for=1.2.3.4", "1.2.3.4, 5.6.7.8",
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
)  # fmt: skip
TOKENS = (
    *[f"{name}: {value}\r\n".encode() for name in FIELDS for value in VALUES[:12]],
    b"\r\n", b"\r\n\r\n", b"\n", b"\r", b"\0", b" ", b"\t", b":", b"HTTP/1.1", b"HTTP/1.0", b"HTTP/0.9", b"HTTP/2.0",
    b"0\r\n\r\n", b"5\r\nhello\r\n",
    b"ffffffffffffffff\r\n", b"1;a=b\r\n", b"Transfer-Encoding: chunked\r\n",
    b"Content-Length: 3\r\nContent-Length: 4\r\n", b" obs: fold\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\x16\x03\x01\x02\x00",
    b"X: \xff\xfe\r\n",
)  # fmt: skip
BODIES = (
    b'{"plantumlCode":"A -> B"}',
    b'{"text":"a","times":2}',
    b'{"value":{"a":1}}',
    b'{"why":"x"}',
    b"{}",
    b"",
    b"x" * 3000,
)


def _body(chance: random.Random) -> bytes:
    return chance.choice(BODIES) if chance.random() < 0.4 else frame_text(chance)


def _chunked(chance: random.Random, body: bytes) -> bytes:
    """Write a body in chunks, with extensions and trailers now and then."""
    written, place = [], 0
    while place < len(body):
        size = chance.choice((1, 2, 7, 100, 5000))
        part = body[place : place + size]
        place += size
        extension = chance.choice((b"", b"", b"", b";a=b", b';q="\\""', b" "))
        size_text = b"%x" % (len(part) if chance.random() < 0.98 else chance.randrange(1 << 70))
        written.append(chance.choice((b"", b"0", b"000")) + size_text + extension + b"\r\n" + part + b"\r\n")
    end = chance.choice(
        (b"0\r\n\r\n", b"0\r\n\r\n", b"0\r\n\r\n", b"0\r\nX: 1\r\n\r\n", b"00;x\r\n\r\n", b"0\r\n", b"")
    )
    return b"".join(written) + end


def request(chance: random.Random) -> bytes:
    """Return one request; most are whole and valid."""
    method, path = chance.choice(METHODS), chance.choice(PATHS)
    version = chance.choice(("HTTP/1.1",) * 8 + ("HTTP/1.0", "HTTP/1.2", "HTTP/2.0", "http/1.1"))
    fields = [] if chance.random() < 0.03 else [("Host", "localhost")]
    if chance.random() < 0.8:
        fields.append(("Content-Type", "application/json"))
    fields += [(chance.choice(FIELDS), chance.choice(VALUES)) for _ in range(chance.choice((0, 0, 1, 2, 6)))]
    if chance.random() < 0.05:
        fields.append((chance.choice(("X", "X Y", "", "X\t", "é")), text(chance)))
    body = b"" if method in {"GET", "HEAD", "OPTIONS"} and chance.random() < 0.8 else _body(chance)
    if body and chance.random() < 0.3:
        fields.append(("Transfer-Encoding", "chunked"))
        body = _chunked(chance, body)
    elif body:
        fields.append(("Content-Length", str(max(0, len(body) + chance.choice((0,) * 10 + (1, -1))))))
    chance.shuffle(fields)
    lines = [
        f"{method} {path} {version}",
        *[f"{name}:{chance.choice((' ', '', '  '))}{value}" for name, value in fields],
        "",
        "",
    ]
    end = "\r\n" if chance.random() < 0.97 else "\n"
    return end.join(lines).encode("utf-8", "replace") + body


def pipeline(chance: random.Random) -> bytes:
    """Return some requests, one behind the other."""
    return b"".join(request(chance) for _ in range(chance.choice((1, 1, 1, 2, 3, 8))))


def good_requests() -> list[bytes]:
    """Return whole requests for every door."""
    found = []
    for path, body in zip(PATHS[3:9], (*BODIES[:4], BODIES[0], BODIES[2]), strict=True):
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        found.append(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        found.append(f"{head}Transfer-Encoding: chunked\r\n\r\n{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n")
    found += [f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() for path in PATHS]
    call = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"repeat","arguments":{"text":"a"}}}'
    accept = "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-11-25\r\n"
    head = f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{accept}"
    found.append(f"{head}Expect: 100-continue\r\nContent-Length: {len(call)}\r\n\r\n".encode() + call)
    return [*found, b"".join(found[:6])]
