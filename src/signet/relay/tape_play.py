"""One recorded exchange as it is played: its notifications, the server's requests and their answers, its reply."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, Final, Protocol

import msgspec

from signet.mcp.link import LinkError
from signet.system.canonical_json import comparable

from .tape_index import ANSWER, ASK, LISTEN, REPLY, REQUEST, Exchange, Step
from .tape_messages import SUBSCRIPTION_KEY, Head, Id, head_of, progress_token, rekeyed
from .tape_nearest import unexpected_answer

__all__ = ["Stage", "TapePlay"]

UNJUDGED: Final = frozenset({"roots/list", "ping"})
"""Requests of a server whose answers tell about the client's machine, not about what somebody decided."""


class Stage(Protocol):
    """The link on which an exchange is played."""

    async def read(self, step: Step) -> msgspec.Raw:
        """Return the message of a step."""

    def deliver(self, message: bytes) -> None:
        """Hand a message to the client."""

    def ask(self, message: msgspec.Raw, *, is_awaited: bool) -> tuple[int, asyncio.Future[Head] | None]:
        """Send a request of the server, and return its id and where the answer comes."""

    def forget(self, ask_id: int) -> None:
        """Stop waiting for an answer."""

    def branches(self, exchange: Exchange) -> list[Exchange]:
        """Return the recorded exchanges of equal requests."""

    def refuse(self, request_id: Id, error: dict[str, Any]) -> None:
        """Answer a request with an error."""


class TapePlay:
    """One exchange that is being played."""

    def __init__(self, link: Stage, head: Head, params: dict[str, Any], exchange: Exchange) -> None:
        self._link = link
        self._id = head.id
        self._token = progress_token(params)
        self._exchange = exchange
        self._given: list[bytes] = []
        """The answers of the client so far, in the order of the steps at which they were awaited."""
        self._asks: dict[int, tuple[int, asyncio.Future[Head] | None, str]] = {}
        self.is_replied = head.id is None or exchange.method == LISTEN
        """Whether the request has its reply, or waits for none."""

    async def run(self) -> None:
        """Play the steps one after the other.

        Raises:
            LinkError: no reply is recorded: to a notification, or behind the answer that the client gave.
        """
        steps = list(self._exchange.steps())
        position = 0
        try:
            while position < len(steps):
                step = steps[position]
                position += 1
                if step.kind == ANSWER:
                    if not await self._await(step):
                        return
                    steps = list(self._exchange.steps())
                    position = _after_answer(steps, len(self._given))
                elif step.kind == ASK:
                    is_awaited = any(one.kind == ANSWER and one.ask == step.ask for one in steps)
                    message = await self._link.read(step)
                    ask_id, waiting = self._link.ask(message, is_awaited=is_awaited)
                    self._asks[step.ask] = ask_id, waiting, head_of(message).method
                elif step.kind != REQUEST:
                    await self._tell(step)
            if not self.is_replied:
                raise LinkError("the tape has no reply to this request: record the call again")
        finally:
            for ask_id, _, _ in self._asks.values():
                self._link.forget(ask_id)

    async def _tell(self, step: Step) -> None:
        """Deliver a notification or the reply."""
        message: bytes | msgspec.Raw = await self._link.read(step)
        if step.kind == REPLY:
            if self._id is not None:
                self._link.deliver(rekeyed(message, "id", to=self._id))
                self.is_replied = True
            return
        method = head_of(message).method
        if method == "notifications/progress":
            if self._token is None:
                return
            message = rekeyed(message, "params", "progressToken", to=self._token)
        elif method == "notifications/cancelled":
            ask = self._asks.get(step.ask)
            message = rekeyed(message, "params", "requestId", to=ask[0] if ask is not None else 0)
        elif self._exchange.method == LISTEN:
            message = rekeyed(message, "params", "_meta", SUBSCRIPTION_KEY, to=self._id)
        self._link.deliver(bytes(message))

    async def _await(self, step: Step) -> bool:
        """Wait for the client's answer; return False after an error if nothing is recorded that follows it."""
        # Another branch may have asked before the answer that led to it: nobody is asked then, and the tape decides.
        _, waiting, method = self._asks.get(step.ask, (0, None, ""))
        recorded = _told(head_of(await self._link.read(step)))
        given = recorded if waiting is None else _told(await waiting)
        if method in UNJUDGED:
            given = recorded
        self._given.append(given)
        if given == recorded or self.is_replied:
            return True
        others = [recorded]
        for branch in self._link.branches(self._exchange):
            told = [_told(head_of(await self._link.read(one))) for one in branch.steps() if one.kind == ANSWER]
            if told[: len(self._given)] == self._given:
                self._exchange = branch
                return True
            if len(told) >= len(self._given) and told[: len(self._given) - 1] == self._given[:-1]:
                others.append(told[len(self._given) - 1])
        distinct = [msgspec.json.decode(one) for one in dict.fromkeys(others)]
        if self._id is not None:
            self._link.refuse(self._id, unexpected_answer(method, msgspec.json.decode(given), distinct))
        return False


def _after_answer(steps: list[Step], count: int) -> int:
    """Return the position after so many answers."""
    for position, step in enumerate(steps):
        count -= step.kind == ANSWER
        if count == 0:
            return position + 1
    return len(steps)


def _told(answer: Head) -> bytes:
    """Return what an answer says, in a form in which equal answers are equal; of an error, its code."""
    if isinstance(answer.error, msgspec.Raw):
        with contextlib.suppress(ValueError):
            return comparable({"error": msgspec.json.decode(answer.error, type=dict[str, Any]).get("code")})
    value = msgspec.json.decode(answer.result) if isinstance(answer.result, msgspec.Raw) else None
    if isinstance(value, dict):
        value = {name: one for name, one in value.items() if name != "_meta"}
    return comparable(value)
