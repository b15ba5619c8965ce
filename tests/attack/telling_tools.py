"""Tools that say something before they answer: `tell` never answers, and `turn` answers after one turn of the loop."""

from __future__ import annotations

import asyncio
import sys

import signet


@signet.tool
async def tell(ctx: signet.Context) -> str:
    """Report progress, then wait."""
    sys.stderr.write("tell: started\n")
    sys.stderr.flush()
    ctx.progress(0.5, 1)
    await asyncio.Event().wait()
    return "over"


@signet.tool
async def turn() -> str:
    """Answer."""
    await asyncio.sleep(0)
    return "over"
