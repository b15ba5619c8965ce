"""The tools that wait; the one without an end says on stderr when it starts."""

from __future__ import annotations

import asyncio
import sys
from typing import Any, Final

from signet.kernel.tools import Context, tool

__all__ = ["TOOLS"]

Arguments = dict[str, Any]


@tool(name="waiting_turn", slug="waiting.turn", title="Wait one turn")
async def turn(args: Arguments, ctx: Context) -> dict[str, Any]:
    """Answers after one turn of the event loop."""
    await asyncio.sleep(0)
    return {"waited": True}


@tool(name="waiting_forever", slug="waiting.forever", title="Wait forever")
async def forever(args: Arguments, ctx: Context) -> dict[str, Any]:
    """Never answers."""
    sys.stderr.write("waiting_forever: started\n")
    sys.stderr.flush()
    await asyncio.Event().wait()
    return {"waited": True}


TOOLS: Final = (turn, forever)
