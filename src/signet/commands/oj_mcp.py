"""The `oj-mcp-rs` command: the online judge's tools on stdio, as spec 1 has it."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Final

from .arguments import Parser, add_drop_in, add_settings

if TYPE_CHECKING:
    from signet.kernel.server import Server
    from signet.settings import Settings

__all__ = ["NAME", "main", "parser"]

NAME: Final = "oj-mcp-rs"
HELP: Final = """\
RUST_LOG filters the log on stderr: off, error, warn, info, debug, trace, or target=level (default: info).
"""


def main(argv: list[str] | None = None) -> int:
    """Serve until standard input ends; return the exit status."""
    args = _parse(argv)
    from .stdio_process import run_drop_in

    return run_drop_in(lambda: _settings(args), _build, refused=1)


def _parse(argv: list[str] | None) -> argparse.Namespace:
    """Parse the command line; only a replay needs no backend."""
    program = parser()
    args: argparse.Namespace = program.parse_args(argv)
    if args.oj_base_url is None and not (args.replay or os.environ.get("SIGNET_REPLAY")):
        program.error("the following arguments are required: --base-url")
    return args


def parser() -> Parser:
    """Return the parser of the command line."""
    program = Parser(
        prog=NAME,
        description="Online-judge problems as MCP tools on standard input and output.",
        epilog=HELP,
    )
    # Spec 1 wants the flag: the variable alone is not enough here.
    text = "origin of the backend: scheme, host, port (required)"
    program.add_argument("--base-url", dest="oj_base_url", metavar="URL", help=text)
    add_settings(program, "oj_token", prefix="oj_")
    add_drop_in(program)
    return program


def _settings(args: argparse.Namespace) -> Settings:
    from signet.settings import Settings

    log = {"log": f"info,{os.environ.get('RUST_LOG', '')}", "log_lenient": True}
    return Settings.read(os.environ, {**vars(args), **log, "toolsets": "oj"}, prefix="oj_")


def _build(settings: Settings) -> Server:
    from signet.app import build_server, open_log, resolve
    from signet.configuration.reading import log_ignored
    from signet.logs import INFO

    log_ignored(settings, os.environ, NAME)
    server = build_server(resolve(settings), NAME)
    log = open_log(settings, NAME)
    for upstream in server.upstreams:
        log.line(INFO, "", f"base url: {upstream.origin}")
        log.line(INFO, "", "token: configured" if upstream.has_token else "token: not configured")
    return server
