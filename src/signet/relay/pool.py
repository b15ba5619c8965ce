"""The running instances of one server: one for all callers, one for each session, or one for each call.

A start is made once for all who wait for it. Only after a start that failed is there a pause before the next: for all
callers after one of the common instance, else for the holder whose instance did not start.

Instances of sessions and of calls are shared by holders (`Caller.holder`), and count until they have ended. A newcomer
ends an idle instance of its own holder, and never one that is busy or another's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, Final

import msgspec

from signet.kernel.errors import TOO_MANY_PROCESSES, Code, Fault
from signet.mcp.link import LinkError
from signet.mcp.session import ClientSession
from signet.system.places import FairTurns

__all__ = ["Pool"]

FIRST_PAUSE_S: Final = 1.0
LONGEST_PAUSE_S: Final = 30.0
MAX_PAUSES: Final = 1024
"""The number of holders whose failed starts are remembered."""
MAX_SESSIONS: Final = 64
"""The number of instances that sessions may have at once."""
MAX_CALLS: Final = 48
"""The number of instances that calls of their own may have at once."""
SPARE: Final = 16
"""The number of further ones of each, one for each holder that has none."""
MAX_WAITING: Final = 256
"""The number of calls that may wait for one."""
PLACE_S: Final = 10.0
"""How long to wait for a place: a child takes up to 6 s to end."""
RETRY_S: Final = 2

Begin = Callable[[], Awaitable[ClientSession]]


class _Pause(msgspec.Struct, frozen=True, gc=False):
    """The time after a start that failed."""

    length_s: float
    until_s: float
    why: str


class Pool:
    """The open dialogues with one server, by who owns each."""

    def __init__(self, name: str, kind: str) -> None:
        self._name = name
        self._kind = kind
        self._open: dict[str, asyncio.Future[ClientSession]] = {}
        self.common: ClientSession | None = None
        """The instance that all callers share, while it runs."""
        self._sessions = FairTurns(f"session processes of {name}", MAX_SESSIONS, reserves=True, spare=SPARE)
        self._calls = FairTurns(f"call processes of {name}", MAX_CALLS, MAX_WAITING, reserves=True, spare=SPARE)
        self._holders: dict[asyncio.Future[ClientSession], str] = {}
        """Whose share each instance of a session is counted to."""
        self._singles: dict[ClientSession, str] = {}
        """Whose share each instance of a call is counted to."""
        self._ending: list[str] = []
        """Whose instances of sessions are being ended."""
        self._pauses: dict[str, _Pause] = {}
        """The pauses by holder; that of the common instance has none."""
        self._why = ""
        self._closing: set[asyncio.Task[None]] = set()
        self.is_closed = False

    @property
    def dialogues(self) -> list[ClientSession]:
        """The open dialogues."""
        return [one for one in map(_dialogue_of, self._open.values()) if one is not None]

    @property
    def why_not_started(self) -> str:
        """The reason of the last start, where it failed; empty otherwise."""
        return self._why

    def ready(self, owner: str) -> ClientSession | None:
        """Return the dialogue of an owner if there is one that can be used at once; it counts as used."""
        key = owner if self._kind == "session" else ""
        opened = self._open.get(key)
        dialogue = _dialogue_of(opened) if opened is not None else None
        if opened is None or dialogue is None:
            return None
        if self._kind == "session":
            self._open[key] = self._open.pop(key)
        return None if dialogue.is_lost else dialogue

    def key(self, owner: str) -> str:
        """Return whose instance a session uses: its own, or empty for the common one."""
        return owner if self._kind == "session" else ""

    async def dialogue(self, owner: str, begin: Begin, holder: str = "") -> ClientSession:
        """Return the dialogue of an owner, started now if it is not there; raise Fault if it cannot be started."""
        key = self.key(owner)
        ready = self.ready(owner)
        if ready is not None:
            return ready
        opened = self._open.get(key)
        if opened is None or opened.done():
            opened = self._open[key] = self._start(key, begin, holder)
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

    async def single(self, begin: Begin, holder: str = "") -> ClientSession:
        """Return a dialogue for one call, as soon as there is a place for it; its user ends it by `close_later`."""
        self._check_pause(holder)
        await self._take(self._calls, holder)
        try:
            dialogue = await begin()
        except BaseException as error:
            self._calls.give_back(holder)
            if not isinstance(error, LinkError):
                raise
            self._failed(holder, str(error))
            raise self._no_start(str(error)) from None
        self._began(holder)
        self._singles[dialogue] = holder
        return dialogue

    def end(self, owner: str) -> None:
        """End the dialogue of a session that has ended."""
        opened = self._open.pop(self.key(owner), None) if self._kind == "session" else None
        if opened is not None:
            self._later(self._close(opened))

    def lost(self, dialogue: ClientSession) -> None:
        """Give up the place of a session whose instance has ended by itself, and the common instance if it has."""
        if dialogue is self.common:
            self.common = None
        if self._kind == "session":
            gone = [key for key, opened in self._open.items() if _dialogue_of(opened) is dialogue]
            for key in gone:
                self._later(self._close(self._open.pop(key)))

    def close_later(self, dialogue: ClientSession) -> None:
        """End the dialogue of a call without waiting for it."""
        self._later(self._close_single(dialogue))

    async def _close_single(self, dialogue: ClientSession) -> None:
        try:
            await dialogue.close()
        finally:
            holder = self._singles.pop(dialogue, None)
            if holder is not None:
                self._calls.give_back(holder)

    def _later(self, closing: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(closing)
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """End all dialogues."""
        self.is_closed = True
        opened, self._open, self.common = self._open, {}, None
        await asyncio.gather(
            *map(self._close, opened.values()), *map(self._close_single, [*self._singles]), *self._closing
        )

    def _start(self, key: str, begin: Begin, holder: str) -> asyncio.Future[ClientSession]:
        # The instance without a session is ours: it tells what the server lists.
        is_counted = self._kind == "session" and bool(key)
        whose = holder if is_counted else ""
        self._check_pause(whose)
        before, self.common = self._open.pop(key, None), None
        if before is not None:
            self._later(self._close(before))
        task = asyncio.ensure_future(self._begin_session(begin, holder) if is_counted else begin())
        if is_counted:
            self._holders[task] = holder
        task.add_done_callback(partial(self._settle, whose))
        return task

    async def _begin_session(self, begin: Begin, holder: str) -> ClientSession:
        """Begin the dialogue of a session as soon as its holder has a place for it."""
        if not self._sessions.may_have(holder):
            mine = [key for key, opened in self._open.items() if self._holders.get(opened) == holder]
            idle = next((key for key in mine if _is_idle(self._open[key])), None)
            if idle is not None:
                self._later(self._close(self._open.pop(idle)))
            elif holder not in self._ending:
                raise self._no_place(self._sessions, holder)
        await self._take(self._sessions, holder)
        try:
            return await begin()
        except BaseException:
            self._sessions.give_back(holder)
            raise

    async def _take(self, turns: FairTurns, holder: str) -> None:
        """Wait for a place; raise Fault if there is none in time, or too many wait."""
        if turns.must_wait(holder) and not turns.may_wait(holder):
            raise self._no_place(turns, holder)
        try:
            async with asyncio.timeout(PLACE_S):
                await turns.take(holder)
        except TimeoutError:
            raise self._no_place(turns, holder) from None

    def _close(self, opened: asyncio.Future[ClientSession]) -> Coroutine[Any, Any, None]:
        """Return what ends a dialogue; one that is being started is given up."""
        if not opened.done():
            opened.cancel()
        holder = self._holders.get(opened, "")
        # Now, and not when it is awaited: a newcomer of the same holder may wait for the place.
        self._ending.append(holder)
        return self._closed(opened, holder)

    async def _closed(self, opened: asyncio.Future[ClientSession], holder: str) -> None:
        """End a dialogue. Its place is free when its process has ended."""
        try:
            await _close(opened)
        finally:
            self._ending.remove(holder)
            if self._holders.pop(opened, None) is not None and _dialogue_of(opened) is not None:
                self._sessions.give_back(holder)

    def _no_place(self, turns: FairTurns, holder: str) -> Fault:
        """Return the fault of a newcomer that finds no room."""
        mine = turns.of(holder)
        message = (
            f"{turns.held} processes of the server {self._name} are in use, {mine} of them are yours: "
            "end a session or wait for a call, then try again"
        )
        data = {"retryable": True, "retryAfterMs": RETRY_S * 1000, "retry_after_seconds": RETRY_S}
        return Fault(Code.INTERNAL_ERROR, message, name=TOO_MANY_PROCESSES, status=503, as_tool_result=False, data=data)

    def _settle(self, whose: str, started: asyncio.Future[ClientSession]) -> None:
        error = None if started.cancelled() else started.exception()
        if _dialogue_of(started) is None:
            self._holders.pop(started, None)
            for key in [key for key, opened in self._open.items() if opened is started]:
                del self._open[key]
        if error is not None and not (isinstance(error, Fault) and error.name == TOO_MANY_PROCESSES):
            self._failed(whose, str(error))
        elif error is None and not started.cancelled():
            self._began(whose)
            if self._kind == "shared" and self._open.get("") is started and not started.result().is_lost:
                self.common = started.result()

    def _began(self, holder: str) -> None:
        self._pauses.pop(holder, None)
        self._why = ""

    def _failed(self, holder: str, why: str) -> None:
        before = self._pauses.pop(holder, None)
        length_s = FIRST_PAUSE_S if before is None else min(LONGEST_PAUSE_S, before.length_s * 2)
        if len(self._pauses) >= MAX_PAUSES:
            del self._pauses[next(iter(self._pauses))]
        self._pauses[holder] = _Pause(length_s, asyncio.get_running_loop().time() + length_s, why)
        self._why = why

    def _check_pause(self, holder: str) -> None:
        if self.is_closed:
            raise Fault(Code.INTERNAL_ERROR, f"{self._name} is being ended", as_tool_result=False)
        pause = self._pauses.get(holder)
        left_s = pause.until_s - asyncio.get_running_loop().time() if pause is not None else 0.0
        if pause is not None and left_s > 0:
            raise self._no_start(f"{pause.why}; the next try is in {left_s:.0f} s")

    def _no_start(self, why: str) -> Fault:
        message = f"the server {self._name} does not start: {why}"
        return Fault(Code.INTERNAL_ERROR, message, name="SERVER_NOT_STARTED", status=502, as_tool_result=False)


def _is_idle(opened: asyncio.Future[ClientSession]) -> bool:
    """Return whether no caller waits for a dialogue."""
    if not opened.done():
        return False
    has_failed = opened.cancelled() or opened.exception() is not None
    return has_failed or all(one.request is None for one in opened.result().exchanges.values())


def _dialogue_of(opened: asyncio.Future[ClientSession]) -> ClientSession | None:
    """Return the dialogue of a start that has ended well."""
    is_open = opened.done() and not opened.cancelled() and opened.exception() is None
    return opened.result() if is_open else None


async def _close(opened: asyncio.Future[ClientSession]) -> None:
    try:
        dialogue = await opened
    except (LinkError, Fault, asyncio.CancelledError):
        return
    await dialogue.close()
