"""The command line as a process that is asked many times: each line is a call, run and shown as `signet call` does.

A process for each call would take most of its time to start, and each would begin a journal of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import sys
from collections.abc import Callable
from typing import BinaryIO

import msgspec

from signet.app import build_server
from signet.commands.call import arguments_of, walk
from signet.commands.terminal import show
from signet.kernel.server import Server
from signet.settings import Settings
from signet.transports.pipes import claim_stdout

__all__ = ["main", "serve"]


def _build() -> Server:
    return build_server(Settings.read(os.environ, {}))


async def _answer(server: Server, line: bytes) -> bytes:
    """Make one call and give its exit status and what is shown."""
    name, text = msgspec.json.decode(line, type=tuple[str, str])
    outcome = await walk(server, name, arguments_of(server.pipeline, name, [], text))
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        show(outcome)
    return msgspec.json.encode({"status": 0 if outcome.fault is None else 1, "shown": shown.getvalue()})


async def serve(server: Server, wire: BinaryIO) -> None:
    """Answer line after line until there is none."""
    try:
        while line := await asyncio.to_thread(sys.stdin.buffer.readline):
            wire.write(await _answer(server, line) + b"\n")
            wire.flush()
    finally:
        await server.close()


def main(build: Callable[[], Server] = _build) -> int:
    """Serve what the environment says; a tool that prints does not print onto the wire."""
    with os.fdopen(claim_stdout(), "wb") as wire:
        asyncio.run(serve(build(), wire))
    return 0


if __name__ == "__main__":
    sys.exit(main())
