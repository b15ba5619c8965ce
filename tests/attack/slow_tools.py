"""Plain functions that an attacker can hold: `block` as long as it likes, and `echo` for everybody else."""

from __future__ import annotations

import os
import sys
import time

import signet


@signet.tool
def block(file: str, seconds: float = 60.0) -> str:
    """Return when a file is there, or after some time; what it waits for cannot be cancelled."""
    sys.stderr.write("block: started\n")
    sys.stderr.flush()
    until = time.monotonic() + seconds
    while not os.path.exists(file) and time.monotonic() < until:
        time.sleep(0.01)
    return "over"


@signet.tool
async def offloads(file: str, ctx: signet.Context) -> str:
    """Do the same in a thread of `ctx.offload`."""
    return await ctx.offload(block, file)


@signet.tool
def echo(text: str) -> str:
    """Give a text back."""
    return text


@signet.tool
async def echo_offloaded(text: str, ctx: signet.Context) -> str:
    """Give a text back, by way of a thread of `ctx.offload`."""
    return await ctx.offload(str, text)
