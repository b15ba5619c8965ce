"""The gate of idempotency keys: a call that its client names is run once, and answered as often as it is made.

The same key with the same call has the same answer, for a day. What may end otherwise the next time is not kept: a
failure of the server, a refusal for now, a call that its client left, a question to the client.

The answers of a caller take its share of the room. When that is used up, its own oldest are forgotten; where even those
are not enough, the call is known and its answer is not. A call that runs is never forgotten.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from hashlib import sha256
from typing import Any, Final, NamedTuple

import msgspec

from signet.kernel.caller import caller_of
from signet.kernel.errors import IDEMPOTENCY_CONFLICT, IDEMPOTENCY_FULL, IDEMPOTENCY_NOT_KEPT, Code, Fault, rate_limited
from signet.kernel.gate import Entry
from signet.kernel.outcome import Call, Outcome
from signet.kernel.repeated import KeptReply, keep_reply, repeat_reply
from signet.kernel.tools import Tool
from signet.kernel.wire import decode_in_chunks
from signet.operations.store.store import Kept, Store, StoreError
from signet.system.places import Shares

from .outage import StoreOutage
from .unsaved import UnsavedAnswers

__all__ = ["KEEP_S", "MAX_BODY_BYTES", "IdempotencyGate"]

KEEP_S: Final = 86_400.0
MAX_BODY_BYTES: Final = 262_144
"""The largest result that is kept."""
MARGIN_S: Final = 30.0
"""The time beyond that of a call after which whoever ran it is taken for dead."""
MAX_WAITING: Final = 256
"""The number of calls that may wait for another one with the same key; of each caller, a share."""
FIRST_PAUSE_S: Final = 0.01
MAX_PAUSE_S: Final = 0.25
RETRY_S: Final = 1.0
TOO_LARGE: Final = "The call of this idempotency key was made, and its answer was too large to keep: send a new key"
NO_ROOM: Final = "The call of this idempotency key was made, and there was no room to keep its answer: send a new key"
UNREADABLE: Final = "The call of this idempotency key was made, and its answer cannot be read: send a new key"
KEPT_CODES: Final = frozenset({Code.INVALID_INPUT, Code.NOT_FOUND})
"""The faults that the same call would have again."""

_encode: Final = msgspec.json.Encoder(order="sorted").encode


class _Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is kept of an outcome."""

    body: bytes | None = None
    """The result as JSON; None for a fault, and for a result that is too large."""
    fault: dict[str, Any] | None = None
    ignored: tuple[str, ...] = ()
    reply: KeptReply | None = None
    """The reply of a wrapped server, in place of a body."""


class _Run(NamedTuple):
    """One call with a key."""

    key: str
    digest: str
    runner: str
    holder: str
    """Whose share of the room its answer takes."""


class _Runner:
    """The right to run the call of a key, and the duty to keep its answer."""

    def __init__(self, gate: IdempotencyGate, run: _Run) -> None:
        self._gate = gate
        self._run = run

    def leave(self, outcome: Outcome | None) -> Awaitable[None] | None:
        """Keep the answer, or let the next call with the key run."""
        answer = _answer_of(outcome) if outcome is not None else None
        body = msgspec.msgpack.encode(answer) if answer is not None else None
        return self._gate.finish(self._run, body)


class IdempotencyGate:
    """Answers a call whose key is known, and notes the key of one that is not."""

    def __init__(
        self,
        store: Store,
        outage: StoreOutage,
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
        self._waiting = Shares("calls that wait for the answer of a key", MAX_WAITING)

    def enter(self, call: Call, tool: Tool) -> Awaitable[Entry] | None:
        """Return an awaitable of the kept answer, a fault or the right to run the call; None for a call without key."""
        return self._enter(call, tool) if call.idempotency_key else None

    def finish(self, run: _Run, body: bytes | None) -> Awaitable[None] | None:
        """Tell the store how a call has ended, now or as soon as it is back."""
        try:
            finished = self._store.finish(run.key, run.digest, run.runner, body, KEEP_S, holder=run.holder)
        except StoreError as error:
            self._put_off(run, body, error)
            finished = None
        if finished is not None:
            return self._await(finished, run, body)
        self._runs.pop(run.key, None)
        return None

    async def _await(self, finished: Awaitable[None], run: _Run, body: bytes | None) -> None:
        try:
            await finished
        except StoreError as error:
            self._put_off(run, body, error)
        except asyncio.CancelledError:
            self._put_off(run, body)
            raise
        finally:
            self._runs.pop(run.key, None)

    def _put_off(self, run: _Run, body: bytes | None, error: StoreError | None = None) -> None:
        if error is not None:
            self._outage.begin(error, denies=False)
        keep_s = KEEP_S if body is not None else self._timeout_s + MARGIN_S
        self._unsaved.add(run.key, run.digest, run.runner, body, keep_s, holder=run.holder)

    async def _enter(self, call: Call, tool: Tool) -> Entry:
        on_first, self._on_first = self._on_first, None
        if on_first is not None:
            on_first()
        run = _Run(_key_of(call), _digest(tool.slug, call.arguments), os.urandom(8).hex(), call.caller.holder)
        unsaved = self._unsaved.find(run.key)
        if unsaved is not None and unsaved.body is None:
            # The store may still take the last one for running: this one runs in its place.
            run = run._replace(runner=unsaved.runner)
            self._unsaved.drop(run.key)
        try:
            kept = await self._settled(run)
        except StoreError as error:
            refused = self._outage.begin(error, denies=self._denies)
            if refused is not None:
                self._put_off(run, None)
                return refused
            # The store may have noted the call without an answer, and is to learn how it ended.
            kept = Kept("new")
        except asyncio.CancelledError:
            self._put_off(run, None)
            raise
        if kept.state != "new":
            return self._known(call, tool, kept)
        self._runs[run.key] = run.digest
        return _Runner(self, run)

    def _known(self, call: Call, tool: Tool, kept: Kept) -> Outcome | Fault:
        """Return what is said to a call whose key is not new."""
        if kept.state == "conflict":
            message = "The idempotency key belongs to another call: send a new key with new arguments"
            return _refused(IDEMPOTENCY_CONFLICT, message)
        if kept.state == "running":
            message = "A call with the same idempotency key still runs: wait 1 s, then make the same call again"
            return rate_limited(message, RETRY_S)
        if kept.state == "full":
            message = "There is no room for another idempotency key: wait 1 s, then make the same call again"
            return Fault(Code.INTERNAL_ERROR, message, name=IDEMPOTENCY_FULL, status=503)
        if kept.state == "gone":
            return _refused(IDEMPOTENCY_NOT_KEPT, NO_ROOM)
        return _revived(call, tool, kept.body)

    async def _settled(self, run: _Run) -> Kept:
        """Return the state of a key; where its call runs, wait for the end of it, within the time of a call.

        Raises:
            StoreError: the store cannot be asked, and nothing is known of the key.
        """
        kept = await self._begin(run)
        if kept.state != "running" or not self._waiting.take(run.holder):
            return kept
        left_s, pause_s = self._timeout_s, FIRST_PAUSE_S
        try:
            while kept.state == "running" and left_s > 0:
                await self._sleep(min(pause_s, left_s))
                left_s, pause_s = left_s - pause_s, min(pause_s * 2, MAX_PAUSE_S)
                # While the store cannot be asked, the call that ran is taken to run.
                with suppress(StoreError):
                    kept = await self._begin(run)
        finally:
            self._waiting.give_back(run.holder)
        return kept

    async def _begin(self, run: _Run) -> Kept:
        key, digest, runner, holder = run
        if (known := self._unsaved_state(key, digest)) is not None:
            return known
        try:
            kept = self._store.begin(key, digest, runner, self._timeout_s + MARGIN_S, holder=holder)
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
    fault, relayed = outcome.fault, outcome.relayed
    if fault is not None and fault.code not in KEPT_CODES:
        return None
    reply = None if relayed is None else keep_reply(relayed)
    if relayed is not None and reply is None:
        return None
    size = len(outcome.body) if reply is None else len(reply.body) + len(reply.other)
    if size > MAX_BODY_BYTES:
        return _Answer(ignored=outcome.ignored)
    if fault is None:
        return _Answer(outcome.body if reply is None else None, ignored=outcome.ignored, reply=reply)
    names = ("code", "message", "name", "status", "as_tool_result", "mcp_code", "data")
    kept = {name: getattr(fault, name) for name in names}
    return _Answer(fault=kept, ignored=outcome.ignored, reply=reply)


def _revived(call: Call, tool: Tool, kept: bytes) -> Outcome | Fault:
    """Return the outcome that was kept, as that of another call."""
    try:
        answer = msgspec.msgpack.decode(kept, type=_Answer)
    except msgspec.DecodeError:
        # Another version of Signet may have written it.
        return _refused(IDEMPOTENCY_NOT_KEPT, UNREADABLE)
    fault = None
    if answer.fault is not None:
        known = answer.fault
        fault = Fault(Code(known.pop("code")), known.pop("message"), **known)
    if answer.reply is not None:
        relayed, body = repeat_reply(answer.reply)
        result = None if relayed.structured is None else decode_in_chunks(relayed.structured)
        return Outcome(call, tool, result, body, fault, ignored=answer.ignored, relayed=relayed)
    if fault is not None:
        return Outcome(call, tool, fault=fault, ignored=answer.ignored)
    if answer.body is None:
        return _refused(IDEMPOTENCY_NOT_KEPT, TOO_LARGE)
    return Outcome(call, tool, decode_in_chunks(answer.body), answer.body, ignored=answer.ignored)
