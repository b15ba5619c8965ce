"""The `oj-mcp-rs` command: the online judge's tools on stdio, as spec 1 has it."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Final

from .arguments import Parser
from .drop_in import EMPTY_LISTS, add_drop_in, read_drop_in_settings, run_drop_in

if TYPE_CHECKING:
    from signet.kernel.server import Server
    from signet.settings.model import Settings

__all__ = ["NAME", "main", "parser"]

NAME: Final = "oj-mcp-rs"
PREFIX: Final = "oj_"
HELP: Final = """\
RUST_LOG filters the log on stderr: off, error, warn, info, debug, trace, or target=level (default: info).
"""


def main(argv: list[str] | None = None) -> int:
    """Serve until standard input ends; return the exit status."""
    program = parser()  # rule: 1.S3.4.order
    args: argparse.Namespace = program.parse_args(argv)
    # Only a replay needs no backend.
    if args.oj_base_url is None and not (args.replay or os.environ.get("SIGNET_REPLAY", "").strip()):
        program.error("the following arguments are required: --base-url")  # rule: 1.S1.1.required
    return run_drop_in(lambda: _settings(program, args), _build, refused=1)


def parser() -> Parser:
    """Return the parser of the command line."""
    program = Parser(
        prog=NAME,
        description="Online-judge problems as MCP tools on standard input and output.",
        epilog=HELP,
    )
    # Spec 1 wants the flag: OJ_BASE_URL is not read, and neither is SIGNET_SANDBOX, which would take its place.
    text = "origin of the backend: scheme, host, port (required)"
    program.add_argument("--base-url", dest="oj_base_url", metavar="URL", help=text)
    add_drop_in(program, PREFIX, ["oj_token"], ["oj_cache", "oj_offline", "oj_timeout_s"])
    return program


def _settings(program: Parser, args: argparse.Namespace) -> Settings:
    log = {"log": f"info,{os.environ.get('RUST_LOG', '')}", "log_lenient": True}  # rule: 1.S6.2.default
    fixed = {**log, "toolsets": "oj", "oj_as_specified": True}
    return read_drop_in_settings(program, args, PREFIX, fixed, {})


def _build(settings: Settings) -> Server:
    from signet.app import build_server, resolve
    from signet.settings.model import open_log
    from signet.settings.reading import log_ignored
    from signet.system.logs import INFO

    log_ignored(settings, os.environ, NAME)
    server = build_server(resolve(settings), NAME, empty_lists=EMPTY_LISTS)  # rule: 1.S3.1.name
    log = open_log(settings, NAME)
    for upstream in server.upstreams:
        log.line(INFO, "", f"base url: {upstream.origin}")
        # rule: 1.S6.3.presence
        log.line(INFO, "", "token: configured" if upstream.has_token else "token: not configured")
    return server
