"""The processes that a client is tried on: two sandboxes, a server, and a bridge where the client is one."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

__all__ = ["World", "bridging", "clean_env", "free_port", "listening", "published", "sandboxes", "stop"]

SIGNET: Final = str(Path(sys.executable).parent / "signet")
START_S: Final = 60
OURS: Final = ("SIGNET_", "OJ_", "BOJ_")
PROXIES: Final = ("http_proxy", "https_proxy", "all_proxy")


@dataclass(frozen=True)
class World:
    """The services behind the server: two sandboxes."""

    boj: str
    oj: str

    def command(self, way: str, journal: str) -> tuple[str, ...]:
        """Return the command of a server that reads from the sandboxes, and waits as long as a call may take."""
        # By `env`, because SDKs hand only some variables to a server on stdio.
        patience = ("env", "BOJ_TIMEOUT_MS=60000")
        port = ("--port", "0", "--quiet") if way == "serve" else ()
        services = ("--boj-base-url", self.boj, "--oj-base-url", self.oj, "--log-dir", journal)
        return (*patience, SIGNET, way, *port, *services)


@contextlib.contextmanager
def running(command: Sequence[str], log: IO[bytes], folder: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program, with the processes that it starts, until the block ends."""
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder, start_new_session=True, env=clean_env()
    )
    try:
        yield process
    finally:
        stop(process)


def stop(process: subprocess.Popen[Any]) -> None:
    """End a process and its group: first politely."""
    for number, patience_s in ((signal.SIGTERM, 5), (signal.SIGKILL, None)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience_s)


def clean_env() -> dict[str, str]:
    """Return the environment of a user who has set none of our variables and no proxy."""
    return {
        name: value for name, value in os.environ.items() if not name.startswith(OURS) and name.lower() not in PROXIES
    }


@contextlib.contextmanager
def listening(command: Sequence[str], folder: str, name: str) -> Iterator[str]:
    """Run a program that prints where it listens; yield its URL."""
    path = Path(folder) / f"{name}.log"
    with path.open("wb") as log, running(command, log, folder) as process:
        deadline = time.monotonic() + START_S
        while not (found := re.search(r"listening on (http://[^\s/]+)", path.read_text(errors="replace"))):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{name} did not start: {path.read_text(errors='replace')}")
            time.sleep(0.02)
        yield found[1]


@contextlib.contextmanager
def bridging(command: Sequence[str], port: int, folder: str) -> Iterator[None]:
    """Run a bridge until the block ends; the block begins when its port answers."""
    path = Path(folder) / "bridge.log"
    with path.open("wb") as log, running(command, log, folder) as process:
        deadline = time.monotonic() + START_S
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the bridge did not start: {path.read_text(errors='replace')}")
            time.sleep(0.05)
        yield


@contextlib.contextmanager
def sandboxes(folder: str, faults: Sequence[Mapping[str, Any]]) -> Iterator[World]:
    """Run the sandboxes, and order faults of the Bank's."""
    with (
        listening((SIGNET, "sandbox", "boj"), folder, "boj") as boj,
        listening((SIGNET, "sandbox", "oj"), folder, "oj") as oj,
    ):
        for fault in faults:
            ask(f"{boj}/_sandbox/faults", fault)
        yield World(boj, oj)


def ask(url: str, value: object) -> Any:
    """Post a JSON value and return the answer's."""
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    request = urllib.request.Request(url, json.dumps(value).encode(), headers)
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(request, timeout=30) as answer:
        return json.load(answer)


def published(url: str) -> dict[str, Any]:
    """Return the input schema of each tool of a server."""
    answer = ask(f"{url}/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    return {tool["name"]: tool["inputSchema"] for tool in answer["result"]["tools"]}


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
