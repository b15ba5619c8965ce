"""The HTTP sessions of the handshake era, where wrapped servers are served: who holds one, how many, and their end.

A session is bound to the principal that opened it. An idle one ends after a time, or makes room: when there are too
many, that of the principal or address with the most sessions which was not used for the longest time.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Awaitable
from time import monotonic
from typing import Final

import msgspec

from signet.kernel.caller import Caller
from signet.kernel.channel import Session
from signet.kernel.errors import INTERNAL
from signet.kernel.wire import Id, Reply, ResponseId, failure

from .event_log import Budget, EventLog
from .exchanges import broken

__all__ = ["STANDING", "CallStream", "HttpSession", "SessionLimits", "SessionTable"]

STANDING: Final = "0"
"""The name of the stream that GET opens."""
SWEPT_AT_ONCE: Final = 64
ENDING_S: Final = 1.0


class SessionLimits(msgspec.Struct, frozen=True):
    """The limits of all sessions of a server, in numbers and seconds."""

    sessions: int = 4_096
    per_owner: int = 1_024
    idle_s: float = 1_800.0
    kept_s: float = 60.0
    """How long a stream without a reader is kept, and the call that it belongs to goes on."""
    streams: int = 256
    """The streams of one session: calls in flight, and those that are kept."""
    standing: int = 2_048
    """The standing streams that are open at once; each holds a connection."""
    standing_per_owner: int = 512
    sweep_s: float = 5.0


class CallStream:
    """A call of a session, and the stream of its messages."""

    def __init__(self, name: str, budget: Budget, holder: str) -> None:
        self.name = name
        self.log = EventLog(name, budget, holder)
        self.id: ResponseId = None
        """The id of the request."""
        self.task: asyncio.Future[Reply] | None = None
        self.reply: Reply | None = None
        """None until the call has ended, and if it was cancelled."""
        self.is_streamed = False
        """Whether its client takes the reply from the log, so that it is kept nowhere else."""
        self.unread_since_s = monotonic()
        """The time since which nobody reads it; not to be looked at while somebody does."""

    def start(self, reply: Awaitable[Reply], request_id: ResponseId) -> None:
        """Begin to await the reply, which ends the stream; a call that is cancelled gets none."""
        self.id = request_id
        self.task = asyncio.ensure_future(reply)
        self.task.add_done_callback(self._finish)

    async def ended(self) -> None:
        """Wait for the end of the call."""
        if self.task is not None:
            await asyncio.wait({self.task})

    @property
    def is_running(self) -> bool:
        """Return whether the call has not ended."""
        return self.task is not None and not self.task.done()

    def cancel(self) -> None:
        """Cancel the call; not at once, since it has to start before it can be cancelled."""
        if self.is_running and self.task is not None:
            asyncio.get_running_loop().call_soon(self.task.cancel)

    def drop(self) -> None:
        """Cancel the call, and keep nothing."""
        self.cancel()
        self.log.forget()

    def _finish(self, task: asyncio.Future[Reply]) -> None:
        if not task.cancelled():
            error = task.exception()
            if isinstance(error, Exception):
                fault = broken(error)
                self.reply = failure(self.id, INTERNAL, fault.message, {"canonical_code": fault.code})
            elif error is None:
                self.reply = task.result()
        # The task would keep the reply as long as the stream is kept.
        self.task = None
        self.log.end(self.reply.body if self.reply is not None else None)
        if self.is_streamed:
            self.let_go()

    def stream(self) -> None:
        """Note that the client takes the reply from the log."""
        self.is_streamed = True
        self.let_go()

    def let_go(self) -> None:
        """Keep what is written down of the reply, and not the reply."""
        reply = self.reply
        if reply is not None:
            outcome = reply.outcome.without_result() if reply.outcome is not None else None
            self.reply = msgspec.structs.replace(reply, body=b"", parts=(), outcome=outcome)


class HttpSession:
    """One session."""

    def __init__(self, owner: str, principal: str | None, budget: Budget, holder: str = "") -> None:
        self.owner = owner
        """What it is counted by: the principal, or the address if nobody has to say who they are."""
        self.principal = principal
        self.holder = holder
        """Whose share of the unread answers its events are of."""
        self.standing = EventLog(STANDING, budget, holder, is_awaited=False)
        name = secrets.token_urlsafe(24)
        self.agreement = Session(id=name, principal=principal, holder=holder, notify=self.standing.push)
        self.streams: dict[str, CallStream] = {}
        """By name, in the order in which they began."""
        self.used_s = monotonic()
        self.is_over = False
        self._budget = budget
        self._calls: dict[ResponseId, set[CallStream]] = {}
        self._names = 0

    @property
    def is_idle(self) -> bool:
        """Return whether the client has no stream open and no call in flight."""
        return not self.standing.has_reader and not self._calls

    def new_stream(self, limit: int) -> CallStream | None:
        """Return the stream of a new call; None if there are too many calls in flight."""
        if len(self.streams) >= limit:
            ended = next((name for name, stream in self.streams.items() if not stream.is_running), None)
            if ended is None:
                return None
            self.streams.pop(ended).drop()
        self._names += 1
        return CallStream(str(self._names), self._budget, self.holder)

    def keep(self, stream: CallStream) -> None:
        """Keep the stream of a call that has begun, until it is swept."""
        self.streams[stream.name] = stream
        self._calls.setdefault(stream.id, set()).add(stream)
        if stream.task is not None:
            stream.task.add_done_callback(lambda _: self._forget_call(stream))

    def cancel(self, request_id: Id) -> None:
        """Cancel a call: its client asks for it."""
        for stream in self._calls.get(request_id, ()):
            stream.cancel()

    def sweep(self, before_s: float) -> None:
        """Drop the streams that nobody has read since a time; their calls are cancelled."""
        for name, stream in list(self.streams.items()):
            if not stream.log.has_reader and stream.unread_since_s < before_s:
                stream.drop()
                del self.streams[name]

    def end(self) -> None:
        """End all streams and calls, and tell those who keep something for the session."""
        if self.is_over:
            return
        self.is_over = True
        self.standing.forget()
        for stream in self.streams.values():
            stream.drop()
        self.streams.clear()
        self.agreement.notify = None
        for tell in self.agreement.on_end:
            asyncio.get_running_loop().call_soon(tell)

    def _forget_call(self, stream: CallStream) -> None:
        calls = self._calls.get(stream.id, set())
        calls.discard(stream)
        if not calls:
            self._calls.pop(stream.id, None)


_Sessions = OrderedDict[str, HttpSession]


class SessionTable:
    """All sessions of one server."""

    def __init__(self, limits: SessionLimits | None = None) -> None:
        self.limits = limits or SessionLimits()
        self._sessions: _Sessions = OrderedDict()
        self._by_owner: dict[str, _Sessions] = {}
        """Both in the order of their last use."""
        self._budget = Budget()
        self._sweeping: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        """Return the number of sessions."""
        return len(self._sessions)

    def open(self, caller: Caller, network: str = "") -> HttpSession | None:
        """Return a new session, for which another may have to make room; None if all are in use."""
        owner = network or caller.address if caller.key is None else f"principal {caller.key}"
        mine = self._by_owner.get(owner, OrderedDict())
        if len(mine) >= self.limits.per_owner:
            has_room = self._make_room(mine)
        elif len(self._sessions) >= self.limits.sessions:
            # Of those with as many, the newcomer's own come first: it is to make room itself.
            rank = sorted(self._by_owner.items(), key=lambda one: (len(one[1]), one[0] == owner), reverse=True)
            has_room = any(self._make_room(sessions) for _, sessions in rank)
        else:
            has_room = True
        if not has_room:
            return None
        session = HttpSession(owner, caller.key, self._budget, caller.holder)
        self._sessions[session.agreement.id] = session
        self._by_owner.setdefault(owner, OrderedDict())[session.agreement.id] = session
        if self._sweeping is None:
            self._sweeping = asyncio.get_running_loop().call_later(self.limits.sweep_s, self._sweep)
        return session

    def find(self, session_id: str, caller: Caller) -> HttpSession | None:
        """Return a session that a caller may use, which counts as used; None if there is none."""
        session = self._sessions.get(session_id)
        if session is None or session.principal != caller.key:
            return None
        self._touch(session)
        return session

    def may_stand(self, session: HttpSession) -> bool:
        """Return whether one more standing stream may be open, for a session that has none."""
        if session.standing.has_reader:
            return True
        mine = self._by_owner.get(session.owner, OrderedDict())
        limits = self.limits
        return _readers(mine) < limits.standing_per_owner and _readers(self._sessions) < limits.standing

    def end(self, session: HttpSession) -> None:
        """End a session."""
        self._sessions.pop(session.agreement.id, None)
        mine = self._by_owner.get(session.owner, OrderedDict())
        mine.pop(session.agreement.id, None)
        if not mine:
            self._by_owner.pop(session.owner, None)
        session.end()

    async def close(self) -> None:
        """End all sessions, and wait a short time for their calls to end."""
        if self._sweeping is not None:
            self._sweeping.cancel()
            self._sweeping = None
        calls = [stream.task for session in self._sessions.values() for stream in session.streams.values()]
        for session in list(self._sessions.values()):
            self.end(session)
        running = [task for task in calls if task is not None and not task.done()]
        if running:
            await asyncio.wait(running, timeout=ENDING_S)

    def _touch(self, session: HttpSession) -> None:
        """Note that a session is used now."""
        session.used_s = monotonic()
        self._sessions.move_to_end(session.agreement.id)
        self._by_owner[session.owner].move_to_end(session.agreement.id)

    def _make_room(self, candidates: _Sessions) -> bool:
        idle = next((session for session in candidates.values() if session.is_idle), None)
        if idle is not None:
            self.end(idle)
        return idle is not None

    def _sweep(self) -> None:
        """Begin to drop what nobody came back for."""
        self._sweep_some(list(self._sessions.values()), 0)

    def _sweep_some(self, sessions: list[HttpSession], at: int) -> None:
        """Look at some sessions, then let others have their turn; look again later if there are sessions left."""
        now = monotonic()
        for session in sessions[at : at + SWEPT_AT_ONCE]:
            session.sweep(now - self.limits.kept_s)
            if not session.is_idle and not session.is_over:
                self._touch(session)
            elif session.used_s < now - self.limits.idle_s:
                self.end(session)
        loop, at = asyncio.get_running_loop(), at + SWEPT_AT_ONCE
        self._sweeping = None
        if at < len(sessions):
            self._sweeping = loop.call_later(0, self._sweep_some, sessions, at)
        elif self._sessions:
            self._sweeping = loop.call_later(self.limits.sweep_s, self._sweep)


def _readers(sessions: _Sessions) -> int:
    return sum(session.standing.has_reader for session in sessions.values())
