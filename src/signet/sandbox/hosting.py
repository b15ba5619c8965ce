"""Two ways to run a sandbox: until a signal arrives, or in a background thread."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable

from signet.kernel.toolset import Toolset

from .message import Sandbox
from .server import Running, start

__all__ = ["build", "host_in_thread", "run", "start_in_thread"]


def build(toolset: Toolset, token: str | None = None) -> Sandbox:
    """Return the sandbox of a toolset. If `token` is given, requests must send it as a bearer token.

    Raises:
        ValueError: the toolset has none.
    """
    if toolset.sandbox is None:
        raise ValueError(f"the toolset {toolset.name} has no sandbox")
    sandbox: Sandbox = toolset.sandbox.build(token)
    return sandbox


def run(toolset: Toolset, host: str, port: int, *, token: str | None, announce: Callable[[str], None]) -> None:
    """Serve a toolset's sandbox until SIGINT or SIGTERM; `announce` is called with its URL once it answers.

    Raises:
        ValueError: the toolset has none, or the address is not this machine's alone.
        OSError: the address cannot be had.
    """
    with contextlib.suppress(KeyboardInterrupt):  # Windows loops have no signal handlers.
        asyncio.run(_until_signal(build(toolset, token), host, port, announce))


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


def start_in_thread(toolset: Toolset, *, token: str | None = None) -> tuple[str, Callable[[], None]]:
    """Serve a toolset's sandbox from a daemon thread of this process; return its URL and the function that stops it.

    Raises:
        ValueError: the toolset has none.
        OSError: there is no port to be had.
    """
    running, stop = host_in_thread(build(toolset, token))
    return running.url, stop


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
