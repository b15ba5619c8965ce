"""The console's own threads: what a view reads or computes off the event loop, so that the doors never wait for it.

    await work(function, *args) ── a bounded line, in turn for each caller ── one of two threads

The doors share the threads of the event loop; the console takes none of them. What runs here is short, and bounded in
work and memory by whoever hands it in: it reads files of a known size, or turns one answer into JSON. It waits for no
network and no other process. So one that is stuck, in a file system that does not answer, leaves the other thread; with
both stuck the console says that it is busy, and tools are served as before. What may take seconds has its own threads.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, ParamSpec, TypeVar

from signet.kernel.caller import holder_now
from signet.kernel.errors import Code, Fault
from signet.system.threads import BusyError, WorkThreads

__all__ = ["work"]

P = ParamSpec("P")
T = TypeVar("T")

THREADS: Final = 2
MAX_WAITING: Final = 32
"""The number of functions that wait for a thread: a caller whose share of them waits gets 503."""
BUSY: Final = "The console is busy with other requests: ask again in a few seconds"

_threads: Final = WorkThreads("signet-console", THREADS, MAX_WAITING)


async def work(function: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """Return the value of a function in one of the console's threads.

    Raises:
        Fault: too many wait for one.
    """
    try:
        return await _threads.run(holder_now(), partial(function, *args, **named))
    except BusyError:
        raise Fault(Code.INTERNAL_ERROR, BUSY, name="CONSOLE_BUSY", status=503) from None
