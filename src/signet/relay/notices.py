"""What servers say by themselves, brought to the clients whom it concerns: progress, log messages, changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw

from signet.kernel.channel import Session
from signet.kernel.relay import RpcRequest
from signet.kernel.wire import encode
from signet.mcp.messages import members, notification, on_one_line
from signet.mcp.session import ClientSession
from signet.mcp.snapshot import Snapshot
from signet.system.places import Shares

from .attribution import holder_of, holder_of_session, owner_of_session
from .catalogue import Catalogue
from .conversation import LEVELS
from .subscriptions import LIST_CHANGES, Listener, Subscriptions, SubscriptionShares
from .tasks import Tasks
from .wrapped_server import WrappedServer

__all__ = ["Notices"]

EMPTY: Final = Raw(b"{}")
CHANGE_PAUSE_S: Final = 0.2
"""How long a server may go on changing its lists before they are read again."""
MAX_AGREEMENT_BYTES: Final = 64 << 10
"""The size of what a client may say of itself: its capabilities, its name, its icons."""
MAX_AGREEMENTS_BYTES: Final = 16 << 20
"""The size of what the clients of all sessions say of themselves; as Python values it takes some ten times that."""
LONGEST_PAUSE_S: Final = 10.0
"""The longest pause between two readings of a server that changes its lists all the time."""


class _Changes(msgspec.Struct, eq=False):
    """The changes that one instance has told of and that its callers have not heard of yet."""

    methods: set[str] = msgspec.field(default_factory=set)
    pause_s: float = CHANGE_PAUSE_S


class Notices:
    """Tells clients what servers say outside of any reply."""

    catalogue: Catalogue
    """What the servers list; set before anybody is told anything."""

    def __init__(self, log: Callable[..., None]) -> None:
        self._log = log
        self._sessions: dict[int, Session] = {}
        self._subscriptions: dict[str, Subscriptions] = {}
        self._listeners: dict[int, Mapping[str, Listener]] = {}
        """The listeners of each session, by the name of the server."""
        self.shares = SubscriptionShares()
        self._agreements = Shares("session agreements", MAX_AGREEMENTS_BYTES)
        self._changes: dict[ClientSession, _Changes] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    def sessions(self) -> list[Session]:
        """Return the sessions of clients that can be told something at any time."""
        return list(self._sessions.values())

    def sessions_of(self, dialogue: ClientSession) -> list[Session]:
        """Return the sessions that share an instance, or the one whose own it is."""
        return [one for one in self._sessions.values() if dialogue.owner in (None, owner_of_session(one))]

    def open_session(self, session: Session, owner: str) -> None:
        """Tell a session of changes from now on, until it ends."""
        if id(session) in self._sessions or session.notify is None:
            return
        self._sessions[id(session)] = session
        listeners = {
            name: Listener(session.notify, lists=frozenset(LIST_CHANGES), owner=owner, holder=session.holder)
            for name in [one.name for one in self.catalogue.servers]
        }
        self._listeners[id(session)] = listeners
        for name, listener in listeners.items():
            self.subscriptions_of(name).add(listener)
        session.on_end.append(partial(self._end_session, session, owner, listeners))
        for server in self.catalogue.servers:
            self.sync(server)

    def _end_session(self, session: Session, owner: str, listeners: Mapping[str, Listener]) -> None:
        self._sessions.pop(id(session), None)
        self._listeners.pop(id(session), None)
        is_last = all(one.holder != session.holder for one in self._sessions.values())
        for server in self.catalogue.servers:
            listener = listeners[server.name]
            self.subscriptions_of(server.name).remove(listener)
            self.shares.give_back(listener, listener.uris)
            listener.uris.clear()
            for dialogue in server.pool.dialogues if is_last else ():
                dialogue.quiet.forget(session.holder)
            server.conversations.levels.pop(owner, None)
            server.conversations.asker.end(session.id)
            if server.tasks is not None and session.principal is None:
                server.tasks.forget(holder_of_session(session))
            self.sync(server)
            server.pool.end(owner)

    def agree(self, session: Session, size: int) -> str:
        """Count what a client says of itself until its session ends; return why it may not be kept, or nothing."""
        if size > MAX_AGREEMENT_BYTES:
            return f"the params of initialize have more than {MAX_AGREEMENT_BYTES} bytes"
        if not self._agreements.take(session.holder, size):
            return "all places for sessions are taken: end some, or try again later"
        session.on_end.append(partial(self._agreements.give_back, session.holder, size))
        return ""

    def is_open(self, session: Session) -> bool:
        """Return whether a session wants notifications of changes, and has not ended."""
        return id(session) in self._sessions

    def listeners_of(self, session: Session) -> Mapping[str, Listener]:
        """Return the listeners of a session, by the name of the server; none if it has ended."""
        return self._listeners.get(id(session), {})

    def notified(self, server: WrappedServer, dialogue: ClientSession, method: str, params: Raw) -> None:
        """Take a notification of a server to those whom it concerns."""
        if method == "notifications/progress":
            _pass_progress(dialogue, params)
        elif method == "notifications/message":
            self._pass_message(server, dialogue, params)
        elif method in LIST_CHANGES:
            self._changed(server, dialogue, method)
        elif method == "notifications/resources/updated":
            self.subscriptions_of(server.name).tell(method, params, dialogue.owner)
        elif method not in {"notifications/cancelled", "notifications/subscriptions/acknowledged"}:
            self._pass_unknown(server, dialogue, method, params)

    def begun(self, server: WrappedServer, dialogue: ClientSession) -> None:
        """Ask a new instance for what callers have subscribed to, and for the level that they want."""
        self.sync(server, dialogue)
        server.conversations.restore_level(dialogue)

    def lost(self, server: WrappedServer, dialogue: ClientSession) -> None:
        """Note that a server is gone; it is started again with the next request."""
        self._log("server.lost", server=server.name, why=dialogue.why_lost)

    def _pass_message(self, server: WrappedServer, dialogue: ClientSession, params: Raw) -> None:
        """Pass a log message on: to the caller of the only request that it may be of, else to the sessions.

        A server of the modern era writes none but for requests that ask for a level. What may be of somebody's call
        is told to nobody else.
        """
        level = msgspec.json.decode(members(params).get("level", b'"info"'))
        rank = LEVELS.index(level) if level in LEVELS else 0
        message = notification("notifications/message", on_one_line(params))
        callers = _callers(dialogue)
        if dialogue.modern:
            callers = [one for one in callers if server.conversations.level_of(one)]
        concerned = {holder_of(one) for one in callers} | _through_other_doors(dialogue)
        if len(callers) == len(concerned) == 1:
            wanted = server.conversations.level_of(callers[0])
            if _is_wanted(rank, wanted) and (wanted or not callers[0].era.modern):
                callers[0].channel.notify(message)
            return
        sessions = [one for one in self.sessions_of(dialogue) if one.notify is not None]
        if concerned:
            hearing = [one for one in sessions if concerned == {holder_of_session(one)}]
        else:
            hearing = sessions if len({one.holder or one.principal for one in sessions}) == 1 else []
        for session in hearing:
            wanted = server.conversations.levels.get(owner_of_session(session), "")
            if session.notify is not None and _is_wanted(rank, wanted):
                session.notify(message)
        if not hearing:
            self._log("server.notification_dropped", server=server.name, method="notifications/message")

    def _pass_unknown(self, server: WrappedServer, dialogue: ClientSession, method: str, params: Raw) -> None:
        callers = _callers(dialogue)
        message = notification(method, b"" if bytes(params) == b"{}" else on_one_line(params))
        if server.tasks is not None and method.startswith("notifications/tasks"):
            self._pass_task(server.tasks, dialogue, message, params)
        elif _through_other_doors(dialogue):
            self._log("server.notification_dropped", method=method[:100])
        elif len(callers) == 1 and callers[0].era.modern == dialogue.modern:
            callers[0].channel.notify(message)
        elif len(sessions := self.sessions_of(dialogue)) == 1 and not dialogue.modern:
            notify = sessions[0].notify
            if notify is not None and {holder_of(one) for one in callers} <= {holder_of_session(sessions[0])}:
                notify(message)
        else:
            self._log("server.notification_dropped", method=method[:100])

    def _pass_task(self, tasks: Tasks, dialogue: ClientSession, message: bytes, params: Raw) -> None:
        """Send a notification of a task to the sessions of its holder, and no others."""
        tasks.noted(params)
        holder = tasks.holder_of(members(params).get("taskId"))
        hearing = [one for one in self._sessions.values() if holder is not None and holder_of_session(one) == holder]
        for session in [] if dialogue.modern else hearing:
            if session.notify is not None:
                session.notify(message)
        if not hearing:
            self._log("server.notification_dropped", method="notifications/tasks")

    def _changed(self, server: WrappedServer, dialogue: ClientSession, method: str) -> None:
        """Read the lists of an instance again, once for several changes that come together, then tell the callers."""
        dialogue.is_changed = True
        changes = self._changes.get(dialogue)
        if changes is not None:
            changes.methods.add(method)
            return
        self._changes[dialogue] = changes = _Changes({method})
        self._in_background(self._follow(server, dialogue, changes))

    async def _follow(self, server: WrappedServer, dialogue: ClientSession, changes: _Changes) -> None:
        """Read the lists of an instance as long as it tells of changes: one reading at a time, less and less often."""
        try:
            while changes.methods and not dialogue.is_lost:
                await asyncio.sleep(changes.pause_s)
                methods, changes.methods = changes.methods, set()
                if not dialogue.is_lost and await self.catalogue.learn_again(server, dialogue):
                    for method in sorted(methods):
                        self.subscriptions_of(server.name).tell(method, EMPTY)
                changes.pause_s = min(LONGEST_PAUSE_S, 2 * changes.pause_s)
        finally:
            del self._changes[dialogue]

    def joined(self, server: WrappedServer, snapshot: Snapshot) -> None:
        """Tell clients of the lists of a server that was too slow for their first requests."""
        for method, (_, kind) in LIST_CHANGES.items():
            if kind == "tools" or getattr(snapshot, kind):
                self.subscriptions_of(server.name).tell(method, EMPTY)

    def subscriptions_of(self, name: str) -> Subscriptions:
        """Return who wants to hear of a server."""
        return self._subscriptions.setdefault(name, Subscriptions())

    def sync(self, server: WrappedServer, dialogue: ClientSession | None = None) -> None:
        """Ask a server, or one instance of it, for what its listeners want."""
        for one in [dialogue] if dialogue is not None else server.pool.dialogues:
            if one is not None and not one.is_lost:
                self.subscriptions_of(server.name).sync(one)

    def _in_background(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def close(self) -> None:
        """Tell nobody anything more."""
        for task in self._tasks:
            task.cancel()


def _callers(dialogue: ClientSession) -> list[RpcRequest]:
    """Return the requests under way in which the server can be at work: one that is held waits for its caller."""
    return [one.request for one in dialogue.exchanges.values() if one.request is not None and not one.is_held]


def _is_wanted(rank: int, level: str) -> bool:
    """Return whether a message is as grave as the level that somebody asked for."""
    return rank >= (LEVELS.index(level) if level in LEVELS else 0)


def _through_other_doors(dialogue: ClientSession) -> set[str]:
    """Return whose calls through doors other than MCP are under way: nobody knows, and each may be of another."""
    return {"" for one in dialogue.exchanges.values() if one.request is None and one.method == "tools/call"}


def _pass_progress(dialogue: ClientSession, params: Raw) -> None:
    """Pass a report of progress on to the caller of its request, with the caller's own token."""
    parts: dict[str, Any] = dict(members(params))
    token = parts.get("progressToken")
    number = msgspec.json.decode(token) if token is not None else None
    exchange = dialogue.exchanges.get(number) if isinstance(number, int) else None
    if exchange is None or exchange.request is None:
        return
    if exchange.request.meta.progress_token is not UNSET:
        parts["progressToken"] = exchange.request.meta.progress_token
        exchange.request.channel.notify(notification("notifications/progress", encode(parts)))
