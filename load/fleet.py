"""The processes of a load run: Redis, the Bank's sandbox, three Signets, HAProxy. Each is stopped by its number."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Self

ROOT = Path(__file__).resolve().parents[1]
SIGNET = str(Path(sys.executable).parent / "signet")
PATIENCE_S = 30.0
INSTANCES = 3


def free_port() -> int:
    """Return a port on which nobody listens now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


def until(holds: Callable[[], bool], what: str) -> None:
    """Wait until something holds; raise TimeoutError if it does not."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.02)


def answers(port: int, path: str = "/readyz") -> bool:
    """Return whether a server says that it is ready."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=1) as response:
            return bool(response.status == 200)
    except OSError:
        return False


class Process:
    """A program that can be started again."""

    def __init__(self, command: list[str], log: Path, env: dict[str, str] | None = None, cwd: Path = ROOT) -> None:
        self._command = command
        self._log = log
        self._env = {**os.environ, **(env or {})}
        self._cwd = cwd
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the program."""
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self._env,
                cwd=self._cwd,
                start_new_session=True,
            )

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the program."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)

    def kill_all(self) -> None:
        """Kill the program and the processes that it has started, at once and without a word."""
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """End the program, and wait for its end."""
        if self.process is None:
            return
        self.send(signal.SIGCONT)
        self.send(number)
        try:
            self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Fleet:
    """Three servers of two workers behind HAProxy, with Redis and the Bank's sandbox."""

    def __init__(self, folder: Path, bank_url: str, tokens: Path, interval_ms: int) -> None:
        self.folder = folder
        self.port = free_port()
        self.redis_port = free_port()
        self.ports = [free_port() for _ in range(INSTANCES)]
        self.clock = folder / "clock"
        self.clock.write_text("0")
        self.ledger = folder / "ledger"
        self._bank_url, self._tokens, self._interval_ms = bank_url, tokens, interval_ms
        redis = [
            *("redis-server", "--port", str(self.redis_port), "--bind", "127.0.0.1"),
            *("--save", "", "--appendonly", "no", "--dir", str(folder)),
        ]
        self.redis = Process(redis, folder / "redis.log")
        self.signets = [self._signet(number) for number in range(INSTANCES)]
        addresses = {f"SIGNET_{number + 1}": f"127.0.0.1:{port}" for number, port in enumerate(self.ports)}
        haproxy = shutil.which("haproxy", path=f"{os.environ.get('PATH', '')}:/usr/sbin") or "haproxy"
        config = str(ROOT / "deploy/haproxy.cfg")
        env = {**addresses, "SIGNET_BIND": f"127.0.0.1:{self.port}"}
        self.balancer = Process([haproxy, "-f", config], folder / "haproxy.log", env)

    def _signet(self, number: int) -> Process:
        home = self.folder / f"signet{number + 1}"
        home.mkdir()
        env = {"LOAD_LEDGER": str(self.ledger), "PYTHONDONTWRITEBYTECODE": "", "BOJ_BASE_URL": self._bank_url}
        env |= {"BOJ_MIN_INTERVAL_MS": str(self._interval_ms), "BOJ_CACHE_S": "0"}
        if number == INSTANCES - 1:
            # The clock of this one jumps.
            env |= {"LD_PRELOAD": _jumping_clock(self.folder), "LOAD_CLOCK": str(self.clock)}
        command = [
            *(SIGNET, "serve", "--toolsets", f"plantuml,boj,{ROOT / 'load/ledger.py'}", "--quiet"),
            *("--port", str(self.ports[number]), "--workers", "2", "--tokens-file", str(self._tokens)),
            *("--store", f"redis://127.0.0.1:{self.redis_port}/0", "--audit-log", str(home / "audit.jsonl")),
            *("--log-dir", str(home / "runs"), "--journal-keep", "100", "--trusted-proxies", "127.0.0.1"),
            *("--drain-s", "2", "--log", "info", "--config", str(self._config(home))),
        ]
        return Process(command, home / "log", env, home)

    def _config(self, home: Path) -> Path:
        """Write the limits: one principal has few calls, so that some are refused."""
        path = home / "signet.toml"
        path.write_text('[limits.principals.slow]\nrate = "50/s"\nburst = 50\n')
        return path

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start(self) -> None:
        self.redis.start()
        until(lambda: _accepts(self.redis_port), "Redis answers")
        for one in self.signets:
            one.start()
        for port in self.ports:
            until(lambda port=port: answers(port), f"the server on port {port} is ready")  # type: ignore[misc]
        self.balancer.start()
        until(lambda: answers(self.port), "the balancer answers")

    def __exit__(self, *_: object) -> None:
        for one in (self.balancer, *self.signets, self.redis):
            one.stop()


def _accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def _jumping_clock(folder: Path) -> str:
    """Return the library that makes the clock of a process jump; it needs a C compiler."""
    library = folder / "clock.so"
    source = str(ROOT / "load/clock.c")
    subprocess.run(["cc", "-O2", "-Wall", "-shared", "-fPIC", "-o", str(library), source], check=True)
    return str(library)
