"""The channel of a message: the door that it came through, what is known of the client, and the way back to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from .caller import NOBODY, Caller
from .outcome import Door
from .wire import NO_HEADERS, Headers, Id

__all__ = ["HTTP_MCP", "STDIO_MCP", "ClientChannel", "Session"]

STDIO_MCP: Final = Door("stdio", "tools/call", "stdio mcp", by_name=True)
HTTP_MCP: Final = Door("http", "/mcp", "http mcp", by_name=True)


def _ignore(*_: object) -> None:
    """Do nothing: nobody listens."""


class Session(msgspec.Struct):
    """What lasts between the messages of one client: on stdio the connection, over HTTP a session if there is one."""

    id: str = ""
    """Empty where nothing lasts, and on stdio."""
    principal: str | None = None
    """The key of the one who holds it; None where nobody has to say who they are."""
    version: str = ""
    """The version that `initialize` settled."""
    capabilities: Mapping[str, Any] = {}
    """What the client declared with `initialize`."""
    client: Any = None
    """How the client named itself."""
    notify: Callable[[bytes], None] | None = None
    """Send a message that belongs to no request; None where there is no way."""
    holder: str = ""
    """Whose share of scarce things the session uses (`Caller.holder`)."""
    on_end: list[Callable[[], None]] = []
    """Called when the client is gone."""


class ClientChannel(msgspec.Struct, frozen=True):
    """The way back to the client of a message, beside the reply, and the door that it came through."""

    notify: Callable[[bytes], None] = _ignore
    cancel: Callable[[Id], None] = _ignore
    door: Door = STDIO_MCP
    can_ask: bool = True
    """Whether requests of ours reach the client before its reply does."""
    headers: Headers = NO_HEADERS
    """The headers of an HTTP request."""
    caller: Caller = NOBODY
    agreement: Session = msgspec.field(default_factory=Session)
    """What is settled between the messages of one connection; over HTTP nothing is."""
    takes_parts: bool = False
    """Whether a large reply may come in parts."""
