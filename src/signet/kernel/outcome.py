"""A call on its way in, and what became of it on its way out."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from .errors import Fault
from .schemas import ToolIO
from .tools import Context, Tool

__all__ = ["UNKNOWN_DOOR", "Call", "Door", "Outcome", "PreparedCall"]


class Door(msgspec.Struct, frozen=True):
    """The way by which a call came."""

    transport: str
    route: str
    name: str
    """Which door it is, whatever the route's variable part; each counts its own steps."""
    by_name: bool = False
    """Whether it knows tools by their published names alone."""


UNKNOWN_DOOR: Final = Door("none", "none", "none")


class Call(msgspec.Struct, frozen=True):
    """One request to run a tool: the same value whichever door it came through."""

    tool_key: str
    """The tool's name, slug or canonical id."""
    arguments: Any
    context: Context
    door: Door = UNKNOWN_DOOR


class PreparedCall(msgspec.Struct, frozen=True):
    """A call that kept its input contract, with its typed arguments."""

    call: Call
    tool: Tool
    io: ToolIO
    args: Any
    shadow_violation: Fault | None = None
    """What would have refused it, had contracts not been in shadow."""


class Outcome(msgspec.Struct, frozen=True):
    """What became of a call: a result that keeps its contract, or a fault."""

    call: Call
    tool: Tool | None
    result: Any = None
    body: bytes = b""
    """The result as JSON, written once for every door."""
    fault: Fault | None = None
    shadow_violation: Fault | None = None
    """What would have been a fault, had contracts not been in shadow."""
