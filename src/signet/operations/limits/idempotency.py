"""The gate of idempotency keys: a call that its client names is run once, and answered as often as it is made.

The same key with the same call has the same answer, for a day. What may end otherwise the next time is not kept: a
failure of the server, a refusal for now, a call that its client left.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from hashlib import sha256
from typing import Any, Final

import msgspec

from signet.kernel.caller import caller_of
from signet.kernel.errors import IDEMPOTENCY_CONFLICT, IDEMPOTENCY_NOT_KEPT, Code, Fault, rate_limited
from signet.kernel.gate import Entry
from signet.kernel.outcome import Call, Outcome
from signet.kernel.tools import Tool
from signet.kernel.wire import decode_in_chunks
from signet.operations.store.store import Kept, Store, StoreError

from .outage import Outage
from .unsaved import UnsavedAnswers

__all__ = ["KEEP_S", "MAX_BODY_BYTES", "IdempotencyGate"]

KEEP_S: Final = 86_400.0
MAX_BODY_BYTES: Final = 262_144
"""The largest result that is kept."""
MARGIN_S: Final = 30.0
"""The time beyond that of a call after which whoever ran it is taken for dead."""
MAX_WAITING: Final = 256
"""The number of calls that may wait for another one with the same key."""
FIRST_PAUSE_S: Final = 0.01
MAX_PAUSE_S: Final = 0.25
RETRY_S: Final = 1.0
KEPT_CODES: Final = frozenset({Code.INVALID_INPUT, Code.NOT_FOUND})
"""The faults that the same call would have again."""

_encode: Final = msgspec.json.Encoder(order="sorted").encode


class _Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is kept of an outcome."""

    body: bytes | None = None
    """The result as JSON; None for a fault, and for a result that is too large."""
    fault: dict[str, Any] | None = None
    ignored: tuple[str, ...] = ()


class _Runner:
    """The right to run the call of a key, and the duty to keep its answer."""

    def __init__(self, gate: IdempotencyGate, key: str, digest: str, name: str) -> None:
        self._gate = gate
        self._key = key
        self._digest = digest
        self._name = name

    def leave(self, outcome: Outcome | None) -> Awaitable[None] | None:
        """Keep the answer, or let the next call with the key run."""
        answer = _answer_of(outcome) if outcome is not None else None
        body = msgspec.msgpack.encode(answer) if answer is not None else None
        return self._gate.finish(self._key, self._digest, self._name, body)


class IdempotencyGate:
    """Answers a call whose key is known, and notes the key of one that is not."""

    def __init__(
        self,
        store: Store,
        outage: Outage,
        timeout_s: float,
        *,
        denies: bool = False,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        on_first: Callable[[], None] = lambda: None,
    ) -> None:
        """Keep answers in a store; `denies` is whether a call with a key is refused while the store is away.

        `on_first` is called by the first call with a key.
        """
        self._store = store
        self._outage = outage
        self._timeout_s = timeout_s
        self._denies = denies
        self._sleep = sleep
        self._on_first: Callable[[], None] | None = on_first
        self._unsaved = UnsavedAnswers(store, sleep)
        self._runs: dict[str, str] = {}
        """The digests of the calls that run here, by their keys; until their ends are told, or put off."""
        self._waiting = 0

    def enter(self, call: Call, tool: Tool) -> Awaitable[Entry] | None:
        """Return an awaitable of the kept answer, a fault or the right to run the call; None for a call without key."""
        return self._enter(call, tool) if call.idempotency_key else None

    def finish(self, key: str, digest: str, runner: str, body: bytes | None) -> Awaitable[None] | None:
        """Tell the store how a call has ended, now or as soon as it is back."""
        try:
            finished = self._store.finish(key, digest, runner, body, KEEP_S)
        except StoreError as error:
            self._put_off(key, digest, runner, body, error)
            finished = None
        if finished is not None:
            return self._await(finished, key, digest, runner, body)
        self._runs.pop(key, None)
        return None

    async def _await(self, finished: Awaitable[None], key: str, digest: str, runner: str, body: bytes | None) -> None:
        try:
            await finished
        except StoreError as error:
            self._put_off(key, digest, runner, body, error)
        except asyncio.CancelledError:
            self._put_off(key, digest, runner, body)
            raise
        finally:
            self._runs.pop(key, None)

    def _put_off(self, key: str, digest: str, runner: str, body: bytes | None, error: StoreError | None = None) -> None:
        if error is not None:
            self._outage.begin(error, denies=False)
        self._unsaved.add(key, digest, runner, body, KEEP_S if body is not None else self._timeout_s + MARGIN_S)

    async def _enter(self, call: Call, tool: Tool) -> Entry:
        on_first, self._on_first = self._on_first, None
        if on_first is not None:
            on_first()
        key, digest, runner = _key_of(call), _digest(tool.slug, call.arguments), os.urandom(8).hex()
        unsaved = self._unsaved.find(key)
        if unsaved is not None and unsaved.body is None:
            # The store may still take the last one for running: this one runs in its place.
            runner = unsaved.runner
            self._unsaved.drop(key)
        try:
            kept = await self._settled(key, digest, runner)
        except StoreError as error:
            refused = self._outage.begin(error, denies=self._denies)
            if refused is not None:
                self._put_off(key, digest, runner, None)
                return refused
            # The store may have noted the call without an answer, and is to learn how it ended.
            kept = Kept("new")
        except asyncio.CancelledError:
            self._put_off(key, digest, runner, None)
            raise
        if kept.state != "new":
            return self._known(call, tool, kept)
        self._runs[key] = digest
        return _Runner(self, key, digest, runner)

    def _known(self, call: Call, tool: Tool, kept: Kept) -> Outcome | Fault:
        """Return what is said to a call whose key is not new."""
        if kept.state == "conflict":
            message = "The idempotency key belongs to another call: send a new key with new arguments"
            return _refused(IDEMPOTENCY_CONFLICT, message)
        if kept.state == "running":
            message = "A call with the same idempotency key still runs: wait 1 s, then make the same call again"
            return rate_limited(message, RETRY_S)
        return _revived(call, tool, kept.body)

    async def _settled(self, key: str, digest: str, runner: str) -> Kept:
        """Return the state of a key; where its call runs, wait for the end of it, within the time of a call.

        Raises:
            StoreError: the store cannot be asked, and nothing is known of the key.
        """
        kept = await self._begin(key, digest, runner)
        if kept.state != "running" or self._waiting >= MAX_WAITING:
            return kept
        left_s, pause_s = self._timeout_s, FIRST_PAUSE_S
        self._waiting += 1
        try:
            while kept.state == "running" and left_s > 0:
                await self._sleep(min(pause_s, left_s))
                left_s, pause_s = left_s - pause_s, min(pause_s * 2, MAX_PAUSE_S)
                # While the store cannot be asked, the call that ran is taken to run.
                with suppress(StoreError):
                    kept = await self._begin(key, digest, runner)
        finally:
            self._waiting -= 1
        return kept

    async def _begin(self, key: str, digest: str, runner: str) -> Kept:
        if (known := self._unsaved_state(key, digest)) is not None:
            return known
        try:
            kept = self._store.begin(key, digest, runner, self._timeout_s + MARGIN_S)
            kept = kept if isinstance(kept, Kept) else await kept
        except StoreError:
            if (known := self._unsaved_state(key, digest)) is not None:
                return known
            if (running := self._runs.get(key)) is None:
                raise
            return Kept("running" if running == digest else "conflict")
        self._outage.end()
        return kept

    def _unsaved_state(self, key: str, digest: str) -> Kept | None:
        """Return the state of a key whose answer this process has and the store has not."""
        unsaved = self._unsaved.find(key)
        if unsaved is None or unsaved.body is None:
            return None
        return Kept("done", unsaved.body) if unsaved.digest == digest else Kept("conflict")


def _key_of(call: Call) -> str:
    """Return the store's name for a key: no caller can name the key of another."""
    caller = call.caller
    scope, who = caller_of(caller.key, caller.address)
    return sha256(_encode([scope, who, call.idempotency_key])).hexdigest()


def _digest(slug: str, arguments: Any) -> str:
    return sha256(_encode([slug, arguments])).hexdigest()


def _refused(name: str, message: str) -> Fault:
    return Fault(Code.INVALID_INPUT, message, name=name, status=409, data={"code": name})


def _answer_of(outcome: Outcome) -> _Answer | None:
    fault = outcome.fault
    if fault is None:
        body = outcome.body if len(outcome.body) <= MAX_BODY_BYTES else None
        return _Answer(body, ignored=outcome.ignored)
    if fault.code not in KEPT_CODES:
        return None
    names = ("code", "message", "name", "status", "as_tool_result", "mcp_code", "data")
    return _Answer(fault={name: getattr(fault, name) for name in names}, ignored=outcome.ignored)


def _revived(call: Call, tool: Tool, kept: bytes) -> Outcome | Fault:
    """Return the outcome that was kept, as that of another call."""
    answer = msgspec.msgpack.decode(kept, type=_Answer)
    if answer.fault is not None:
        known = answer.fault
        fault = Fault(Code(known.pop("code")), known.pop("message"), **known)
        return Outcome(call, tool, fault=fault, ignored=answer.ignored)
    if answer.body is None:
        message = "The call of this idempotency key was made, and its answer was too large to keep: send a new key"
        return _refused(IDEMPOTENCY_NOT_KEPT, message)
    return Outcome(call, tool, decode_in_chunks(answer.body), answer.body, ignored=answer.ignored)
