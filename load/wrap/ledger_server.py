"""A server of the handshake era on stdio that notes each call in a file before it answers: `ledger_server.py FILE`.

One line of the file is one execution. The file is opened for appending, so what a killed process has noted stays.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

HINTS: dict[str, dict[str, bool]] = {"change": {}, "look": {"readOnlyHint": True}, "put": {"idempotentHint": True}}
"""The tools: one that changes something each time, one that changes nothing, one that may be called again."""
WORK_S = 0.0003
"""How long a call takes after it is noted, so that calls wait here whenever the process is killed."""
ENTRY = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
INFO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "ledger", "version": "1"},
}


def listed() -> dict[str, Any]:
    """Return the result of `tools/list`."""
    schemas = {"inputSchema": ENTRY, "outputSchema": ENTRY}
    return {"tools": [{"name": name, "annotations": hints, **schemas} for name, hints in HINTS.items()]}


def answer(message: dict[str, Any], ledger: int) -> dict[str, Any]:
    """Return the result or the error of a request."""
    method = message["method"]
    if method == "tools/call":
        entry = message["params"]["arguments"]["id"]
        os.write(ledger, entry.encode() + b"\n")
        time.sleep(WORK_S)
        return {"result": {"content": [{"type": "text", "text": entry}], "structuredContent": {"id": entry}}}
    if method in {"initialize", "tools/list", "ping"}:
        return {"result": {"initialize": INFO, "tools/list": listed(), "ping": {}}[method]}
    return {"error": {"code": -32601, "message": "Method not found"}}


def main() -> None:
    """Answer until the input ends."""
    ledger = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "method" in message and "id" in message:
            said = {"jsonrpc": "2.0", "id": message["id"], **answer(message, ledger)}
            sys.stdout.buffer.write(json.dumps(said).encode() + b"\n")
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
