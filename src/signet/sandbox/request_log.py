"""The log of a sandbox: every request in order, and what became of its answer."""

from __future__ import annotations

import hashlib
import time
from collections import deque
from typing import Final, Literal

import msgspec

from .message import SandboxRequest

__all__ = ["LoggedRequest", "RequestLog", "fingerprint"]

SECRET: Final = {"authorization", "cookie", "proxy-authorization"}
"""Headers of which the log keeps a digest only."""


MAX_SEEN: Final = 100_000
"""How many requests are remembered; the oldest are forgotten first."""


class LoggedRequest(msgspec.Struct):
    """One request that came, and how far its answer got.

    `time_s` counts from the sandbox's start on a clock that only goes forward, so delays are differences.
    `body_bytes` are those of the answer's body that the system took before the peer left, chunk sizes not counted;
    the peer's own system may have taken some of them that the peer never read.
    """

    method: str
    target: str
    headers: dict[str, str]
    time_s: float
    fault: str | None = None
    status: int | None = None
    body_bytes: int = 0
    end: Literal["answered", "gone", "stopped"] | None = None
    """None while the answer is on its way; answered also when a fault has done its worst."""


class RequestLog:
    """The requests of one sandbox, in the order in which their heads were read."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._seen: deque[LoggedRequest] = deque(maxlen=MAX_SEEN)

    def see(self, request: SandboxRequest) -> LoggedRequest:
        """Describe a request that has come now."""
        headers = {name: fingerprint(value) if name in SECRET else value for name, value in request.headers.items()}
        return LoggedRequest(request.method, request.target, headers, round(time.monotonic() - self._start, 6))

    def add(self, seen: LoggedRequest) -> None:
        """Note it."""
        self._seen.append(seen)

    def all(self) -> tuple[LoggedRequest, ...]:
        """Give what has come so far."""
        return tuple(self._seen)

    def clear(self) -> None:
        """Forget it."""
        self._seen.clear()


def fingerprint(secret: str) -> str:
    """Stand in for a secret: equal secrets have equal veils, and nobody can lift one."""
    scheme, _, value = secret.rpartition(" ")
    digest = hashlib.sha256(value.encode("latin-1", "replace")).hexdigest()[:16]
    return f"{scheme} sha256:{digest}".lstrip()
