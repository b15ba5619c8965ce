"""FastMCP's proxy in front of a command, for the relay matrix: `fastmcp_proxy.py stdio|http -- COMMAND…`."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time

from fastmcp.client.transports import StdioTransport
from fastmcp.server import create_proxy


def announce(port: int) -> None:
    """Say where the proxy listens, once it does."""
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            print(f"listening on http://127.0.0.1:{port}", file=sys.stderr, flush=True)
            return


def main() -> None:
    """Serve the proxy of the command behind `--`."""
    door, _, *command = sys.argv[1:]
    proxy = create_proxy(StdioTransport(command[0], command[1:], env=dict(os.environ)), name="scripted")
    if door == "stdio":
        proxy.run(transport="stdio", show_banner=False)
        return
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    threading.Thread(target=announce, args=(port,), daemon=True).start()
    proxy.run(transport="http", host="127.0.0.1", port=port, path="/mcp", show_banner=False)


if __name__ == "__main__":
    main()
