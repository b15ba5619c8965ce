"""Redis servers for tests: real processes on loopback, to be stopped, killed, paused and started again."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from processes import PATIENCE_S, free_port

REDIS = "redis-server"
CLUSTER_SLOTS = 16_384
SERVICE = "mymaster"


@dataclass
class RedisServer:
    """One server, at the same port however often it is started."""

    folder: Path
    port: int
    flags: Sequence[str] = ()
    password: str = ""
    tls: bool = False
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        """The address without a password."""
        return f"{'rediss' if self.tls else 'redis'}://127.0.0.1:{self.port}/0"

    @property
    def socket(self) -> Path:
        return self.folder / "redis.sock"

    def start(self) -> None:
        """Start the process and wait until it answers."""
        command = [REDIS, *self.flags, "--bind", "127.0.0.1", "--dir", str(self.folder)]
        if not self.tls:
            command += ["--port", str(self.port)]
        if "--sentinel" not in self.flags:
            command += ["--unixsocket", str(self.socket), "--save", "", "--appendonly", "no"]
        if self.password:
            command += ["--requirepass", self.password]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + PATIENCE_S
        while self.cli("PING").strip() != "PONG":
            assert self.process.poll() is None, (self.folder / "log").read_text()
            assert time.monotonic() < deadline, "the server does not answer"
            time.sleep(0.02)

    def signal(self, number: signal.Signals) -> None:
        """Send the process a signal."""
        assert self.process is not None
        os.kill(self.process.pid, number)

    def pause(self) -> None:
        """Let the server neither answer nor close a connection."""
        self.signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a paused server go on."""
        self.signal(signal.SIGCONT)

    def kill(self) -> None:
        """End the process at once; what it knew is gone."""
        if self.process is not None and self.process.poll() is None:
            self.signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()

    def restart(self) -> None:
        """Kill the process and start another one, which knows nothing."""
        self.kill()
        self.start()

    def cli(self, *words: str) -> str:
        """Return the answer to one command."""
        where = ["-p", str(self.port)] if "--sentinel" in self.flags else ["-s", str(self.socket)]
        env = {**os.environ, "REDISCLI_AUTH": self.password} if self.password else dict(os.environ)
        done = subprocess.run(
            ["redis-cli", *where, "--raw", *words], capture_output=True, encoding="utf-8", env=env, check=False
        )
        return done.stdout + done.stderr

    def keys(self) -> dict[str, int]:
        """Return each key and the milliseconds that it has to live; -1 stands for no end."""
        names = [name for name in self.cli("--scan").splitlines() if name]
        return {name: int(self.cli("PTTL", name)) for name in names}


def write_certificate(folder: Path) -> None:
    """Write a certificate of one's own for localhost, and its key."""
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    name = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc", "-days", "1"]
    subprocess.run(["openssl", "req", "-x509", *kind, *files, *name], capture_output=True, check=True)


@contextlib.contextmanager
def redis_server(*flags: str, password: str = "", tls_folder: Path | None = None) -> Iterator[RedisServer]:
    """Run a server until the block ends; with a folder of `cert.pem` and `key.pem`, over TLS."""
    with tempfile.TemporaryDirectory(prefix="redis-") as name:
        port = free_port()
        if tls_folder is not None:
            files = {"cert-file": "cert.pem", "key-file": "key.pem", "ca-cert-file": "cert.pem"}
            tls = [word for flag, file in files.items() for word in (f"--tls-{flag}", str(tls_folder / file))]
            flags = (*flags, "--port", "0", "--tls-port", str(port), "--tls-auth-clients", "no", *tls)
        server = RedisServer(Path(name), port, flags, password, tls=tls_folder is not None)
        try:
            server.start()
            yield server
        finally:
            server.kill()


@contextlib.contextmanager
def redis_cluster(size: int = 3) -> Iterator[list[RedisServer]]:
    """Run a cluster of masters that share the slots evenly, until the block ends."""
    with contextlib.ExitStack() as stack:
        nodes, buses = [], []
        for _ in range(size):
            # By itself it takes the port that is 10,000 higher, which the system may have given to anybody.
            buses.append(free_port())
            flags = (
                "--cluster-enabled",
                "yes",
                "--cluster-config-file",
                "nodes.conf",
                "--cluster-port",
                str(buses[-1]),
            )
            nodes.append(stack.enter_context(redis_server(*flags)))
        for number, node in enumerate(nodes):
            first, behind = (CLUSTER_SLOTS * one // size for one in (number, number + 1))
            node.cli("CLUSTER", "ADDSLOTSRANGE", str(first), str(behind - 1))
            node.cli("CLUSTER", "SET-CONFIG-EPOCH", str(number + 1))
        for node, bus in zip(nodes[1:], buses[1:], strict=True):
            nodes[0].cli("CLUSTER", "MEET", "127.0.0.1", str(node.port), str(bus))
        deadline = time.monotonic() + PATIENCE_S
        while not all(_is_whole(node, size) for node in nodes):
            assert time.monotonic() < deadline, nodes[0].cli("CLUSTER", "INFO")
            time.sleep(0.05)
        yield nodes


def _is_whole(node: RedisServer, size: int) -> bool:
    info = node.cli("CLUSTER", "INFO")
    return "cluster_state:ok" in info and f"cluster_known_nodes:{size}" in info and f"cluster_size:{size}" in info


@contextlib.contextmanager
def redis_sentinel(master: RedisServer) -> Iterator[RedisServer]:
    """Run a sentinel that watches a master, until the block ends."""
    with tempfile.TemporaryDirectory(prefix="sentinel-") as name:
        config = Path(name) / "sentinel.conf"
        lines = [f"sentinel monitor {SERVICE} 127.0.0.1 {master.port} 1"]
        if master.password:
            lines.append(f"sentinel auth-pass {SERVICE} {master.password}")
        config.write_text("\n".join(lines) + "\n")
        server = RedisServer(Path(name), free_port(), (str(config), "--sentinel"))
        try:
            server.start()
            yield server
        finally:
            server.kill()
