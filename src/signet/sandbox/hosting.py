"""Two ways to run a sandbox: until a signal arrives, or in a background thread."""

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
    started: Future[tuple[Running, Callable[[], None]]] = Future()
    thread = threading.Thread(target=_in_thread, args=(sandbox, started), name=f"sandbox-{sandbox.name}", daemon=True)
    thread.start()
    running, request_stop = started.result()

    def stop() -> None:
        request_stop()
        thread.join()

    return running, stop


def _in_thread(sandbox: Sandbox, started: Future[tuple[Running, Callable[[], None]]]) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        stopped = asyncio.Event()

        def request_stop() -> None:
            with contextlib.suppress(RuntimeError):  # The loop has ended already.
                loop.call_soon_threadsafe(stopped.set)

        try:
            running = await start(sandbox)
        except OSError as error:
            started.set_exception(error)
            return
        started.set_result((running, request_stop))
        await stopped.wait()
        await running.stop()

    asyncio.run(main())
