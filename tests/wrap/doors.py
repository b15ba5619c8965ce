"""`signet wrap` in front of a server, by raw clients: on stdio and over HTTP, and the processes that belong to it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

from door_calls import rpc
from processes import PATIENCE_S, SIGNET, Pipe, Server, piping, serving_command

HOSTILE = Path(__file__).with_name("hostile_server.py")
EVENTS = {"accept": "application/json, text/event-stream"}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "witness", "version": "1"}}


class Door(Protocol):
    """A client of a wrapper."""

    marker: str

    def ask_all(self, requests: Sequence[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
        """Send requests at once, and return their responses in the order of the requests."""

    def stderr(self) -> str:
        """Return what the wrapper has logged, after its end."""


class StdioDoor:
    """A wrapper at the end of two pipes."""

    def __init__(self, pipe: Pipe, marker: str) -> None:
        self._pipe = pipe
        self._last_id = 0
        self.marker = marker
        self.ask_all([("initialize", HELLO)])
        pipe.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def ask_all(self, requests: Sequence[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
        ids = [self._last_id + number for number, _ in enumerate(requests, 1)]
        self._last_id += len(requests)
        self._pipe.send(*(rpc(method, params, request_id=n) for n, (method, params) in zip(ids, requests, strict=True)))
        found: dict[Any, dict[str, Any]] = {}
        while len(found) < len(ids):
            message = self._pipe.receive()
            if "method" not in message:
                assert message["id"] in ids, message
                assert message["id"] not in found, message
                found[message["id"]] = message
        return [found[n] for n in ids]

    def stderr(self) -> str:
        code, rest, stderr = self._pipe.finish()
        assert code == 0, stderr
        assert all("method" in json.loads(line) for line in rest.splitlines()), rest
        return stderr.decode()


class HttpDoor:
    """A wrapper that listens."""

    def __init__(self, server: Server, marker: str) -> None:
        self._server = server
        self.marker = marker

    def ask_all(self, requests: Sequence[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
        with ThreadPoolExecutor(len(requests)) as pool:
            return [*pool.map(lambda request: self._ask(*request), requests)]

    def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        reply = self._server.post("/mcp", rpc(method, params), EVENTS)
        if reply.headers.get("content-type", "").startswith("text/event-stream"):
            events = [json.loads(line[5:]) for line in reply.body.splitlines() if line.startswith(b"data:")]
            [message] = [event for event in events if "method" not in event]
        else:
            message = reply.json()
        assert isinstance(message, dict)
        return message

    def stderr(self) -> str:
        self._server.process.send_signal(signal.SIGTERM)
        self._server.process.wait(PATIENCE_S)
        return self._server.stderr()


def ask(door: Door, method: str, **params: Any) -> dict[str, Any]:
    """Send one request, and return its response."""
    return door.ask_all([(method, params)])[0]


def call(door: Door, name: str, text: str = "") -> tuple[str, str]:
    """Call a tool; return `result` or `error`, and its text."""
    return said(ask(door, "tools/call", name=name, arguments={"text": text}))


def said(response: dict[str, Any]) -> tuple[str, str]:
    """Return `result` or `error`, and the text of a response to a call."""
    if "error" in response:
        return "error", response["error"]["message"]
    result = response["result"]
    text = "".join(block.get("text", "") for block in result["content"])
    return ("error" if result.get("isError") else "result"), text


@contextlib.contextmanager
def wrapping(kind: str, mode: str, *words: str, flags: Sequence[str] = ()) -> Iterator[Door]:
    """Run the hostile server behind a wrapper until the block ends; then nothing of it may be left."""
    marker = f"marker-{uuid.uuid4()}"
    child = (sys.executable, "-I", "-S", str(HOSTILE), mode, marker, *words)
    try:
        if kind == "stdio":
            with piping(SIGNET, "wrap", "--no-journal", *flags, "--", *child) as pipe:
                yield StdioDoor(pipe, marker)
        else:
            command = (SIGNET, "wrap", "--serve", "--port", "0", "--no-journal", "--no-console", *flags, "--", *child)
            with serving_command(*command) as server:
                yield HttpDoor(server, marker)
        deadline = time.monotonic() + PATIENCE_S
        while (left := processes_of(marker)) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert left == []
    finally:
        for pid in processes_of(marker):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def processes_of(marker: str) -> list[int]:
    """Return the processes in whose command the marker stands."""
    found = []
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if folder.name.isdigit() and marker.encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
    return found
