"""The bare loop on stdio, `bare_stdio.py`: read a chunk, answer its lines, write once."""

from __future__ import annotations

import os

from bench.peers.bare import answer, to_request

CHUNK = 1 << 18


def serve() -> None:
    """Serve until standard input ends; the pipes block, and the client reads what it asked for."""
    rest = b""
    while chunk := os.read(0, CHUNK):
        *lines, rest = (rest + chunk).split(b"\n")
        requests = map(to_request, lines)
        answers = memoryview(b"".join([answer(one) + b"\n" for one in requests if one.id is not None]))
        while answers:
            answers = answers[os.write(1, answers) :]


if __name__ == "__main__":
    serve()
