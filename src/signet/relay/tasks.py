"""Whose the tasks of a server are that several callers share: to that server all of them are one client.

a call whose result is a task ── the task belongs to the caller's principal, else its session, else its address
tasks/get, result, cancel, … ─── of somebody else's: as of a task that was never there; the server is not asked
tasks/list ───────────────────── all pages of the server, and of those the caller's own
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Final

import msgspec
from msgspec import Raw

from signet.kernel.errors import INVALID_PARAMS, METHOD_NOT_FOUND, rate_limited
from signet.kernel.wire import encode
from signet.mcp.lists import page_params
from signet.mcp.messages import error_object, members, text_of, value_of
from signet.mcp.session import Answer
from signet.mcp.snapshot import next_cursor
from signet.system.places import Shares

__all__ = ["Tasks", "task_named"]

MAX_TASKS: Final = 4096
MAX_OF_ONE: Final = 256
"""The tasks of one holder. The sessions of one address are several holders and have one share of all tasks."""
MAX_ID_CHARS: Final = 256
"""A longer id is known by its digest."""
MAX_KEPT_S: Final = 86_400.0
"""How long the owner of a task is known at most, whatever its server says of its time to live."""
LIST_S: Final = 10.0
MAX_PAGES: Final = 100
RETRY_S: Final = 60.0
ENDED: Final = frozenset({"completed", "failed", "cancelled"})
RELATED: Final = "io.modelcontextprotocol/related-task"
UNKNOWN: Final = Answer(error=Raw(error_object(INVALID_PARAMS, "Invalid params: there is no such task")))
NO_TASKS: Final = Answer(error=Raw(error_object(METHOD_NOT_FOUND, "Method not found")))
ONE_PAGE: Final = Answer(
    error=Raw(error_object(INVALID_PARAMS, "Invalid params: there is one page, ask for it without a cursor"))
)

Ask = Callable[[Raw], Awaitable[Answer]]


class _Task(msgspec.Struct, eq=False):
    holder: str
    share: str
    ends_s: float
    has_ended: bool = False


class Tasks:
    """The tasks of one server, and who holds each."""

    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        self._now = now
        self._tasks: dict[str, _Task] = {}
        self._shares = Shares("tasks of wrapped servers", MAX_TASKS)
        self._of: dict[str, dict[str, None]] = {}
        """The tasks of each holder, the oldest first."""

    def check_room(self, holder: str, share: str = "") -> None:
        """Raise Fault if a holder may begin no further task; `share` is whose share it uses, where that is another."""
        share = share or holder
        if not (self._has_room(holder, share) or self._makes_room(holder, share)):
            message = f"You have {self._shares.of(share)} tasks that have not ended: wait for one, or cancel it"
            raise rate_limited(message, RETRY_S)

    def begun(self, holder: str, result: Raw | bytes, share: str = "") -> bool:
        """Note the holder of the task that a result tells of; return False if the holder may have no further task."""
        share = share or holder
        told = _told(result)
        name = _key(told.get("taskId"))
        if not name:
            return True
        self._drop(name)  # a server that began anew may give an id again
        if not (self._has_room(holder, share) or self._makes_room(holder, share)):
            return False
        self._shares.hold(share)
        self._of.setdefault(holder, {})[name] = None
        self._tasks[name] = _Task(holder, share, self._now() + _ttl_s(told.get("ttl")))
        self.noted(result)
        return True

    def noted(self, told: Raw | bytes | None) -> None:
        """Note the state that a server tells of a task."""
        parts = _told(told)
        task = self._tasks.get(_key(parts.get("taskId")))
        if task is not None and text_of(parts.get("status")) in ENDED:
            task.has_ended = True

    def holder_of(self, named: Raw | None) -> str | None:
        """Return the holder of the task with this id, or None."""
        task = self._tasks.get(_key(named))
        return task.holder if task is not None and task.ends_s > self._now() else None

    def holder_asked(self, params: Raw) -> str | None:
        """Return who holds the task for which a server asks something; None if it does not say, or says a wrong one."""
        related = members(members(params).get("_meta")).get(RELATED)
        return (self.holder_of(members(related).get("taskId")) or "") if related is not None else None

    async def answer(self, method: str, raw: Raw, holder: str, capabilities: Raw | None, ask: Ask) -> Answer:
        """Return the answer to a request about tasks."""
        if method == "tasks/list":
            if "tasks" not in members(capabilities):
                return NO_TASKS
            return ONE_PAGE if "cursor" in members(raw) else await self._list(holder, ask)
        if self.holder_of(members(raw).get("taskId")) != holder:
            return UNKNOWN
        answer = await ask(raw)
        if method != "tasks/result":
            self.noted(answer.result)
        return answer

    async def _list(self, holder: str, ask: Ask) -> Answer:
        """Return the tasks of a holder, from as many pages of the server as are needed to see them all."""
        now_s = self._now()
        wanted = {name for name in self._of.get(holder, ()) if self._tasks[name].ends_s > now_s}
        found: list[Raw] = []
        cursor: Raw | None = None
        async with asyncio.timeout(LIST_S):
            for _ in range(MAX_PAGES if wanted else 0):
                answer = await ask(page_params(cursor))
                if answer.result is None:
                    return answer
                parts = members(answer.result)
                for one in msgspec.json.decode(parts.get("tasks", b"[]"), type=list[Raw]):
                    name = _key(members(one).get("taskId"))
                    if name in wanted:
                        wanted.discard(name)
                        self.noted(one)
                        found.append(one)
                cursor = next_cursor(parts)
                if not wanted or cursor is None:
                    break
        return Answer(Raw(encode({"tasks": found})))

    def forget(self, holder: str) -> None:
        """Forget all tasks of a holder that is gone."""
        for name in [*self._of.get(holder, ())]:
            self._drop(name)

    def _has_room(self, holder: str, share: str) -> bool:
        return len(self._of.get(holder, ())) < MAX_OF_ONE and self._shares.has_room(share)

    def _makes_room(self, holder: str, share: str) -> bool:
        """Forget all tasks whose time is over, and the oldest that has ended of a share; return whether there is room.

        Where the holder has too many, it is the oldest of the holder that goes.
        """
        now_s = self._now()
        for name in [name for name, task in self._tasks.items() if task.ends_s <= now_s]:
            self._drop(name)
        if not self._has_room(holder, share):
            is_holders = len(self._of.get(holder, ())) >= MAX_OF_ONE
            mine = self._of[holder] if is_holders else self._tasks
            ended = (name for name in mine if self._tasks[name].share == share and self._tasks[name].has_ended)
            self._drop(next(ended, ""))
        return self._has_room(holder, share)

    def _drop(self, name: str) -> None:
        task = self._tasks.pop(name, None)
        if task is not None:
            self._shares.give_back(task.share)
            mine = self._of[task.holder]
            del mine[name]
            if not mine:
                del self._of[task.holder]


def task_named(result: Raw | bytes | None) -> str:
    """Return the id of the task that a result tells of."""
    return text_of(_told(result).get("taskId"))


def _told(result: Raw | bytes | None) -> dict[str, Raw]:
    """Return the members of a task, which may stand in a result of its own or be the result."""
    parts = members(result)
    return members(parts.get("task")) or parts


def _key(named: Raw | None) -> str:
    """Return the key of a task; empty without an id."""
    name = text_of(named)
    if len(name) <= MAX_ID_CHARS:
        return name
    from hashlib import sha256

    return f"sha256 {sha256(name.encode()).hexdigest()}"


def _ttl_s(raw: Raw | None) -> float:
    value = value_of(raw)
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
    return min(value / 1000, MAX_KEPT_S) if is_number else MAX_KEPT_S
