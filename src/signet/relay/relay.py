"""The relay: what clients ask of wrapped servers beside calls of tools, and what those servers say by themselves.

Server ── handler(method) ──▶ Relay ──▶ WrappedServer ──▶ ClientSession ──▶ Link
client ◀── channel, session ── Relay ◀── notifications, questions ──┘
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import UNSET, Raw

from signet.kernel.channel import ClientChannel
from signet.kernel.errors import INTERNAL, INVALID_PARAMS, METHOD_NOT_FOUND, Code, Fault
from signet.kernel.gate import Pass
from signet.kernel.outcome import Outcome, Pending
from signet.kernel.protocol import settled_version
from signet.kernel.relay import Answered, Handler, RpcRequest, ServerState
from signet.kernel.wire import Frame, ProtocolError, Reply, encode, relayed_failure, success
from signet.mcp.messages import HOP, error_object, members, notification, on_one_line, text_of, value_of
from signet.mcp.session import Answer

from .attribution import owner_of, owner_of_session, session_of
from .catalogue import Catalogue
from .conversation import LEVELS
from .notices import Notices
from .replies import error_fault, in_era
from .requests import call_of, check_scope, enter, replied
from .sent_params import is_near_known
from .subscriptions import Listener, checked_uri, honoured
from .wrapped_server import WrappedServer

if TYPE_CHECKING:
    from signet.kernel.server import Server

__all__ = ["ServerRelay"]

OF_HANDSHAKE: Final = frozenset({"logging/setLevel", "resources/subscribe", "resources/unsubscribe"})
ROUTED: Final = frozenset({"prompts/get", "resources/read", "completion/complete"})
PROMPTED: Final = frozenset({"prompts/get", "completion/complete"})
"""The requests that give arguments to a prompt."""
LISTED: Final = frozenset({"prompts/list", "resources/list", "resources/templates/list"})
EMPTY: Final = Raw(b"{}")


class ServerRelay:
    """Answers clients on behalf of wrapped servers."""

    catalogue: Catalogue
    """What the servers list; set before anybody is served."""

    _server: Server
    """Whose clients are served: set by `serve`, before the first request."""

    def __init__(self, log: Callable[..., None]) -> None:
        self.notices = Notices(log)
        self.on_close: list[Callable[[], None]] = []
        """Called when all servers have ended."""
        both: dict[str, Handler] = {"tools/list": self._tools, "tools/call": self._call}
        both |= dict.fromkeys(LISTED, self._list) | dict.fromkeys(ROUTED, self._pass_on)
        self._handlers: dict[bool, dict[str, Handler]] = {
            False: {
                **both,
                "initialize": self._initialize,
                "logging/setLevel": self._set_level,
                "resources/subscribe": self._subscribe,
                "resources/unsubscribe": self._subscribe,
            },
            True: {**both, "server/discover": self._discover, "subscriptions/listen": self._listen},
        }

    def serve(self, server: Server) -> None:
        """Relay for the clients of a server."""
        self._server = server
        self.catalogue.on_change = server.forget_lists
        self.catalogue.readings.on_late = self.notices.joined

    @property
    def is_ready(self) -> bool:
        """Whether all tools are known."""
        return self.catalogue.is_known

    @property
    def servers(self) -> list[str]:
        """The names of the servers whose tools are served: the last groups of the toolbox are theirs, in this order."""
        return self.catalogue.listed

    def states(self) -> list[ServerState]:
        """Return how each server stands now."""
        return [server.state() for server in self.catalogue.servers]

    def entries(self) -> list[Raw]:
        """Return what clients are told of the tools of all servers."""
        return self.catalogue.entries()

    async def ready(self, tool: str = "", *, to_the_end: bool = False) -> None:
        """Learn the tools of all servers, or of the one that a tool is of; one that cannot be asked is told in the log.

        A slow server holds up the others for a short time, unless its own tool is meant or all are read `to_the_end`.
        """
        if tool:
            await self.catalogue.learn_for(tool, None)
        else:
            await self.catalogue.learn(None, to_the_end=to_the_end)

    def handler(self, method: str, *, modern: bool) -> Handler | None:
        """Return what answers a method; what only one of both eras knows is passed on to a server of that era.

        A method that some server may take for another one, which is checked, is none.
        """
        if method == "ping":
            return None
        known = self._handlers[modern].get(method)
        if known is None and (method in OF_HANDSHAKE or method in {"initialize", "server/discover"}):
            return None
        return known or (self._pass_on if self.catalogue.sole is not None and not is_near_known(method) else None)

    def receive(self, frame: Frame, channel: ClientChannel) -> None:
        """Take a response to a question, or a notification that the servers may want."""
        if frame.method is UNSET:
            for server in self.catalogue.servers:
                server.conversations.asker.receive(frame, channel)
        elif frame.method == "notifications/roots/list_changed":
            owner = owner_of_session(channel.agreement)
            for server in self.catalogue.servers:
                for dialogue in server.pool.dialogues:
                    if not dialogue.modern and dialogue.owner in (None, owner):
                        dialogue.notify(frame.method)

    # What every client asks first.

    def _initialize(self, request: RpcRequest) -> Answered:
        session, params = request.channel.agreement, request.params
        if session.id:
            why = self.notices.agree(session, len(request.raw))
            if why:
                raise ProtocolError(INVALID_PARAMS, f"Invalid params: {why}")
        session.version = settled_version(params.version)
        session.capabilities, session.client = params.capabilities, params.client
        if request.channel.door.transport == "stdio":
            session.notify = request.channel.notify
        if session.notify is not None:
            self.notices.open_session(session, owner_of(request))
        return self._later(request, self._hello(request))

    def _discover(self, request: RpcRequest) -> Answered:
        return self._later(request, self._hello(request))

    async def _hello(self, request: RpcRequest) -> Reply:
        hello = await self.catalogue.hello(request)
        return success(request.id, hello)

    # Tools.

    def _tools(self, request: RpcRequest) -> Answered:
        if request.params.cursor is not None:
            raise ProtocolError(INVALID_PARAMS, "Invalid params: there is one page, ask for it without a cursor")
        return self._later(request, self._list_tools(request))

    async def _list_tools(self, request: RpcRequest) -> Reply:
        return success(request.id, await self.catalogue.list_tools(request))

    def _call(self, request: RpcRequest) -> Answered:
        server = self._server
        if self.catalogue.is_known or server.pipeline.toolbox.named(request.params.name) is not None:
            return server.call(request)
        return self._later(request, self._call_when_known(request))

    async def _call_when_known(self, request: RpcRequest) -> Reply:
        await self.catalogue.learn_for(request.params.name, request)
        reply = self._server.call(request)
        return await reply.reply if isinstance(reply, Pending) else reply

    # Everything else.

    def _list(self, request: RpcRequest) -> Answered:
        return self._later(request, self._journalled(request, self.catalogue.list_others(request)))

    def _pass_on(self, request: RpcRequest) -> Answered:
        check_scope(request)
        return self._later(request, self._journalled(request, self._relay(request), is_counted=True))

    async def _relay(self, request: RpcRequest) -> Answer:
        server, more = await self.catalogue.route(request)
        reads = request.method in ROUTED
        if not reads and (await server.dialogue(request)).modern != request.era.modern:
            return Answer(error=Raw(error_object(METHOD_NOT_FOUND, "Method not found")))
        raw, method = request.raw, request.method
        if method in PROMPTED:
            await self.catalogue.check_prompt(server, request, more)
        told = await server.ask_about_tasks(request)
        if told is not None:
            return told
        answer, dialogue = await server.exchange(method, raw, request, may_repeat=reads, more=more)
        info = dialogue.hello.get("serverInfo") if server.pinned is None else server.pinned.server_info
        return in_era(request, answer, dialogue, info)

    async def _journalled(
        self, request: RpcRequest, answering: Coroutine[Any, Any, Answer], *, is_counted: bool = False
    ) -> Reply:
        """Await an answer, write its record and return the reply; what is counted passes the gate of calls first."""
        pipeline = self._server.pipeline
        call = call_of(request)
        started_s = pipeline.now()
        entered: Pass | None = None
        outcome: Outcome | None = None
        try:
            if is_counted and pipeline.gate is not None:
                entered = await enter(pipeline.gate, call)
            answer = await answering
            if answer.error is None:
                body = on_one_line(answer.result or EMPTY)
                outcome, reply = Outcome(call, None, body=body), success(request.id, body)
            else:
                failure = error_fault(answer.error)
                outcome = Outcome(call, None, fault=failure)
                reply = relayed_failure(request.id, on_one_line(answer.error), failure.mcp_code)
        except Fault as fault:
            outcome = Outcome(call, None, fault=fault)
            raise
        finally:
            answering.close()  # one that was refused has not begun
            if outcome is not None:
                pipeline.notify(outcome, started_s)
            left = entered.leave(outcome) if entered is not None else None
            if left is not None:
                await left
        return reply

    def _set_level(self, request: RpcRequest) -> Answered:
        level = text_of(members(request.raw).get("level"))
        if level not in LEVELS:
            raise ProtocolError(INVALID_PARAMS, f"Invalid params: the level is one of {', '.join(LEVELS)}")
        return self._later(request, self._set_levels(request, level))

    async def _set_levels(self, request: RpcRequest, level: str) -> Reply:
        """Set the level that a session wants; a server of the modern era is told with each request."""
        if self.catalogue.sole is not None:
            return await self._set_level_of(self.catalogue.sole, request, level)
        await self.catalogue.learn(request)
        for server in self.catalogue.servers:
            self._note_level(server, request, level)
            # A server that does not run yet is reported when it starts.
            dialogue = server.pool.ready(session_of(request))
            if dialogue is not None:
                server.conversations.set_level(dialogue, level)
        return success(request.id, b"{}")

    def _note_level(self, server: WrappedServer, request: RpcRequest, level: str) -> None:
        is_kept = request.channel.door.transport == "stdio" or self.notices.is_open(request.channel.agreement)
        if session_of(request) and is_kept:
            server.conversations.levels[owner_of(request)] = level

    async def _set_level_of(self, server: WrappedServer, request: RpcRequest, level: str) -> Reply:
        """Set the level at the only server, and return its answer."""
        dialogue = await server.dialogue(request)
        self._note_level(server, request, level)
        if not dialogue.modern:
            wanted = server.conversations.shared_level(dialogue) or level
            if server.conversations.would_mute(dialogue, wanted):
                return success(request.id, b"{}")
            raw = request.raw if wanted == level else Raw(encode({"level": wanted}))
            answer, _ = await server.exchange("logging/setLevel", raw, request)
            if answer.error is not None:
                return relayed_failure(request.id, on_one_line(answer.error), error_fault(answer.error).mcp_code)
            dialogue.level = wanted
        return success(request.id, b"{}")

    def _subscribe(self, request: RpcRequest) -> Answered:
        check_scope(request)
        return self._later(request, self._journalled(request, self._subscribed(request), is_counted=True))

    async def _subscribed(self, request: RpcRequest) -> Answer:
        """Subscribe a session to a resource, or end that."""
        uri = checked_uri(value_of(members(request.raw).get("uri", Raw(b'""'))))
        server, _ = await self.catalogue.route(request)
        session = request.channel.agreement
        listeners = self.notices.listeners_of(session)
        listener = listeners.get(server.name)
        if session.notify is None or listener is None:
            why = "a subscription needs a session: begin with initialize, and keep the session that it opens"
            return Answer(error=Raw(error_object(INTERNAL, why)))
        if request.method == "resources/unsubscribe":
            return await self._unsubscribed(request, server, listener, uri)
        if uri in listener.uris or uri in listener.asking:
            return await self._ask_for(request, server)
        why = self.notices.shares.take([*listeners.values()], listener, uri)
        if why:
            return Answer(error=Raw(error_object(INTERNAL, why)))
        listener.asking.add(uri)
        is_kept = False
        subscriptions = self.notices.subscriptions_of(server.name)
        try:
            answer = await self._ask_for(request, server)
            if answer.error is None and subscriptions.has(listener):
                is_kept = True
                listener.uris.add(uri)
                dialogue = await server.dialogue(request)
                subscriptions.sync(dialogue, uris_are_known=not dialogue.modern)
        finally:
            listener.asking.discard(uri)
            if not is_kept:
                self.notices.shares.give_back(listener, [uri])
        return answer

    async def _ask_for(self, request: RpcRequest, server: WrappedServer) -> Answer:
        """Ask a server of the handshake era for what its caller wants to hear of, or not; leave none to itself."""
        if (await server.dialogue(request)).modern:
            return Answer(EMPTY)
        answer, dialogue = await server.exchange(request.method, request.raw, request)
        if answer.error is None and not self.notices.is_open(request.channel.agreement):
            uri = text_of(members(request.raw).get("uri"))
            self.notices.subscriptions_of(server.name).leave(dialogue, uri)
        return answer if answer.error is not None else Answer(EMPTY)

    async def _unsubscribed(self, request: RpcRequest, server: WrappedServer, listener: Listener, uri: str) -> Answer:
        dialogue = await server.dialogue(request)
        subscriptions = self.notices.subscriptions_of(server.name)
        if dialogue.owner is not None or not subscriptions.wants(uri, listener):
            answer = await self._ask_for(request, server)
            if answer.error is not None:
                return answer
        if uri in listener.uris:
            listener.uris.discard(uri)
            self.notices.shares.give_back(listener, [uri])
            subscriptions.sync(dialogue, uris_are_known=not dialogue.modern)
        return Answer(EMPTY)

    def _listen(self, request: RpcRequest) -> Answered:
        return msgspec.structs.replace(self._later(request, self._listening(request)), is_endless=True)

    async def _listening(self, request: RpcRequest) -> Reply:
        """Tell a caller of the modern era of changes until it hangs up."""
        wanted = await self._wanted(request)
        told: dict[str, Any] = {}
        opened: list[tuple[WrappedServer, Listener]] = []
        for server in self.catalogue.servers:
            try:
                capabilities = await self.catalogue.capabilities_of(server, request)
            except Fault:
                if self.catalogue.sole is not None:
                    raise
                continue
            part, lists, uris = honoured(wanted, capabilities)
            told |= part
            holder = request.channel.caller.holder
            opened.append((server, Listener(request.channel.notify, request.id, lists, uris, holder=holder)))
        params = {"notifications": told, "_meta": {HOP + "subscriptionId": request.id}}
        counted: list[Listener] = []
        try:
            for _, listener in opened:
                why = self.notices.shares.take_all(listener)
                if why:
                    raise Fault(Code.INTERNAL_ERROR, why, status=503, as_tool_result=False)
                counted.append(listener)
            request.channel.notify(notification("notifications/subscriptions/acknowledged", encode(params)))
            for server, listener in opened:
                self.notices.subscriptions_of(server.name).add(listener)
            wanting = [server for server, listener in opened if listener.uris or listener.lists]
            endless = asyncio.get_running_loop().create_future()
            await asyncio.gather(endless, *[self._sync_started(server, request) for server in wanting])
        finally:
            for listener in counted:
                self.notices.shares.give_back(listener, listener.uris)
            for server, listener in opened:
                self.notices.subscriptions_of(server.name).remove(listener)
                self.notices.sync(server)
        raise AssertionError("a subscription ends by being cancelled")

    # Parts.

    async def _wanted(self, request: RpcRequest) -> dict[str, Any]:
        """Return the notifications that a caller asks for; raise Fault if it may not know of resources."""
        wanted = value_of(members(request.raw).get("notifications"))
        if not isinstance(wanted, dict):
            return {}
        if wanted.get("resourceSubscriptions"):
            check_scope(request)
            if (gate := self._server.pipeline.gate) is not None:
                await enter(gate, call_of(request), is_kept=False)
        return wanted

    async def _sync_started(self, server: WrappedServer, request: RpcRequest) -> None:
        """Start a server, and ask it for what its listeners want; raise Fault if the only one does not start."""
        try:
            self.notices.sync(server, await server.dialogue(request))
        except Fault:
            if self.catalogue.sole is not None:
                raise

    def _later(self, request: RpcRequest, coroutine: Coroutine[Any, Any, Reply]) -> Pending:
        return Pending(request.id, replied(request, coroutine), call_of(request))

    async def close(self) -> None:
        """End all servers."""
        self.notices.close()
        self.catalogue.readings.close()
        await asyncio.gather(*[server.close() for server in self.catalogue.servers])
        for close in self.on_close:
            close()
