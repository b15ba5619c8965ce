"""Real processes for tests: a server on a free port, a stdio server at the end of two pipes, one HTTP request."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import select
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
SIGNET = str(BIN / "signet")
EXTENDED = (sys.executable, str(ROOT / "tests/support/extended_server.py"))
"""The same command, with the tests' own toolsets in its catalogue."""
LIMITED = (sys.executable, str(ROOT / "tests/support/limited_server.py"))
"""The same command, with limits on connections that a test can reach."""
FIRST_AND_LAST_DOOR = {"PYTHONPATH": str(ROOT / "tests/support/first_and_last_door")}
"""Variables with which `signet parity` and `signet check` call tools through two of the eight doors."""
FREQUENT_TOKEN_CHECKS = {"PYTHONPATH": str(ROOT / "tests/support/frequent_token_checks")}
"""Variables with which `signet serve` looks at the token of a stream often."""
LONG_TURN_WAITS = {"PYTHONPATH": str(ROOT / "tests/support/long_turn_waits")}
"""Variables with which a request that waits for its turn waits for an absent store as long as a test does."""
PATIENCE_S = 60.0
"""How long a test waits for a process before it fails; no test measures speed."""


_numbers = count(os.getpid() * 101)


@dataclass
class Reply:
    """One HTTP response, read to its end."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Server:
    """A server process that listens."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def stderr(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def connect(self) -> socket.socket:
        """Open a plain connection, for bytes that no HTTP library would send."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)

    def wait_for(self, text: str) -> None:
        """Wait until the process has printed a text."""
        deadline = time.monotonic() + PATIENCE_S
        while text not in self.stderr():
            assert time.monotonic() < deadline, f"it never printed {text!r}: {self.stderr()}"
            time.sleep(0.01)

    def ask(self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None) -> Reply:
        """Send one request with exactly these bytes and headers, and return the response."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        try:
            connection.request(method, path, body=body, headers=dict(headers or {}))
            answer = connection.getresponse()
            lowered = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, lowered, answer.read())
        finally:
            connection.close()

    def post(self, path: str, value: object, headers: Mapping[str, str] | None = None) -> Reply:
        """Send a value as a JSON body, and return the response."""
        body = json.dumps(value).encode()
        return self.ask("POST", path, body, {"content-type": "application/json", **(headers or {})})


def free_port() -> int:
    """Return a port on which nobody listens, and which no system gives to anybody who does not ask for it by number.

    It is another one each time: who was given the last one may not listen there yet.
    """
    for number in islice(_numbers, 10_000):
        port = 20_000 + number % 10_000
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError("no port is free")


def clean_env(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of a user who has set none of our variables, and trusts no authority of the internet.

    The shell finds the command by its name.

    No test asks the internet, and where a variable names their file, each process would read all authorities twice.
    """
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SIGNET_", "OJ_", "BOJ_", "PLANTUML_"))}
    path = f"{BIN}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    return {**kept, "PATH": path, "SSL_CERT_FILE": os.devnull, **(extra or {})}


def serving(*args: str, env: Mapping[str, str] | None = None) -> contextlib.AbstractContextManager[Server]:
    """Run `signet serve` on a free port until the block ends."""
    return serving_command(SIGNET, "serve", "--port", "0", *args, env=env)


def serving_extended(*args: str, env: Mapping[str, str] | None = None) -> contextlib.AbstractContextManager[Server]:
    """Run `signet serve`, with the tests' own toolsets in its catalogue, on a free port until the block ends."""
    return serving_command(*EXTENDED, "serve", "--port", "0", *args, env=env)


def serving_limited(
    *args: str, env: Mapping[str, str] | None = None, per_address: int | None = None, **limits: float
) -> contextlib.AbstractContextManager[Server]:
    """Run `signet serve` with other limits, and tools that wait, on a free port until the block ends."""
    words = [f"{name}={value}" for name, value in limits.items()]
    flags = [] if per_address is None else ["--connections-per-address", str(per_address)]
    return serving_command(*LIMITED, *words, "serve", "--port", "0", *flags, *args, env=env)


@contextlib.contextmanager
def serving_command(*command: str, env: Mapping[str, str] | None = None) -> Iterator[Server]:
    """Run a command that prints where it listens, until the block ends."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "stderr"
        with log.open("wb") as sink:
            process = subprocess.Popen(
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                env=clean_env(env),
                cwd=folder,
            )
        try:
            yield Server(process, _port_of(process, log), log)
        finally:
            _stop(process)


def _port_of(process: subprocess.Popen[bytes], log: Path) -> int:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        found = re.search(r"listening on https?://[^:\s]+:(\d+)", log.read_text(encoding="utf-8", errors="replace"))
        if found:
            return int(found.group(1))
        if process.poll() is not None:
            break
        time.sleep(0.02)
    raise AssertionError(f"the server did not start: {log.read_text(encoding='utf-8', errors='replace')}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise


@dataclass
class Pipe:
    """A stdio server at the other end of two pipes."""

    process: subprocess.Popen[bytes]
    _rest: bytes = field(default=b"", repr=False)

    @property
    def stdin(self) -> IO[bytes]:
        assert self.process.stdin is not None
        return self.process.stdin

    @property
    def stdout(self) -> IO[bytes]:
        assert self.process.stdout is not None
        return self.process.stdout

    def send(self, *messages: object) -> None:
        """Write messages: bytes as they are with a line end, anything else as JSON."""
        lines = [m if isinstance(m, bytes) else json.dumps(m).encode() for m in messages]
        self.stdin.write(b"".join(line + b"\n" for line in lines))
        self.stdin.flush()

    def line(self) -> bytes:
        """Return the next line; fail when none comes."""
        deadline = time.monotonic() + PATIENCE_S
        # A line may have a hundred million bytes: they are joined once.
        chunks = [self._rest]
        while b"\n" not in chunks[-1]:
            ready, _, _ = select.select([self.stdout], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise AssertionError("no answer on stdout")
            chunk = os.read(self.stdout.fileno(), 1 << 16)
            if not chunk:
                raise AssertionError("stdout was closed")
            chunks.append(chunk)
            deadline = time.monotonic() + PATIENCE_S
        last, self._rest = chunks.pop().split(b"\n", 1)
        return b"".join((*chunks, last))

    def receive(self) -> Any:
        """Return the next message."""
        return json.loads(self.line())

    def ask(self, message: object) -> Any:
        """Send one message and return the next one."""
        self.send(message)
        return self.receive()

    def finish(self) -> tuple[int, bytes, bytes]:
        """Close stdin; return the exit status, the rest of stdout, and stderr."""
        out, err = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, self._rest + out, err


@contextlib.contextmanager
def piping(*command: str, env: Mapping[str, str] | None = None) -> Iterator[Pipe]:
    """Run a stdio server (`signet stdio` unless a command is given) until the block ends."""
    process = subprocess.Popen(
        list(command or (SIGNET, "stdio")),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=clean_env(env),
    )
    try:
        yield Pipe(process)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError, ValueError):
                    stream.close()


def run(*args: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[bytes]:
    """Run one `signet` command to its end."""
    return subprocess.run(
        [SIGNET, *args], input=stdin, capture_output=True, env=clean_env(env), timeout=PATIENCE_S, check=False
    )
