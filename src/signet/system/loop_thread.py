"""Threads for code that blocks: an event loop in one of its own, and work that has a deadline."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

__all__ = ["LoopThread", "within"]

T = TypeVar("T")


class LoopThread:
    """A running event loop; a function that never returns does not keep it from ending."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="signet-loop", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of a coroutine, or raise what it raises."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    def call(self, function: Callable[..., T], *args: Any) -> T:
        """Return the result of a function that is called on the loop's thread."""

        async def work() -> T:
            return function(*args)

        return self.run(work())

    def close(self) -> None:
        """Cancel what still runs, and end the thread."""
        self.run(self._cancel_all())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()

    async def _cancel_all(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def within(timeout_s: float, work: Callable[[], T], message: str) -> T:
    """Return the result of blocking work, or raise TimeoutError with this message.

    The work runs in a thread of its own, because a name lookup takes no deadline. A thread that misses the deadline is
    left behind: it is a daemon, and it ends when its socket does.
    """
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - the caller's thread raises it
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        return future.result(timeout_s)
    except TimeoutError:
        raise TimeoutError(message) from None
