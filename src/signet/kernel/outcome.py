"""A call on its way in, and what became of it on its way out."""

from __future__ import annotations

from typing import Any

import msgspec

from .errors import Fault
from .schemas import ToolIO
from .tools import Context, Tool

__all__ = ["Call", "Outcome", "Ready"]


class Call(msgspec.Struct, frozen=True):
    """One request to run a tool: the same value whichever door it came through."""

    key: str
    """The tool's name, slug or canonical id."""
    arguments: Any
    context: Context


class Ready(msgspec.Struct, frozen=True):
    """A call that kept its input contract, with its typed arguments."""

    call: Call
    tool: Tool
    io: ToolIO
    args: Any


class Outcome(msgspec.Struct, frozen=True):
    """What became of a call: a result that keeps its contract, or a fault."""

    call: Call
    tool: Tool | None
    result: Any = None
    body: bytes = b""
    """The result as JSON, written once for every door."""
    fault: Fault | None = None
