"""The servers to measure and the commands that start them: Signet, its peers, bare servers, and an echo."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.frames import LEGACY, MODERN
from bench.rows import BOUND, SIGNET

__all__ = [
    "BARE",
    "BARE_NAME",
    "ECHO",
    "FASTMCP",
    "MCP_PROXY",
    "NAMES",
    "PEERS",
    "PORT",
    "PROTOCOL",
    "PROTOCOL_NAME",
    "PROXY_ENVIRONMENT",
    "ROOT",
    "SDK",
    "SDK_HIGH",
    "TYPESCRIPT",
    "Contender",
    "contenders",
    "find_signet",
    "node",
]

SDK = "SDK, low level"
SDK_HIGH = "SDK, high level"
FASTMCP = "FastMCP"
TYPESCRIPT = ("TypeScript SDK v1", "TypeScript SDK v2")
PEERS = (SDK, SDK_HIGH, FASTMCP, *TYPESCRIPT)
BARE_NAME = "bare server"
PROTOCOL_NAME = "bare protocol"
MCP_PROXY = "mcp-proxy"
NAMES = (SIGNET, *PEERS, MCP_PROXY, BARE_NAME, PROTOCOL_NAME, BOUND)
PORT = "PORT"
"""A placeholder in HTTP commands for the port that the driver picks; Signet picks and announces its own."""

_HERE = Path(__file__).resolve().parent
ROOT = _HERE.parent
PROXY_ENVIRONMENT = ROOT / ".venv-bench-mcp-proxy"
"""Where mcp-proxy is installed: it needs an older SDK than the other peers."""


@dataclass(frozen=True)
class Contender:
    """One server: its name in the tables, its stdio command, its HTTP command, and the protocol eras that it knows."""

    name: str
    stdio: tuple[str, ...]
    http: tuple[str, ...]
    eras: tuple[str, ...] = (LEGACY, MODERN)

    @property
    def echoes(self) -> bool:
        """Whether the server only echoes requests, so that of a reply only the id can be checked."""
        return self.name == BOUND


def _peer(name: str, script: str, eras: tuple[str, ...] = (LEGACY, MODERN)) -> Contender:
    command = (node() if script.endswith(".mjs") else sys.executable, str(_HERE / "peers" / script))
    return Contender(name, (*command, "stdio"), (*command, "http", PORT), eras)


def node() -> str:
    """Return the Node.js that `scripts/install_tools.sh` chose."""
    beside = ROOT / "build" / "node" / "bin" / "node"
    return str(beside) if beside.exists() else shutil.which("node") or "node"


BARE = Contender(
    BARE_NAME,
    (sys.executable, str(_HERE / "peers" / "bare_stdio.py")),
    (sys.executable, str(_HERE / "peers" / "bare_asgi.py"), PORT),
)
"""Signet's codec, validator, contract and tool in a loop on stdio and in an ASGI application, with nothing else."""

PROTOCOL = Contender(PROTOCOL_NAME, (), (sys.executable, str(_HERE / "peers" / "bare_protocol.py"), PORT))
"""The same over HTTP without ASGI: a parser of httptools on uvloop."""

ECHO = Contender(BOUND, (shutil.which("cat") or "cat",), (sys.executable, str(_HERE / "echo.py"), PORT))


def contenders(signet: str | None = None) -> list[Contender]:
    """Return Signet as installed beside this interpreter (or another build of it) and its peers."""
    command = signet or str(Path(sys.executable).parent / "signet")
    toolsets = ("--toolsets", "plantuml")
    return [
        Contender(SIGNET, (command, "stdio", *toolsets), (command, "serve", *toolsets, "--port", "0")),
        _peer(SDK, "sdk_lowlevel.py"),
        _peer(SDK_HIGH, "sdk_highlevel.py"),
        _peer(FASTMCP, "fastmcp_server.py"),
        _peer(TYPESCRIPT[0], "typescript_v1.mjs", (LEGACY,)),
        _peer(TYPESCRIPT[1], "typescript_v2.mjs"),
    ]


def find_signet(everyone: Sequence[Contender]) -> Contender:
    """Return Signet among the contenders."""
    return next(contender for contender in everyone if contender.name == SIGNET)
