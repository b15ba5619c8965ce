"""The callers of a load run: each keeps a connection, calls without a pause, and notes what became of each call.

A call whose connection is lost is sent again under the same idempotency key, as a careful client does.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

ANSWER_S: Final = 90.0
"""The time after which a caller takes a call for lost."""
TRIES: Final = 20
VERSION: Final = "2026-07-28"
BANK_EVERY: Final = 500
"""One call in so many asks the Bank: it answers one in a second."""
LEDGER_EVERY: Final = 4


@dataclass
class Sent:
    """One call, and its answer."""

    number: int
    door: str
    tool: str
    principal: str
    request_ids: list[str] = field(default_factory=list)
    """The id of each try."""
    status: int = 0
    """The HTTP status of the answer; 0 if there was none."""
    code: str = ""
    """`OK`, the name of the error, or `WRONG` for an answer that is not that of the call."""


class Callers:
    """Calls through one address, as several principals, through every door over HTTP."""

    def __init__(self, port: int, tokens: dict[str, str], calls: int, seed: int = 13) -> None:
        self._port = port
        self._tokens = tokens
        self._calls = calls
        self._numbers = itertools.count()
        self.may_end = False
        """Whether all faults are over; until then calls go on."""
        self._random = random.Random(seed)
        self.sent: list[Sent] = []
        self.in_flight = 0
        self.is_ended = False

    async def run(self, count: int) -> None:
        """Call with so many callers until all calls are made."""
        names = itertools.cycle(self._tokens)
        await asyncio.gather(*(self._call_on(next(names)) for _ in range(count)))
        self.is_ended = True

    async def _call_on(self, principal: str) -> None:
        connection = Wire(self._port)
        while len(self.sent) + self.in_flight < self._calls or not self.may_end:
            number = next(self._numbers)
            call = self._plan(number, principal)
            self.in_flight += 1
            try:
                await self._make(connection, call)
            finally:
                self.in_flight -= 1
            self.sent.append(call)
        connection.close()

    def _plan(self, number: int, principal: str) -> Sent:
        door = self._random.choice(("mcp", "mcp handshake", "rest", "envelope"))
        tool = "add_entry" if number % LEDGER_EVERY == 0 else "encodePlantUML"
        tool = "boj_get_metadata" if number % BANK_EVERY == 1 else tool
        return Sent(number, door, tool, principal)

    async def _make(self, connection: Wire, call: Sent) -> None:
        """Send a call until it is answered by a server."""
        for attempt in range(TRIES):
            call.request_ids.append(f"load-{call.number}-{attempt}")
            path, headers, body = _request(call, self._tokens[call.principal])
            try:
                status, answer = await asyncio.wait_for(connection.exchange(path, headers, body), ANSWER_S)
            except (OSError, EOFError, asyncio.IncompleteReadError):
                connection.close()
                await asyncio.sleep(0.05)
                continue
            except TimeoutError:
                connection.close()
                return
            if status in {502, 503, 504} and not answer.startswith(b"{"):
                # The balancer's own words: no server has answered.
                await asyncio.sleep(0.1)
                continue
            call.status, call.code = status, _code(call, status, answer)
            return


class Wire:
    """One connection to the balancer, opened again when it is lost."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def exchange(self, path: str, headers: list[str], body: bytes) -> tuple[int, bytes]:
        """Send a request, and return the status and the body of the response."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port, limit=1 << 20)
        reader, writer = self._streams
        head = [f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}", *headers, "", ""]
        writer.write("\r\n".join(head).encode() + body)
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        if "content-length" in fields:
            answer = await reader.readexactly(int(fields["content-length"]))
        else:
            answer = await _chunks(reader) if "transfer-encoding" in fields else await reader.read()
        if fields.get("connection", "").lower() == "close":
            self.close()
        return int(lines[0].split()[1]), answer

    def close(self) -> None:
        """Close the connection."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    parts = []
    while size := int(await reader.readline(), 16):
        parts.append(await reader.readexactly(size))
        await reader.readline()
    await reader.readline()
    return b"".join(parts)


def _arguments(call: Sent) -> dict[str, Any]:
    if call.tool == "add_entry":
        return {"entry": f"entry-{call.number}"}
    if call.tool == "boj_get_metadata":
        return {"db": "FM01"}
    return {"plantumlCode": f"@startuml\nA -> B : {call.number}\n@enduml"}


SLUGS: Final = {
    "add_entry": "ledger.add_entry",
    "boj_get_metadata": "boj.get_metadata",
    "encodePlantUML": "plantuml.encode",
}


def _request(call: Sent, token: str) -> tuple[str, list[str], bytes]:
    """Return the path, the headers and the body of a call at its door."""
    key, arguments = f"key-{call.number}", _arguments(call)
    headers = [
        f"Authorization: Bearer {token}",
        "Content-Type: application/json",
        f"X-Request-Id: {call.request_ids[-1]}",
    ]
    if call.door == "rest":
        return f"/api/tools/{call.tool}", [*headers, f"Idempotency-Key: {key}"], json.dumps(arguments).encode()
    if call.door == "envelope":
        slug = SLUGS[call.tool]
        params = {"tool": f"mcp.tool:{slug}", "input": arguments}
        body = {"jsonrpc": "2.0", "id": call.number, "method": "mcp.tool.invoke", "params": params}
        return f"/mcp/tool/{slug}", [*headers, f"Idempotency-Key: {key}"], json.dumps(body).encode()
    meta: dict[str, Any] = {"idempotencyKey": key}
    headers.append("Accept: application/json, text/event-stream")
    if call.door == "mcp":
        meta |= {"io.modelcontextprotocol/protocolVersion": VERSION, "io.modelcontextprotocol/clientCapabilities": {}}
        headers += [f"MCP-Protocol-Version: {VERSION}", "Mcp-Method: tools/call", f"Mcp-Name: {call.tool}"]
    params = {"name": call.tool, "arguments": arguments, "_meta": meta}
    body = {"jsonrpc": "2.0", "id": call.number, "method": "tools/call", "params": params}
    return "/mcp", headers, json.dumps(body).encode()


def _code(call: Sent, status: int, answer: bytes) -> str:
    """Return what an answer says: OK for the right result, else the name of the error."""
    if status == 429:
        return "RATE_LIMITED"
    text = answer.decode("utf-8", "replace")
    if text.startswith("event:"):
        text = text.rpartition("data: ")[2].strip()
    try:
        value = json.loads(text)
    except ValueError:
        return "WRONG"
    if call.door == "rest":
        return (
            "OK"
            if value.get("success") and _fits(call, value["result"])
            else value.get("error", {}).get("code", "WRONG")
        )
    if value.get("id") != call.number and status == 200:
        return "WRONG"
    if "error" in value:
        data = value["error"].get("data") or {}
        return str(data.get("code") or data.get("canonical_code") or value["error"].get("code"))
    result = value.get("result", {})
    if call.door == "envelope":
        return "OK" if _fits(call, result) else "WRONG"
    if result.get("isError"):
        meta = result.get("_meta", {})
        return str(meta.get("code") or meta.get("canonical_code"))
    return "OK" if _fits(call, result.get("structuredContent")) or call.tool == "boj_get_metadata" else "WRONG"


def _fits(call: Sent, result: Any) -> bool:
    """Return whether a result is that of the call."""
    if not isinstance(result, dict):
        return False
    return call.tool != "add_entry" or result.get("entry") == f"entry-{call.number}"


def keys_of(lines: Iterator[bytes]) -> Iterator[str]:
    """Return the entries of a ledger."""
    return (line.decode().strip() for line in lines)
