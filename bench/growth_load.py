"""The HTTP load of a curve, a process of its own: many connections, the time of each call, and window after window.

`python -m bench.growth_load '{"port": …}'` warms up, then prints a line of JSON for each line that it reads, and keeps
its connections open in between, so that the memory of the server can be read with them.
"""

from __future__ import annotations

import contextlib
import gc
import json
import select
import socket
import statistics
import sys
import time
from dataclasses import asdict, dataclass

from bench.frames import FIRST, SMALL, Call, WrongAnswerError
from bench.load import ANSWER_S, CHUNK, Job, complete_body, preamble

__all__ = ["CurveJob", "Window"]

SLICE_CALLS = 50_000
"""After so many calls their answers are checked while the clock is stopped; it bounds the memory of a long window."""


@dataclass(frozen=True)
class CurveJob:
    """The parameters of one load."""

    port: int
    connections: int
    era: str
    warm_s: float
    window_s: float
    """How long a window lasts, with the checks of its answers."""


@dataclass(frozen=True)
class Window:
    """The result of one window."""

    calls: int
    elapsed_s: float
    """The time in which calls were made."""
    p50_us: float
    p99_us: float

    @property
    def per_s(self) -> float:
        """The calls per second."""
        return self.calls / self.elapsed_s


class CurveLoad:
    """The connections of one load, and the number of the next call."""

    def __init__(self, job: CurveJob) -> None:
        """Open all connections."""
        self._call = Call.of(SMALL, job.era)
        plain = Job(job.port, "/mcp", job.connections, SMALL, job.era, 0, 0, 0, echoes=False)
        self._head = preamble(plain, self._call)
        self._next = FIRST
        self._poll = select.epoll()
        self._links: dict[int, socket.socket] = {}
        self._sent: dict[int, tuple[int, bytes]] = {}
        """The call in flight on each connection: when it was sent, and its bytes."""
        self._count = self._spare = job.connections
        """How many connections there are, and how many of a slice may still be opened anew for their call."""
        self._port = job.port
        for _ in range(job.connections):
            self._connect()

    def _connect(self) -> int:
        link = socket.create_connection(("127.0.0.1", self._port), timeout=ANSWER_S)
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._poll.register(link.fileno(), select.EPOLLIN)
        self._links[link.fileno()] = link
        return link.fileno()

    def run(self, seconds: float) -> Window:
        """Make calls for so long, a slice after the other."""
        taken: list[int] = []
        elapsed_s = 0.0
        end = time.perf_counter() + seconds
        while not taken or time.perf_counter() < end:
            begun = time.perf_counter()
            first, answers = self._next, self._slice(taken, end)
            elapsed_s += time.perf_counter() - begun
            self._call.check(answers, range(first, self._next))
        cuts = statistics.quantiles(taken, n=100, method="inclusive") if len(taken) > 1 else taken * 99
        return Window(len(taken), elapsed_s, cuts[49] / 1e3, cuts[98] / 1e3)

    def close(self) -> None:
        """Close all connections."""
        self._poll.close()
        for link in self._links.values():
            link.close()

    def _slice(self, taken: list[int], end: float) -> list[bytes]:
        """Keep a call in flight on each connection; return the answers once the last has come."""
        answers: list[bytes] = []
        partial: dict[int, bytes] = {}
        limit = self._next + SLICE_CALLS
        self._spare = self._count
        while len(self._links) < self._count:
            self._connect()
        for fd in list(self._links):
            self._send(fd)
        due = len(self._links)
        while due:
            for fd in self._ready():
                received = self._receive(fd)
                if not received and fd not in partial:
                    self._lose(fd)
                    continue
                data = partial.pop(fd, b"") + received
                body = complete_body(data)
                if body is None:
                    partial[fd] = data
                    continue
                taken.append(time.perf_counter_ns() - self._sent.pop(fd)[0])
                answers.append(body)
                if time.perf_counter() < end and self._next < limit:
                    self._send(fd)
                else:
                    due -= 1
        return answers

    def _send(self, fd: int) -> None:
        request = self._head + self._call.frame(self._next)
        self._next += 1
        self._sent[fd] = time.perf_counter_ns(), request
        # What cannot be sent is noticed when it is to be answered.
        with contextlib.suppress(ConnectionError):
            self._links[fd].sendall(request)

    def _receive(self, fd: int) -> bytes:
        """Return what has come, or nothing if the connection is closed."""
        try:
            return self._links[fd].recv(CHUNK)
        except ConnectionError:
            return b""

    def _lose(self, fd: int) -> None:
        """Drop a connection that the server has closed: uvicorn does so when nothing was asked for 5 s.

        Where a call met the closing, it is sent again on a new connection; else that is opened before the next slice.

        Raises:
            WrongAnswerError: the server has closed more connections under their calls than there are.
        """
        self._poll.unregister(fd)
        self._links.pop(fd).close()
        sent = self._sent.pop(fd, None)
        if sent is None:
            return
        self._spare -= 1
        if self._spare < 0:
            raise WrongAnswerError("the server closes its connections")
        new = self._connect()
        self._sent[new] = sent
        self._links[new].sendall(sent[1])

    def _ready(self) -> list[int]:
        ready = self._poll.poll(ANSWER_S)
        if not ready:
            complaint = f"no answer within {ANSWER_S:.0f} s"
            raise WrongAnswerError(complaint)
        return [fd for fd, _ in ready]


def main() -> None:
    """Warm up, and run a window for each line on standard input."""
    job = CurveJob(**json.loads(sys.argv[1]))
    gc.disable()
    load = CurveLoad(job)
    load.run(job.warm_s)
    for _ in sys.stdin:
        print(json.dumps(asdict(load.run(job.window_s))), flush=True)


if __name__ == "__main__":
    main()
