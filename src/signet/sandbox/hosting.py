"""Two ways to run a sandbox: until a signal arrives, or in a background thread."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable

from .server import Running, Sandbox, start

__all__ = ["host_in_thread", "host_until_signal"]


def host_until_signal(sandbox: Sandbox, host: str, port: int, announce: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM; call `announce` with the URL once it answers."""
    with contextlib.suppress(KeyboardInterrupt):  # Windows loops have no signal handlers.
        asyncio.run(_until_signal(sandbox, host, port, announce))


async def _until_signal(sandbox: Sandbox, host: str, port: int, announce: Callable[[str], None]) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(RuntimeError):
            asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    running = await start(sandbox, host, port)
    try:
        announce(running.url)
        await stopped.wait()
    finally:
        await running.stop()


def host_in_thread(sandbox: Sandbox) -> tuple[Running, Callable[[], None]]:
    """Serve on a free port from a daemon thread and return (running, stop).

    `running` may be used from any thread; `stop()` ends the sandbox and joins the thread.

    Raises:
        OSError: no port can be bound.
    """
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name=f"sandbox-{sandbox.name}", daemon=True)

    def end() -> None:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    def stop() -> None:
        if not loop.is_closed():
            asyncio.run_coroutine_threadsafe(running.stop(), loop).result()
            end()

    thread.start()
    try:
        running = asyncio.run_coroutine_threadsafe(start(sandbox), loop).result()
    except OSError:
        end()
        raise
    return running, stop
