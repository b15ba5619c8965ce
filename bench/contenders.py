"""The servers to measure and the commands that start them: Signet, three peers, and an echo as the bound."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.rows import BOUND, SIGNET

__all__ = [
    "BARE",
    "BARE_NAME",
    "ECHO",
    "FASTMCP",
    "MCP_PROXY",
    "NAMES",
    "PORT",
    "PROXY_ENVIRONMENT",
    "SDK",
    "Contender",
    "contenders",
    "find_signet",
]

SDK = "official SDK"
FASTMCP = "FastMCP"
BARE_NAME = "bare server"
MCP_PROXY = "mcp-proxy"
NAMES = (SIGNET, SDK, FASTMCP, MCP_PROXY, BARE_NAME, BOUND)
PORT = "PORT"
"""A placeholder in HTTP commands for the port that the driver picks; Signet picks and announces its own."""

_HERE = Path(__file__).resolve().parent
PROXY_ENVIRONMENT = _HERE.parent / ".venv-bench-mcp-proxy"
"""Where mcp-proxy is installed: it needs an older SDK than the other peers."""


@dataclass(frozen=True)
class Contender:
    """One server: its name in the tables, its stdio command and its HTTP command."""

    name: str
    stdio: tuple[str, ...]
    http: tuple[str, ...]

    @property
    def echoes(self) -> bool:
        """Whether the server only echoes requests, so that of a reply only the id can be checked."""
        return self.name == BOUND


def _peer(name: str, script: str) -> Contender:
    command = (sys.executable, str(_HERE / "peers" / script))
    return Contender(name, (*command, "stdio"), (*command, "http", PORT))


BARE = Contender(
    BARE_NAME,
    (sys.executable, str(_HERE / "peers" / "bare_stdio.py")),
    (sys.executable, str(_HERE / "peers" / "bare_asgi.py"), PORT),
)
"""Signet's codec, validator, contract and tool in a loop on stdio and in an ASGI application, with nothing else."""

ECHO = Contender(BOUND, (shutil.which("cat") or "cat",), (sys.executable, str(_HERE / "echo.py"), PORT))


def contenders(signet: str | None = None) -> list[Contender]:
    """Return Signet as installed beside this interpreter (or another build of it) and the two peers."""
    command = signet or str(Path(sys.executable).parent / "signet")
    toolsets = ("--toolsets", "plantuml")
    return [
        Contender(SIGNET, (command, "stdio", *toolsets), (command, "serve", *toolsets, "--port", "0")),
        _peer(SDK, "sdk_lowlevel.py"),
        _peer(FASTMCP, "fastmcp_server.py"),
    ]


def find_signet(everyone: Sequence[Contender]) -> Contender:
    """Return Signet among the contenders."""
    return next(contender for contender in everyone if contender.name == SIGNET)
