"""The parts that the views of the console are made of: the server that they show, and its settings."""

from __future__ import annotations

from typing import Any

import msgspec

from signet.kernel.caller import Authenticator
from signet.kernel.server import Server
from signet.settings.model import Settings
from signet.system.figures.registry import Registry

from .comparison import Questions
from .spool import Spool

__all__ = ["ConsoleContext"]


class ConsoleContext(msgspec.Struct, frozen=True):
    """One server, whose events the views listen to, and its settings."""

    settings: Settings
    """As they hold: of a replay, or with embedded upstreams."""
    server: Server
    spool: Spool
    """What the processes of the server tell each other."""
    root: str = ""
    """The URL or path under which clients reach the server, where a public one is set."""
    authenticator: Authenticator | None = None
    """Who knows the callers; None where nobody has to say."""
    figures: Registry = msgspec.field(default_factory=Registry)
    """What the process has counted."""
    questions: Questions = msgspec.field(default_factory=Questions)
    """What the views ask about schemas."""

    @property
    def secured(self) -> bool:
        """Whether callers have to send a token."""
        return self.authenticator is not None

    def example_call(self) -> dict[str, Any] | None:
        """Return a call to try: the example of the first tool that has one; None if no tool has."""
        tools = (tool for tool in self.server.pipeline.toolbox if tool.has_example)
        return next(({"tool": tool.name, "arguments": dict(tool.example)} for tool in tools), None)
