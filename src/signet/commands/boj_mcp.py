"""The `boj-mcp-server` command: the Bank of Japan's tools on stdio, as spec 3 has it."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Final

from .arguments import USAGE, Parser, add_drop_in, print_err
from .boj import CREDIT

if TYPE_CHECKING:
    from signet.kernel.server import Server
    from signet.settings import Settings

__all__ = ["NAME", "main", "parser"]

NAME: Final = "boj-mcp-server"
OWN_TIME_S: Final = 3600
"""Attempts have a time of their own here, and as many as the user asks for."""

FLAGS: Final = {
    "--base-url": ("URL", "where the API is, without /api/v1 (BOJ_BASE_URL, https://www.stat-search.boj.or.jp)"),
    "--timeout-ms": ("MS", "how long one attempt may take (BOJ_TIMEOUT_MS, 10000)"),
    "--retry-max": ("N", "how often to ask again (BOJ_RETRY_MAX, 2)"),
    "--retry-backoff-ms": ("MS", "the wait before the first retry, doubled each time (BOJ_RETRY_BACKOFF_MS, 200)"),
    "--min-interval-ms": ("MS", "least time between requests (BOJ_MIN_INTERVAL_MS, 1000 for the public host, else 0)"),
    "--cache-s": ("S", "how long lists of series are kept (BOJ_CACHE_S, 3600)"),
}


def main(argv: list[str] | None = None) -> int:
    """Serve until standard input ends; the result is the exit status."""
    from signet.settings import UsageError

    args = parser().parse_args(argv)
    try:
        settings = _settings(args)
        from .stdio_process import run_stdio

        return run_stdio(lambda: _build(settings), in_thread=settings.stdio_reader == "thread")
    except UsageError as error:
        print_err(f"error: {error}\n")
        return USAGE
    except KeyboardInterrupt:
        return 130


def parser() -> Parser:
    """Say what can be written."""
    program = Parser(
        prog=NAME,
        description="Statistics of the Bank of Japan as MCP tools on standard input and output.",
        epilog=CREDIT,
    )
    for flag, (metavar, text) in FLAGS.items():
        program.add_argument(flag, metavar=metavar, help=text)
    add_drop_in(program)
    return program


def _settings(args: argparse.Namespace) -> Settings:
    from signet.settings import Settings

    given = vars(args)
    shared = {name: given.pop(name, None) for name in ("deterministic_ids", "log_dir", "record", "replay")}
    flags = {f"boj_{name}": value for name, value in given.items()}
    if "SIGNET_CALL_TIMEOUT_S" not in os.environ:
        shared["call_timeout_s"] = OWN_TIME_S
    return Settings.read(os.environ, {**flags, **shared, "toolsets": "boj"}, prefix="boj_")


def _build(settings: Settings) -> Server:
    from signet.app import build_server, embed

    return build_server(embed(settings), NAME)
