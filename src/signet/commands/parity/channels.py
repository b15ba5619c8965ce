"""The eight channels: which process each needs, how it writes a call, how it reads the reply. Pure."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

import msgspec

from signet.console.door_messages import (
    HANDSHAKE,
    IN_RECORD,
    MODERN,
    Observation,
    read_envelope,
    read_mcp,
    read_rest,
    reader,
    write_envelope,
    write_mcp,
    write_rest,
)
from signet.mcp.messages import MessageBuilder, WireMessage

from .corpus import CorpusCall

__all__ = ["CHANNELS", "IN_RECORD", "NO_ANSWER", "Channel"]

NO_ANSWER: Final = "NO_ANSWER"
"""A code outside of the canonical table, for a reply that is missing."""

Reader = Callable[[bytes], Observation]


class Channel(NamedTuple):
    """One way into the server."""

    name: str
    command: str
    """The key of the command line to start: `stdio`, `serve` or `call`."""
    write: Callable[[CorpusCall], WireMessage]
    read: Reader
    handshake: MessageBuilder | None = None
    """The revision whose handshake comes before the first call."""


def _write_command_line(call: CorpusCall) -> WireMessage:
    return WireMessage(msgspec.json.encode([call.tool, msgspec.json.encode(call.arguments).decode()]))


@reader
def _read_command_line(answer: Any) -> Observation:
    """Parse the output of a command by its exit status."""
    output = msgspec.json.decode(answer["shown"])
    return Observation(output) if answer["status"] == 0 else Observation(code=output["error"]["canonical_code"])


CHANNELS: Final = (
    Channel(f"stdio {HANDSHAKE.version}", "stdio", partial(write_mcp, HANDSHAKE), read_mcp, HANDSHAKE),
    Channel(f"stdio {MODERN.version}", "stdio", partial(write_mcp, MODERN), read_mcp),
    Channel(f"HTTP {HANDSHAKE.version}", "serve", partial(write_mcp, HANDSHAKE), read_mcp, HANDSHAKE),
    Channel(f"HTTP {MODERN.version}", "serve", partial(write_mcp, MODERN), read_mcp),
    Channel("REST", "serve", write_rest, read_rest),
    Channel("envelope stdio", "stdio", write_envelope, read_envelope),
    Channel("envelope HTTP", "serve", write_envelope, read_envelope),
    Channel("command line", "call", _write_command_line, _read_command_line),
)
