"""One request and its answer, as they are written down: in the audit log, the access log and the metrics."""

from __future__ import annotations

import msgspec

from .caller import Caller
from .outcome import Outcome

__all__ = ["Exchange"]


class Exchange(msgspec.Struct, frozen=True):
    """A request that is about to be answered, whether it was a call, something else, or was refused."""

    caller: Caller
    door: str
    """The door's name, such as `http mcp`, `rest` or `stdio mcp`; `http` for pages and paths that are no door."""
    request: str
    """The method of the request: `POST /mcp`, or on stdio the method of the message. Paths come from outside."""
    status: int
    """The HTTP status; on stdio 200, or 400 for an error."""
    refusal: str = ""
    """Why the request was refused before it was a call; empty for all others."""
    outcome: Outcome | None = None
    """The outcome of the call in it, where it is one."""
    took_s: float = 0.0
    sent_bytes: int = 0
    version: str = ""
    """The version of MCP that the request states."""
    body: bytes = b""
    """The body of a request that is no call, for whoever counts messages by their methods; it is written nowhere."""
    is_left: bool = False
    """Whether the client left before its answer."""
    is_vital: bool = False
    """Whether the answer says that the process lives, which is so whether or not the exchange can be written down."""
