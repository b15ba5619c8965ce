"""Two ways to keep a sandbox running: until a signal comes, or in a thread of its own beside anything else."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future

from .server import Running, Sandbox, start

__all__ = ["host_in_thread", "host_until_signal"]


def host_until_signal(sandbox: Sandbox, host: str, port: int, announce: Callable[[str], None]) -> None:
    """Listen until SIGINT or SIGTERM; `announce` is given the URL once it is answered there."""
    with contextlib.suppress(KeyboardInterrupt):  # Windows, where a loop minds no signals
        asyncio.run(_until_signal(sandbox, host, port, announce))


async def _until_signal(sandbox: Sandbox, host: str, port: int, announce: Callable[[str], None]) -> None:
    ended = asyncio.Event()
    for one in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(RuntimeError):
            asyncio.get_running_loop().add_signal_handler(one, ended.set)
    running = await start(sandbox, host, port)
    try:
        announce(running.url)
        await ended.wait()
    finally:
        await running.stop()


def host_in_thread(sandbox: Sandbox) -> tuple[Running, Callable[[], None]]:
    """Listen on a free port from a daemon thread; what is called second ends it, and waits until it has ended.

    Orders and the log of what is returned first may be used from any thread.

    Raises:
        OSError: there is no port to be had.
    """
    begun: Future[tuple[Running, Callable[[], None]]] = Future()
    thread = threading.Thread(target=_in_thread, args=(sandbox, begun), name=f"sandbox-{sandbox.name}", daemon=True)
    thread.start()
    running, end = begun.result()

    def stop() -> None:
        end()
        thread.join()

    return running, stop


def _in_thread(sandbox: Sandbox, begun: Future[tuple[Running, Callable[[], None]]]) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()

        def end() -> None:
            with contextlib.suppress(RuntimeError):  # it has ended already
                loop.call_soon_threadsafe(ended.set)

        try:
            running = await start(sandbox)
        except OSError as error:
            begun.set_exception(error)
            return
        begun.set_result((running, end))
        await ended.wait()
        await running.stop()

    asyncio.run(main())
