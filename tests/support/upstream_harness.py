"""One harness for every upstream that tests play in process: order faults, read the request log, wait for requests."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import pairwise
from typing import Any, TypeVar
from urllib.parse import urlsplit

from processes import PATIENCE_S
from signet.sandbox.exchange import LoggedRequest
from signet.sandbox.hosting import host_in_thread
from signet.sandbox.message import Sandbox, SandboxRequest
from signet.sandbox.server import Running

DIRECT = {"NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}
"""Variables that keep proxies of the machine out of the way to an upstream on loopback."""

RUNNING: list[UpstreamHarness] = []
"""Every upstream that is being played now; `conftest` clears them before each test."""


@dataclass
class UpstreamHarness:
    """An upstream that a thread of this process plays on a free port."""

    sandbox: Sandbox
    running: Running

    @property
    def url(self) -> str:
        return self.running.url

    def clear(self) -> None:
        """Remove all fault rules and empty the request log."""
        self.running.clear()

    def order(self, fault: str, **parameters: Any) -> None:
        """Add a fault rule for the requests to come."""
        self.running.order(fault, **parameters)

    def answers(self, value: object, **parameters: Any) -> None:
        """Answer the requests to come with a value as JSON."""
        self.order("answer", body=json.dumps(value, ensure_ascii=False), **parameters)

    def faults(self) -> list[str]:
        """Return the names of all faults that can be ordered, as the sandbox itself lists them."""
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=PATIENCE_S)
        try:
            connection.request("GET", "/_sandbox")
            return list(json.loads(connection.getresponse().read())["faults"])
        finally:
            connection.close()

    def requests(self) -> tuple[LoggedRequest, ...]:
        """Return the requests so far, in order."""
        return self.running.requests

    def targets(self) -> list[str]:
        """Return the raw target of each request so far."""
        return [request.target for request in self.requests()]

    def bearers(self) -> list[str | None]:
        """Return the Authorization header of each request so far, hashed as the request log hashes it."""
        return [request.headers.get("authorization") for request in self.requests()]

    def gaps_s(self) -> list[float]:
        """Return the seconds between each request so far and the next, on the sandbox's clock."""
        return [later.time_s - earlier.time_s for earlier, later in pairwise(self.requests())]

    def once(self, ready: Callable[[tuple[LoggedRequest, ...]], bool]) -> tuple[LoggedRequest, ...]:
        """Wait until the requests so far meet a condition, and return them."""
        deadline = time.monotonic() + PATIENCE_S
        while not ready(requests := self.requests()):
            assert time.monotonic() < deadline, f"the condition was never met: {requests}"
            time.sleep(0.002)
        return requests

    def settled(self) -> tuple[LoggedRequest, ...]:
        """Wait until no response is on its way any more, and return the requests so far."""
        return self.once(lambda requests: all(request.end is not None for request in requests))

    def body(self, target: str) -> bytes:
        """Return the body that the sandbox answers to a target, without a connection and without a log entry."""
        return bytes(self.sandbox.handler(SandboxRequest("GET", target)).body)


Harness = TypeVar("Harness", bound=UpstreamHarness)


@contextlib.contextmanager
def playing(sandbox: Sandbox, kind: type[Harness]) -> Iterator[Harness]:
    """Play an upstream until the block ends."""
    running, stop = host_in_thread(sandbox)
    harness = kind(sandbox, running)
    RUNNING.append(harness)
    try:
        yield harness
    finally:
        RUNNING.remove(harness)
        stop()


def hashed_bearer(token: str) -> str:
    """Return the Authorization header of a token as the request log hashes it."""
    return f"Bearer sha256:{sha256(token.encode()).hexdigest()[:16]}"


@dataclass
class Listener:
    """A bare socket that keeps the bytes it is sent, and answers each request with the same bytes."""

    port: int
    connections: list[bytes] = field(default_factory=list)
    """The bytes of each connection so far."""

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
    """Return a whole HTTP response with a value as its JSON body."""
    body = json.dumps(value).encode()
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)
