"""A server that tells what its calls wait for after a twentieth of a second.

`python quick_progress_server.py COMMAND …`: the command is `signet`, `boj-mcp-server` or `oj-mcp-rs`.
"""

from __future__ import annotations

import sys
from functools import partial

import signet.app
from signet.kernel.server import Server

INTERVAL_S = 0.05


def main() -> int:
    from signet.commands import boj_mcp, cli, oj_mcp

    signet.app.Server = partial(Server, progress_s=INTERVAL_S)  # type: ignore[misc,assignment]
    command = sys.argv.pop(1)
    return {"signet": cli.main, "boj-mcp-server": boj_mcp.main, "oj-mcp-rs": oj_mcp.main}[command]()


if __name__ == "__main__":
    sys.exit(main())
