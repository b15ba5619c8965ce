"""One case of the relay matrix: something that must survive a wrapper, by door and by the eras of both sides."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from processes import ROOT, Server
from wrap.callers import ERAS, Caller
from wrap.http_caller import HttpCaller
from wrap.stdio_caller import StdioCaller
from wrap.wrappers import DOORS, PYTHON, Wrapper, on_stdio, serving_wrapped

SCRIPTED = str(ROOT / "tests/wrap/scripted_server.py")


def child(era: str) -> list[str]:
    """Return the command of the scripted server in one era."""
    return [PYTHON, SCRIPTED, era]


@dataclass
class Link:
    """A wrapped scripted server, and a caller of it."""

    wrapper: Wrapper
    door: str
    era: str
    child_era: str
    caller: Caller
    server: Server | None = None
    label: str = ""
    """A word of the running case, by which it finds what reached the server."""

    @contextlib.contextmanager
    def another(self, capabilities: Mapping[str, Any] | None = None, version: str = "") -> Iterator[Caller]:
        """Call by another caller: of the same process over HTTP, of a process of its own on stdio."""
        if self.server is not None:
            caller: Caller = HttpCaller(f"{self.server.url}/mcp", self.era, capabilities, version=version)
        else:
            command = (*self.wrapper.stdio, *child(self.child_era))
            caller = StdioCaller(command, self.era, capabilities, version=version)
        try:
            yield caller.open()
        finally:
            caller.close()

    def seen(self, label: str = "") -> list[dict[str, Any]]:
        """Return the messages that reached the server and hold the label of this case."""
        answer = self.caller.tool("seen", {"label": label or self.label})
        return [json.loads(line) for line in json.loads(answer.result["content"][0]["text"])]

    def wait_until_seen(self, holds: Callable[[list[dict[str, Any]]], bool], what: str, label: str = "") -> None:
        """Ask the server what it has seen until something holds."""
        deadline = time.monotonic() + self.caller.patience_s
        while not holds(self.seen(label=label)):
            assert time.monotonic() < deadline, f"the server never saw {what}"
            time.sleep(0.01)


Run = Callable[[Link], None]


@dataclass(frozen=True)
class Case:
    """A case, and where it applies."""

    name: str
    run: Run
    doors: tuple[str, ...]
    eras: tuple[str, ...]
    child_eras: tuple[str, ...]

    def places(self) -> Iterator[tuple[str, str, str]]:
        """Yield each door, era of the caller and era of the server."""
        return ((door, era, its) for its in self.child_eras for door in self.doors for era in self.eras)


@dataclass
class Table:
    """The cases of one file."""

    cases: list[Case] = field(default_factory=list)

    def case(
        self,
        *,
        doors: tuple[str, ...] = DOORS,
        eras: tuple[str, ...] = ERAS,
        child_eras: tuple[str, ...] = ERAS,
    ) -> Callable[[Run], Run]:
        """Add a function as a case."""

        def add(run: Run) -> Run:
            self.cases.append(Case(run.__name__, run, doors, eras, child_eras))
            return run

        return add


class Links:
    """Wrapped servers that cases share; one in which a case failed is not used again."""

    def __init__(self, wrapper: Wrapper) -> None:
        self._wrapper = wrapper
        self._links: dict[tuple[str, str, str], tuple[Link, contextlib.ExitStack]] = {}
        self._servers: dict[str, tuple[Server, contextlib.ExitStack]] = {}

    def link(self, door: str, era: str, child_era: str) -> Link:
        """Return the link of this door and these eras."""
        place = (door, era, child_era)
        if place not in self._links:
            stack = contextlib.ExitStack()
            server = None
            if door == "stdio":
                caller: Caller = stack.enter_context(on_stdio(self._wrapper, child(child_era), era))
            else:
                server = self._server(child_era)
                caller = HttpCaller(f"{server.url}/mcp", era)
                stack.callback(caller.close)
            self._links[place] = (Link(self._wrapper, door, era, child_era, caller.open(), server), stack)
        return self._links[place][0]

    def discard(self, door: str, era: str, child_era: str) -> None:
        """Close a link in which something went wrong, and the server behind it."""
        for place in [place for place in self._links if place == (door, era, child_era) or place[0] == door == "http"]:
            self._links.pop(place)[1].close()
        if door == "http" and child_era in self._servers:
            self._servers.pop(child_era)[1].close()

    def close(self) -> None:
        """Close everything."""
        for _, stack in [*self._links.values(), *self._servers.values()]:
            stack.close()

    def _server(self, child_era: str) -> Server:
        if child_era not in self._servers:
            stack = contextlib.ExitStack()
            server = stack.enter_context(serving_wrapped(self._wrapper, child(child_era)))
            self._servers[child_era] = (server, stack)
        return self._servers[child_era][0]
