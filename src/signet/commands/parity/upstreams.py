"""The upstreams that every way sees: one sandbox of each kind, whose clock stands still while a corpus is played."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any, Final, Self

from signet.app import SAMPLE_TOKEN
from signet.sandbox import SANDBOXES
from signet.sandbox.server import Running

__all__ = ["SandboxUpstreams"]

PATIENT: Final = {"BOJ_RETRY_BACKOFF_MS": "0", "BOJ_MIN_INTERVAL_MS": "0", "BOJ_CACHE_S": "0"}
"""No pauses, and nothing kept: a fault that was ordered must be met."""


class SandboxUpstreams:
    """The sandboxes of some toolsets, from `with` to its end."""

    def __init__(self, toolsets: Iterable[str]) -> None:
        self._names = [name for name in toolsets if name in SANDBOXES]
        self._running: dict[str, Running] = {}
        self._ends = ExitStack()

    def __enter__(self) -> Self:
        now = datetime.now(UTC)
        with ExitStack() as ends:
            for name in self._names:
                self._running[name], stop = _start(name, lambda: now)
                ends.callback(stop)
            self._ends = ends.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()

    def environ(self) -> dict[str, str]:
        """Give the settings by which a server finds them."""
        urls = {f"{name.upper()}_BASE_URL": running.url for name, running in self._running.items()}
        return {**urls, **PATIENT, "OJ_TOKEN": SAMPLE_TOKEN}

    def order(self, toolset: str, faults: Iterable[dict[str, Any]]) -> None:
        """Let faults befall what the tools of a toolset ask from now on."""
        for fault in faults:
            self._running[toolset].order(**fault)

    def clear(self) -> None:
        """Let no order stand."""
        for running in self._running.values():
            running.clear()


def _start(name: str, clock: Callable[[], datetime]) -> tuple[Running, Callable[[], None]]:
    """Start one; dates in its answers are those of the clock."""
    from importlib import import_module

    from signet.sandbox.hosting import host_in_thread

    return host_in_thread(import_module(f"signet.toolsets.{name}.sandbox").build(SAMPLE_TOKEN, clock))
