"""The channel of a message: the door that it came through, what is known of the client, and the way back to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from .caller import NOBODY, Caller
from .outcome import Door
from .wire import NO_HEADERS, Headers, Id

__all__ = ["HTTP_MCP", "STDIO_MCP", "ClientChannel"]

STDIO_MCP: Final = Door("stdio", "tools/call", "stdio mcp", by_name=True)
HTTP_MCP: Final = Door("http", "/mcp", "http mcp", by_name=True)


def _ignore(*_: object) -> None:
    """Do nothing: nobody listens."""


class _Agreement(msgspec.Struct):
    """What `initialize` settled on a connection that lasts."""

    version: str = ""


class ClientChannel(msgspec.Struct, frozen=True):
    """The way back to the client of a message, beside the reply, and the door that it came through."""

    notify: Callable[[bytes], None] = _ignore
    cancel: Callable[[Id], None] = _ignore
    door: Door = STDIO_MCP
    headers: Headers = NO_HEADERS
    """The headers of an HTTP request."""
    caller: Caller = NOBODY
    agreement: _Agreement = msgspec.field(default_factory=_Agreement)
    """What is settled between the messages of one connection; over HTTP nothing is."""
