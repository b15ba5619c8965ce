"""Two checkouts of Signet beside each other: the roads of a call, and the commands that serve each of them.

A road has one load generator and one command for each checkout; `versions` measures windows, `instructions` counts.
"""

from __future__ import annotations

import argparse
import http.client
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bench.contenders import ROOT, Contender
from bench.frames import LEGACY, MODERN, SMALL, WrongAnswerError
from bench.load import ANSWER_S, SESSION, Job, Load
from bench.own import KINDS
from bench.web import DOORS, MCP
from signet.kernel.protocol import Identity
from signet.mcp.messages import MessageBuilder

__all__ = ["ROADS", "Checkout", "Road", "chosen", "compile_modules", "load_of", "parser_of"]

PEERS = ROOT / "bench" / "peers"
WRAPPED = (sys.executable, str(PEERS / "wrapped_stdio.py"))
STDIO = ("stdio", "--toolsets", "plantuml")
SERVE = ("serve", "--toolsets", "plantuml", "--port", "0")
FOLDER = ("--env", "PYTHONPATH", "--")
"""The variables of a wrapped server are an allow-list; this one holds the benchmark's own folder."""


@dataclass(frozen=True)
class Checkout:
    """A checkout with an environment of its own, into which it is installed."""

    name: Literal["old", "new"]
    folder: Path

    @property
    def python(self) -> str:
        """The interpreter of its environment."""
        return str(self.folder / ".venv" / "bin" / "python")

    def command(self, *words: str) -> tuple[str, ...]:
        """Return the command that runs this checkout's Signet."""
        return (self.python, "-m", "signet", *words)


@dataclass(frozen=True)
class Road:
    """One way of a call through the server."""

    name: str
    words: tuple[str, ...]
    """The arguments of the command that serves it."""
    path: str = ""
    """The path of its requests; without one they are lines on stdio."""
    era: str | None = LEGACY
    in_session: bool = False
    """Whether the requests belong to a session; only wrapped servers have sessions over HTTP."""

    def server(self, checkout: Checkout) -> Contender:
        """Return the server of this road in one checkout."""
        command = checkout.command(*self.words)
        return Contender(checkout.name, () if self.path else command, command if self.path else ())


RELAY = ("wrap", "--serve", "--port", "0", *FOLDER, *WRAPPED)

ROADS = (
    Road("stdio", STDIO),
    Road(f"HTTP {LEGACY}", SERVE, MCP),
    Road(f"HTTP {MODERN}", SERVE, MCP, MODERN),
    Road("REST", SERVE, DOORS["REST"], None),
    Road("envelope", SERVE, DOORS["envelope"], None),
    *(Road(f"own tool, {words}", ("stdio", str(PEERS / f"own_{kind}.py"))) for kind, words in KINDS.items()),
    Road("wrapped, stdio", ("wrap", *FOLDER, *WRAPPED)),
    Road("wrapped, HTTP", RELAY, MCP),
    Road("wrapped, HTTP, in a session", RELAY, MCP, in_session=True),
)


def load_of(road: Road, port: int, connections: int) -> Load:
    """Return the load of a road over HTTP, with its connections open and its session begun."""
    session = _open_session(port) if road.in_session else ""
    # How long and how many calls: the caller says that for each run.
    return Load(Job(port, road.path, connections, SMALL, road.era, 0.0, 0.0, 0, echoes=False, session=session))


def _open_session(port: int) -> str:
    """Begin a session and return its id."""
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_S)
    client = MessageBuilder(LEGACY, Identity("bench", "1"))
    session = ""
    for message in (client.initialize(0), client.initialized()):
        headers = {**message.headers, SESSION: session} if session else message.headers
        link.request("POST", MCP, message.body, dict(headers))
        answer = link.getresponse()
        answer.read()
        session = session or answer.headers.get(SESSION, "")
    link.close()
    if not session:
        raise WrongAnswerError("the server begins no session")
    return session


def parser_of(program: str, description: str) -> argparse.ArgumentParser:
    """Return a parser for the two checkouts and the chosen roads."""
    parser = argparse.ArgumentParser(prog=f"python -m bench.{program}", description=description)
    for name in ("old", "new"):
        parser.add_argument(name, type=Path, help=f"the {name} checkout, with its environment in .venv")
    parser.add_argument("--only", default="", help="words that the names of the wanted rows begin with, with commas")
    return parser


def chosen(args: argparse.Namespace) -> tuple[tuple[Checkout, Checkout], list[Road]]:
    """Return both checkouts and the wanted roads."""
    pair = (Checkout("old", args.old.resolve()), Checkout("new", args.new.resolve()))
    return pair, [road for road in ROADS if road.name.startswith(tuple(args.only.split(",")))]


def compile_modules(checkouts: Sequence[Checkout]) -> None:
    """Compile the modules of each checkout, so that no start and no first call does."""
    for checkout in checkouts:
        command = (checkout.python, "-m", "compileall", "-q", str(checkout.folder / "src"), str(PEERS))
        subprocess.run(command, check=True)
