"""The sandboxes that every channel sees: one per toolset, whose clock stands still while a corpus is played."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any, Self

from signet.app import SAMPLE_TOKEN
from signet.catalogue import find_toolset
from signet.sandbox.hosting import host_in_thread
from signet.sandbox.server import Running

__all__ = ["SandboxUpstreams"]


class SandboxUpstreams:
    """The sandboxes of some toolsets, while the `with` block lasts."""

    def __init__(self, toolsets: Iterable[str]) -> None:
        self._toolsets = [toolset for toolset in map(find_toolset, toolsets) if toolset.sandbox is not None]
        self._running: dict[str, Running] = {}
        self._stops = ExitStack()

    def __enter__(self) -> Self:
        now = datetime.now(UTC)
        with ExitStack() as stops:
            for toolset in self._toolsets:
                if toolset.sandbox is not None:
                    # Dates in answers are those of the clock.
                    sandbox = toolset.sandbox.build(SAMPLE_TOKEN, clock=lambda: now)
                    self._running[toolset.name], stop = host_in_thread(sandbox)
                    stops.callback(stop)
            self._stops = stops.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stops.close()

    def environ(self) -> dict[str, str]:
        """Return the variables by which a server finds the sandboxes, and under which it waits for nothing.

        Nothing is cached either: a fault that was ordered must be met.
        """
        variables: dict[str, str] = {}
        for toolset in self._toolsets:
            values = {"base_url": self._running[toolset.name].url, **toolset.without_waiting}
            if toolset.sandbox is not None and toolset.sandbox.wants_token:
                values["token"] = SAMPLE_TOKEN
            variables |= {f"{toolset.name}_{name}".upper(): str(value) for name, value in values.items()}
        return variables

    def order(self, toolset: str, faults: Iterable[dict[str, Any]]) -> None:
        """Order faults for the requests that the tools of a toolset make from now on."""
        for fault in faults:
            self._running[toolset].order(**fault)

    def clear(self) -> None:
        """Take all orders back."""
        for running in self._running.values():
            running.clear()
