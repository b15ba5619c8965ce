"""The server behind each wrapper, `wrapped_stdio.py`: the bare loop on stdio, with an error for what it does not know.

Wrappers ask a server for more than the bare one knows, and go on when it knows no such method.
"""

from __future__ import annotations

import os

from bench.peers.bare import Request, answer, to_request

CHUNK = 1 << 18
UNKNOWN = b'{"jsonrpc":"2.0","id":%d,"error":{"code":-32601,"message":"Method not found"}}'


def respond(line: bytes) -> bytes:
    """Return the response to a line, with its end; nothing for a notification."""
    request: Request = to_request(line)
    if request.id is None:
        return b""
    try:
        return answer(request) + b"\n"
    except ValueError:
        return UNKNOWN % int(request.id) + b"\n"


def serve() -> None:
    """Serve until standard input ends."""
    rest = b""
    while chunk := os.read(0, CHUNK):
        *lines, rest = (rest + chunk).split(b"\n")
        answers = memoryview(b"".join(map(respond, lines)))
        while answers:
            answers = answers[os.write(1, answers) :]


if __name__ == "__main__":
    serve()
