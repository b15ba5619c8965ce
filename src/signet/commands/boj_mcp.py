"""The `boj-mcp-server` command: the Bank of Japan's tools on stdio, as spec 3 has it."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Final

from signet.toolsets.boj import BojSettings

from .arguments import USAGE, Parser
from .boj import CREDIT
from .drop_in import EMPTY_LISTS, add_drop_in, read_drop_in_settings, run_drop_in

if TYPE_CHECKING:
    from signet.kernel.errors import Fault
    from signet.kernel.server import Server
    from signet.kernel.tools import Tool
    from signet.settings.model import Settings

__all__ = ["NAME", "main", "parser"]

NAME: Final = "boj-mcp-server"
PREFIX: Final = "boj_"
OWN_TIME_S: Final = 3600.0
"""Each attempt has a timeout of its own, and the user decides how many there are."""
OWN_MB: Final = 128
"""A third more than the list of the largest database has: spec 3 lists every database whole."""
# rule: 3.limits.whole
DEFAULTS: Final = {"call_timeout_s": OWN_TIME_S, "boj_max_body_mb": OWN_MB, "boj_max_result_mb": OWN_MB}


def main(argv: list[str] | None = None) -> int:
    """Serve until standard input ends; return the exit status."""
    program = parser()
    args: argparse.Namespace = program.parse_args(argv)
    return run_drop_in(lambda: _settings(program, args), _build, refused=USAGE)


def parser() -> Parser:
    """Return the parser of the command line, with the environment in its help."""
    program = Parser(
        prog=NAME,
        description="Statistics of the Bank of Japan as MCP tools on standard input and output.",
        epilog=CREDIT,
    )
    # The index belongs to another toolset.
    names = [f"boj_{name}" for name in BojSettings.__struct_fields__ if not name.startswith("index_")]
    add_drop_in(program, PREFIX, names, ["log", "sandbox"])
    return program


def _settings(program: Parser, args: argparse.Namespace) -> Settings:
    # A flag goes before a variable: with an address, nothing is answered from sample data.
    fixed = {"toolsets": "boj", "sandbox": None if args.boj_base_url is None else False}
    return read_drop_in_settings(program, args, PREFIX, fixed, DEFAULTS)


def _build(settings: Settings) -> Server:
    from signet.app import build_server, resolve
    from signet.settings.reading import log_ignored

    log_ignored(settings, os.environ, NAME)
    # Spec 3's results are structured JSON, and its clients may read them from the text.
    # rule: 3.tools.identity
    return build_server(resolve(settings), NAME, _with_rpc_errors, whole_text=True, empty_lists=EMPTY_LISTS)


def _with_rpc_errors(tool: Tool) -> Tool:
    """Return a tool whose faults are JSON-RPC errors, as spec 3 has it, and not results that the model reads."""
    from msgspec.structs import replace

    def adapt(fault: Fault) -> Fault:
        fault = tool.adapt_fault(fault)
        fault.as_tool_result = False
        return fault

    return replace(tool, adapt_fault=adapt)
