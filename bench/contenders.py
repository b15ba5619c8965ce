"""Who is measured, and the command that starts each: Signet, its two peers, and an echo as the bound."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from bench.rows import BOUND, SIGNET

__all__ = ["ECHO", "FASTMCP", "NAMES", "PORT", "SDK", "Contender", "contenders"]

SDK = "official SDK"
FASTMCP = "FastMCP"
NAMES = (SIGNET, SDK, FASTMCP, BOUND)
PORT = "PORT"
"""Stands in an HTTP command for the port that the driver picks; Signet picks its own and tells it."""

_HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Contender:
    """One server: its name in the tables and its two commands."""

    name: str
    stdio: tuple[str, ...]
    http: tuple[str, ...]

    @property
    def echoes(self) -> bool:
        """Whether it only sends back what it got, so that an answer proves nothing but its id."""
        return self.name == BOUND


def _peer(name: str, script: str) -> Contender:
    command = (sys.executable, str(_HERE / "peers" / script))
    return Contender(name, (*command, "stdio"), (*command, "http", PORT))


ECHO = Contender(BOUND, (shutil.which("cat") or "cat",), (sys.executable, str(_HERE / "echo.py"), PORT))


def contenders(signet: str | None = None) -> list[Contender]:
    """Signet as installed beside this interpreter (or another build of it) and the two peers."""
    command = signet or str(Path(sys.executable).parent / "signet")
    toolsets = ("--toolsets", "plantuml")
    return [
        Contender(SIGNET, (command, "stdio", *toolsets), (command, "serve", *toolsets, "--port", "0")),
        _peer(SDK, "sdk_lowlevel.py"),
        _peer(FASTMCP, "fastmcp_server.py"),
    ]
