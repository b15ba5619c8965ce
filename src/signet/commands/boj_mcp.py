"""The `boj-mcp-server` command: the Bank of Japan's tools on stdio, as spec 3 has it."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Final

from signet.toolsets.boj import BojSettings

from .arguments import USAGE, Parser, add_drop_in, add_settings
from .boj import CREDIT

if TYPE_CHECKING:
    from signet.kernel.errors import Fault
    from signet.kernel.server import Server
    from signet.kernel.tools import Tool
    from signet.settings import Settings

__all__ = ["NAME", "main", "parser"]

NAME: Final = "boj-mcp-server"
OWN_TIME_S: Final = 3600
"""Each attempt has a timeout of its own, and the user decides how many there are."""


def main(argv: list[str] | None = None) -> int:
    """Serve until standard input ends; return the exit status."""
    args = parser().parse_args(argv)
    from .stdio_process import run_drop_in

    return run_drop_in(lambda: _settings(args), _build, refused=USAGE)


def parser() -> Parser:
    """Return the parser of the command line, with the environment in its help."""
    program = Parser(
        prog=NAME,
        description="Statistics of the Bank of Japan as MCP tools on standard input and output.",
        epilog=CREDIT,
    )
    # The index belongs to another toolset.
    names = [f"boj_{name}" for name in BojSettings.__struct_fields__ if not name.startswith("index_")]
    add_settings(program, *names, prefix="boj_")
    add_drop_in(program)
    return program


def _settings(args: argparse.Namespace) -> Settings:
    from signet.settings import Settings

    timeout = {} if "SIGNET_CALL_TIMEOUT_S" in os.environ else {"call_timeout_s": OWN_TIME_S}
    return Settings.read(os.environ, {**vars(args), **timeout, "toolsets": "boj"}, prefix="boj_")


def _build(settings: Settings) -> Server:
    from signet.app import build_server, resolve
    from signet.configuration.reading import log_ignored

    log_ignored(settings, os.environ, NAME)
    # Spec 3's results are structured JSON, and its clients may read them from the text.
    return build_server(resolve(settings), NAME, _with_rpc_errors, whole_text=True)


def _with_rpc_errors(tool: Tool) -> Tool:
    """Return a tool whose faults are JSON-RPC errors, as spec 3 has it, and not results that the model reads."""
    from msgspec.structs import replace

    def adapt(fault: Fault) -> Fault:
        fault = tool.adapt_fault(fault)
        fault.as_tool_result = False
        return fault

    return replace(tool, adapt_fault=adapt)
