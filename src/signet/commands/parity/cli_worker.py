"""The command line as one process for many calls: each input line is a call, run and printed as `signet call` does.

A process for each call would spend most of its time starting, and would begin a journal of its own.
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
from signet.commands.call import walk
from signet.commands.call_arguments import read_object
from signet.commands.terminal import show
from signet.commands.wrapped import learn
from signet.kernel.server import Server
from signet.settings.model import Settings
from signet.settings.servers import with_servers_of_file
from signet.transports.pipes import claim_stdout

__all__ = ["main", "serve"]


def _build() -> Server:
    settings = Settings.read(os.environ, {})
    return build_server(with_servers_of_file(settings, is_private=True) if settings.config else settings)


async def _answer(server: Server, line: bytes) -> bytes:
    """Make one call and return its exit status and output."""
    name, text = msgspec.json.decode(line, type=tuple[str, str])
    # As written: a number for a string is taken from people alone, and would differ from every other door.
    outcome = await walk(server, name, read_object(text))
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        show(outcome)
    return msgspec.json.encode({"status": 0 if outcome.fault is None else 1, "shown": shown.getvalue()})


async def serve(server: Server, wire: BinaryIO) -> None:
    """Answer each line of standard input until it ends."""
    try:
        await learn(server)
        while line := await asyncio.to_thread(sys.stdin.buffer.readline):
            wire.write(await _answer(server, line) + b"\n")
            wire.flush()
    finally:
        await server.close()


def main(build: Callable[[], Server] = _build) -> int:
    """Serve the tools that the environment selects; standard output is claimed, so that tools cannot print to it."""
    with os.fdopen(claim_stdout(), "wb") as wire:
        asyncio.run(serve(build(), wire))
    return 0


if __name__ == "__main__":
    sys.exit(main())
