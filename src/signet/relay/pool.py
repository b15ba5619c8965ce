"""The running instances of one server: one for all callers, one for each session, or one for each call.

A start is made once for all who wait for it. Only after a start that failed is there a pause before the next.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

from signet.kernel.errors import Code, Fault

from .dialogue import Dialogue
from .link import LinkError

__all__ = ["Pool"]

FIRST_PAUSE_S: Final = 1.0
LONGEST_PAUSE_S: Final = 30.0
MAX_SESSIONS: Final = 64
"""The number of instances that sessions may have at once; the one that was idle for longest is ended for a new one."""

Begin = Callable[[], Awaitable[Dialogue]]


class Pool:
    """The open dialogues with one server, by who owns each."""

    def __init__(self, name: str, kind: str) -> None:
        self._name = name
        self._kind = kind
        self._open: dict[str, asyncio.Future[Dialogue]] = {}
        self._pause_s = 0.0
        self._not_before = 0.0
        self._why = ""
        self._closing: set[asyncio.Task[None]] = set()
        self.is_closed = False

    @property
    def dialogues(self) -> list[Dialogue]:
        """The open dialogues."""
        done = [one for one in self._open.values() if one.done() and not one.cancelled() and one.exception() is None]
        return [one.result() for one in done]

    @property
    def why_not_started(self) -> str:
        """The reason of the last start, where it failed; empty otherwise."""
        return self._why if self._pause_s else ""

    def ready(self, owner: str) -> Dialogue | None:
        """Return the dialogue of an owner if there is one that can be used at once; it counts as used."""
        key = self._key(owner)
        opened = self._open.get(key)
        if opened is None or not opened.done() or opened.cancelled() or opened.exception() is not None:
            return None
        dialogue = opened.result()
        if self._kind == "session":
            self._open[key] = self._open.pop(key)
        return None if dialogue.is_lost else dialogue

    async def dialogue(self, owner: str, begin: Begin) -> Dialogue:
        """Return the dialogue of an owner, started now if it is not there; raise Fault if it cannot be started."""
        key = self._key(owner)
        ready = self.ready(owner)
        if ready is not None:
            return ready
        opened = self._open.get(key)
        if opened is None or opened.done():
            opened = self._open[key] = self._start(key, begin)
        try:
            return await asyncio.shield(opened)
        except LinkError as error:
            raise self._no_start(str(error)) from None
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not opened.cancelled() or (task is not None and task.cancelling()):
                raise
            # Not the caller gave up: the start did.
            raise self._no_start("it was ended before it had begun") from None

    async def single(self, begin: Begin) -> Dialogue:
        """Return a dialogue for one call; its user ends it."""
        self._check_pause()
        try:
            dialogue = await begin()
        except LinkError as error:
            self._failed(str(error))
            raise self._no_start(str(error)) from None
        self._pause_s = 0.0
        return dialogue

    def end(self, owner: str) -> None:
        """End the dialogue of a session that has ended."""
        opened = self._open.pop(self._key(owner), None) if self._kind == "session" else None
        if opened is not None:
            self._later(_close(opened))

    def close_later(self, dialogue: Dialogue) -> None:
        """End a dialogue without waiting for it."""
        self._later(dialogue.close())

    def _later(self, closing: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(closing)
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """End all dialogues."""
        self.is_closed = True
        opened, self._open = self._open, {}
        await asyncio.gather(*map(_close, opened.values()), *self._closing)

    def _key(self, owner: str) -> str:
        return owner if self._kind == "session" else ""

    def _start(self, key: str, begin: Begin) -> asyncio.Future[Dialogue]:
        self._check_pause()
        if len(self._open) >= MAX_SESSIONS and key not in self._open:
            oldest = next(iter(self._open))
            idle = next((one for one, opened in self._open.items() if _is_idle(opened)), oldest)
            self._later(_close(self._open.pop(idle)))
        task = asyncio.ensure_future(begin())
        task.add_done_callback(self._settle)
        return task

    def _settle(self, started: asyncio.Future[Dialogue]) -> None:
        error = None if started.cancelled() else started.exception()
        if error is None:
            self._pause_s = 0.0
        else:
            self._failed(str(error))

    def _failed(self, why: str) -> None:
        self._pause_s = min(LONGEST_PAUSE_S, self._pause_s * 2 or FIRST_PAUSE_S)
        self._not_before = asyncio.get_running_loop().time() + self._pause_s
        self._why = why

    def _check_pause(self) -> None:
        if self.is_closed:
            raise Fault(Code.INTERNAL_ERROR, f"{self._name} is being ended", as_tool_result=False)
        left_s = self._not_before - asyncio.get_running_loop().time() if self._pause_s else 0.0
        if left_s > 0:
            raise self._no_start(f"{self._why}; the next try is in {left_s:.0f} s")

    def _no_start(self, why: str) -> Fault:
        message = f"the server {self._name} does not start: {why}"
        return Fault(Code.INTERNAL_ERROR, message, name="SERVER_NOT_STARTED", status=502, as_tool_result=False)


def _is_idle(opened: asyncio.Future[Dialogue]) -> bool:
    """Return whether no caller waits for a dialogue."""
    if not opened.done():
        return False
    has_failed = opened.cancelled() or opened.exception() is not None
    return has_failed or all(one.request is None for one in opened.result().exchanges.values())


async def _close(opened: asyncio.Future[Dialogue]) -> None:
    """End a dialogue; one that is being started is given up."""
    if not opened.done():
        opened.cancel()
    try:
        dialogue = await opened
    except (LinkError, Fault, asyncio.CancelledError):
        return
    await dialogue.close()
