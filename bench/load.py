"""The HTTP load generator, a process of its own: keep-alive connections, one call in flight on each, no pipelining.

`python -m bench.load '{"port": …}'` prints one line of JSON; replies are checked after the clock stops.
"""

from __future__ import annotations

import gc
import json
import select
import socket
import sys
import time
from dataclasses import asdict, dataclass

from bench.frames import FIRST, Call, EnvelopeCall, RestCall, WrongAnswerError

__all__ = ["ANSWER_S", "ENVELOPES", "SESSION", "Job", "Load", "Tally"]

ENVELOPES = "/mcp/tool/"
"""The beginning of the paths that take envelopes."""
SESSION = "mcp-session-id"
ANSWER_S = 30.0
CHUNK = 1 << 18


@dataclass(frozen=True)
class Job:
    """The parameters of one run."""

    port: int
    path: str
    connections: int
    size: int
    era: str | None
    """The protocol revision of MCP calls; None for REST and for envelopes."""
    warm_s: float
    seconds: float
    limit: int
    echoes: bool
    session: str = ""
    """The id of the session that MCP calls belong to; without one they belong to none."""


@dataclass(frozen=True)
class Tally:
    """The result of one run."""

    calls: int
    elapsed_s: float

    @property
    def per_s(self) -> float:
        """The calls per second."""
        return self.calls / self.elapsed_s


def call_of(job: Job) -> Call | RestCall:
    """Return the kind of call that the path of a job takes."""
    if job.path.startswith(ENVELOPES):
        return EnvelopeCall.of(job.size)
    return RestCall.of(job.size) if job.era is None else Call.of(job.size, job.era)


def preamble(job: Job, call: Call | RestCall) -> bytes:
    """Return the head of the requests; all bodies of a job have one length, so there is one head."""
    headers = {"host": f"127.0.0.1:{job.port}", **call.headers, "content-length": len(call.frame(FIRST))}
    if job.session:
        headers[SESSION] = job.session
    lines = [f"POST {job.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode()


class Load:
    """The connections of one job, and the number of the next call."""

    def __init__(self, job: Job) -> None:
        """Open all connections, before any clock runs."""
        self.job = job
        self.call = call_of(job)
        self._head = preamble(job, self.call)
        self._next = FIRST
        self._poll = select.epoll()
        self._sockets: dict[int, socket.socket] = {}
        for _ in range(job.connections):
            link = socket.create_connection(("127.0.0.1", job.port), timeout=ANSWER_S)
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._poll.register(link.fileno(), select.EPOLLIN)
            self._sockets[link.fileno()] = link

    def run(self, seconds: float, limit: int) -> Tally:
        """Make calls on every connection for so long, wait for the last replies, and check all of them."""
        first, answers = self._next, []
        partial: dict[int, bytes] = {}
        begun = time.perf_counter()
        end = begun + seconds
        for link in self._sockets.values():
            self._send(link)
        due = len(self._sockets)
        while due:
            for fd, _ in self._ready():
                link = self._sockets[fd]
                data = partial.pop(fd, b"") + link.recv(CHUNK)
                body = complete_body(data)
                if body is None:
                    partial[fd] = data
                    continue
                answers.append(last_event(body) if self.job.session else body)
                if time.perf_counter() < end and self._next - first < limit:
                    self._send(link)
                else:
                    due -= 1
        elapsed = time.perf_counter() - begun
        self.call.check(answers, range(first, self._next), echoes=self.job.echoes)
        return Tally(len(answers), elapsed)

    def close(self) -> None:
        """Close all connections."""
        self._poll.close()
        for link in self._sockets.values():
            link.close()

    def _send(self, link: socket.socket) -> None:
        frame = self.call.frame(self._next)
        self._next += 1
        link.sendall(self._head + frame)

    def _ready(self) -> list[tuple[int, int]]:
        ready = self._poll.poll(ANSWER_S)
        if not ready:
            complaint = f"no answer within {ANSWER_S:.0f} s"
            raise WrongAnswerError(complaint)
        return ready


def complete_body(data: bytes) -> bytes | None:
    """Return the body of a response, or None while it is incomplete.

    Raises:
        WrongAnswerError: the connection was closed, or the response is not a plain 200 with a length or in chunks.
    """
    end = data.find(b"\r\n\r\n")
    if end < 0 and data:
        return None
    head = data[:end].lower()
    at = head.find(b"\r\ncontent-length:")
    if at < 0 and head.startswith(b"http/1.1 200 ") and b"\r\ntransfer-encoding: chunked" in head:
        return joined_chunks(data, end + 4)
    if at < 0 or not head.startswith(b"http/1.1 200 "):
        complaint = f"not a plain answer: {data[:300]!r}"
        raise WrongAnswerError(complaint)
    at += len(b"\r\ncontent-length:")
    stop = head.find(b"\r", at)
    length = int(head[at:] if stop < 0 else head[at:stop])
    body = data[end + 4 :]
    return body if len(body) >= length else None


def joined_chunks(data: bytes, at: int) -> bytes | None:
    """Return the body whose chunks begin at this place, or None while the last one is not there."""
    chunks: list[bytes] = []
    while (end := data.find(b"\r\n", at)) >= 0:
        size = int(data[at:end], 16)
        at = end + 2 + size + 2
        if at > len(data):
            return None
        if not size:
            return b"".join(chunks)
        chunks.append(data[end + 2 : end + 2 + size])
    return None


def last_event(stream: bytes) -> bytes:
    """Return the message of the last event of a stream; a call of a session is answered with a stream."""
    return stream.rpartition(b"data: ")[2].rstrip()


def main() -> None:
    """Warm up, run and print the result."""
    job = Job(**json.loads(sys.argv[1]))
    gc.disable()
    load = Load(job)
    load.run(job.warm_s, job.limit)
    print(json.dumps(asdict(load.run(job.seconds, job.limit))))


if __name__ == "__main__":
    main()
