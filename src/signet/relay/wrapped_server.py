"""One wrapped server: its running instances, what it lists, and each request to it from the first byte to the last."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final

import msgspec
from msgspec import Raw

from signet.kernel.caller import holder_now
from signet.kernel.channel import Session
from signet.kernel.errors import TOO_MANY_PROCESSES, Code, Fault
from signet.kernel.outcome import Relayed
from signet.kernel.relay import RpcRequest, ServerState
from signet.kernel.tools import Context
from signet.kernel.wire import encode
from signet.mcp.link import Link, LinkError
from signet.mcp.lists import take_snapshot
from signet.mcp.negotiation import CALLERS, Introduction, introduce
from signet.mcp.session import Answer, ClientSession, Hooks, LostError, PendingRequest
from signet.mcp.snapshot import Snapshot, check_page, introduced
from signet.settings.server_spec import ServerSpec
from signet.system.places import FairTurns

from .attribution import holder_of, session_of
from .blocking import BeingCompared, Blocked, check_lock
from .conversation import RequestRunner, goes_on, reply_to
from .learned import learned_outputs
from .own_words import own_words
from .pool import Pool
from .replies import relayed
from .sent_params import DeclaredNames, call_params, refuse_near, sent_params
from .spec_secrets import shown_source
from .standing import Standing
from .tasks import Tasks, task_named
from .translation import with_server_info

__all__ = ["WrappedServer"]

MAX_IN_FLIGHT: Final = 256
"""The requests that one instance has to answer at once; others wait for their turn."""
MAX_WAITING: Final = 768
"""The number of those. Of both, each caller has a share."""
LIST_S: Final = 10.0
"""How long a server may take for its lists: all pages of all kinds together."""


class Listeners(msgspec.Struct, frozen=True):
    """Who is told of what a server says outside of any request."""

    notified: Callable[[WrappedServer, ClientSession, str, Raw], None]
    begun: Callable[[WrappedServer, ClientSession], None]
    lost: Callable[[WrappedServer, ClientSession], None]
    sessions: Callable[[], list[Session]]
    log: Callable[..., None]


class WrappedServer:
    """A server of somebody else's."""

    def __init__(
        self, spec: ServerSpec, make_link: Callable[[], Link], listeners: Listeners, *, is_private: bool
    ) -> None:
        """Wrap a server; one that `is_private` has one client, whose capabilities are declared to it."""
        self.spec = spec
        self.name = spec.name
        self._make_link = make_link
        self._listeners = listeners
        self._is_private = is_private
        is_shared = spec.pool == "shared" and not is_private
        self.tasks = Tasks() if is_shared else None
        """Whose the tasks are, where callers share an instance."""
        self.conversations = RequestRunner(
            listeners.sessions, listeners.log, tasks=self.tasks, is_shared=is_shared, on_dropped=self._close_single
        )
        self._turns = FairTurns(f"requests to {spec.name}", MAX_IN_FLIGHT, MAX_WAITING, reserves=True)
        self.pool = Pool(spec.name, spec.pool)
        self._singles: set[ClientSession] = set()
        """The instances that were started for one call each."""
        self.modes = dict(spec.validation)
        self.learned = learned_outputs(spec.contracts) if spec.contracts else {}
        self.pinned: Snapshot | None = None
        """What is served of the server, where a lock pins it."""
        self.wider: Mapping[str, Raw] = {}
        """The input schemas of tools that the lock lets take more than is listed, by name."""
        self.judge: Callable[[Snapshot], Awaitable[Blocked]] | None = None
        """Return what the lock blocks of an instance, by what it says about itself."""
        self.on_repinned: Callable[[], None] | None = None
        """Called when the lock lets something else be served."""
        self.standing = Standing()

    async def dialogue(self, caller: RpcRequest | None) -> ClientSession:
        """Return the running instance for a caller, started now if there is none; raise Fault if it does not start."""
        owner = session_of(caller)
        ready = self.pool.ready(owner)
        if ready is not None:
            return ready
        is_own = bool(self.pool.key(owner))
        begin = partial(self._begin, caller, owner if self.spec.pool == "session" else None, is_own=is_own)
        return await self.pool.dialogue(owner, begin, _holder_of(caller))

    def own_session(self, caller: RpcRequest | None) -> str:
        """Return the session of a caller that has an instance of its own beside other callers; empty for all others."""
        return "" if self._is_private else self.pool.key(session_of(caller))

    async def _begin(self, caller: RpcRequest | None, owner: str | None, *, is_own: bool) -> ClientSession:
        """Begin a dialogue; one that `is_own` is with an instance that its caller alone uses."""
        try:
            dialogue = await introduce(partial(self._make_dialogue, owner), self._introduction(caller, is_own=is_own))
        except LinkError as error:
            raise LinkError(self._for_callers("server.not_started", str(error))) from None
        if self.judge is not None:
            try:
                await self._judge(dialogue, self.judge)
            except BaseException:
                await dialogue.close()
                raise
        self.standing.begun()
        self._listeners.begun(self, dialogue)
        return dialogue

    async def _judge(self, dialogue: ClientSession, judge: Callable[[Snapshot], Awaitable[Blocked]]) -> None:
        """Judge an instance by the lock; a change that it tells meanwhile is judged again."""
        dialogue.is_changed = False
        try:
            dialogue.blocked = await judge(await self.snapshot_of(dialogue))
        except BaseException:
            dialogue.is_changed = True
            raise

    async def heed_changes(self, dialogue: ClientSession) -> None:
        """Judge an instance that has told of changes before it is used; raise Fault if it cannot be listed.

        All who wait share a judgement, and none goes by one that began before the change was told.
        """
        for _ in range(2):
            if dialogue.is_changed and dialogue.judging is None and self.judge is not None:
                dialogue.judging = asyncio.ensure_future(self._judge(dialogue, self.judge))
                dialogue.judging.add_done_callback(partial(_judged, dialogue))
            if dialogue.judging is not None:
                await asyncio.shield(dialogue.judging)

    def _make_dialogue(self, owner: str | None) -> ClientSession:
        listeners = self._listeners
        hooks = Hooks(
            notified=partial(listeners.notified, self),
            asked=self.conversations.asked,
            lost=self._is_lost,
            log=listeners.log,
        )
        return ClientSession(self._make_link(), hooks, None if self._is_private else owner)

    def _for_callers(self, event: str, why: str) -> str:
        """Return the reason of a failure as callers may read it: of a pinned server without its own words."""
        told = own_words(why) if self.pinned is not None else why
        if told != why:
            self._listeners.log(event, server=self.name, why=why)
        return told

    def _is_lost(self, dialogue: ClientSession, why: str) -> None:
        self.standing.lost(own_words(why) if self.pinned is not None else why)
        self.pool.lost(dialogue)
        self._listeners.lost(self, dialogue)

    def state(self) -> ServerState:
        """Return how the server stands now."""
        standing, running = self.standing, [one for one in self.pool.dialogues if not one.is_lost]
        why = standing.why_lost or self.pool.why_not_started
        state = "running" if running else "lost" if standing.why_lost else "failed" if why else "not started"
        source = shown_source(self.spec) if self.spec.command or self.spec.url else f"the recording {self.spec.tape}"
        reason = "" if running else why
        return ServerState(self.name, source, state, reason, standing.restarts, standing.drift, standing.blocked)

    def _introduction(self, caller: RpcRequest | None, *, is_own: bool) -> Introduction:
        """Return how we introduce ourselves; what a caller says of itself reaches no instance that others use."""
        if caller is None:
            return Introduction(prefers_modern=True, only=self.spec.era)
        session = caller.channel.agreement
        own = self._is_private or is_own
        declared: Any = caller.meta.capabilities if caller.era.modern else session.capabilities
        capabilities = declared if own and isinstance(declared, Mapping) else CALLERS
        how = Introduction(prefers_modern=caller.era.modern, only=self.spec.era, capabilities=capabilities)
        if own and session.version and not caller.era.modern:
            how = msgspec.structs.replace(how, version=session.version, client=session.client)
        return how

    async def call(
        self,
        name: str,
        annotations: Mapping[str, bool],
        names: DeclaredNames,
        arguments: Any,
        context: Context,
        *,
        relax: bool,
    ) -> Relayed:
        """Call a tool; raise Fault if the server cannot be reached or was gone before it answered."""
        near = names.near(arguments)
        if near is not None:
            refuse_near(*near)
        caller: RpcRequest | None = context.request
        raw = caller.raw if caller is not None else call_params(name, arguments, context.written)
        may_repeat = annotations.get("readOnlyHint", False) or annotations.get("idempotentHint", False)
        more = {"name": name} if caller is not None and caller.params.name != name else None
        if self.tasks is not None and caller is not None and b'"task"' in bytes(raw):
            self.tasks.check_room(holder_of(caller), _holder_of(caller))
        headers = () if self.spec.command else names.headers(arguments)
        answer, dialogue = await self.exchange(
            "tools/call", raw, caller, may_repeat=may_repeat, more=more, param_headers=headers
        )
        reply = relayed(
            name,
            answer,
            modern=dialogue.modern,
            server_info=dialogue.server_info if self.pinned is None else self.pinned.server_info,
            relax=relax,
            by_mcp=caller is not None,
        )
        if self.tasks is not None and caller is not None and not reply.is_final:
            self._begin_task(self.tasks, dialogue, answer, caller)
        return reply

    def _begin_task(self, tasks: Tasks, dialogue: ClientSession, answer: Answer, caller: RpcRequest) -> None:
        """Note whose a task is that a call has begun; raise Fault, and cancel it, if the caller may have no more."""
        if not tasks.begun(holder_of(caller), answer.result or b"{}", _holder_of(caller)):
            named = task_named(answer.result)
            meta = dialogue.modern_meta({}) if dialogue.modern else None
            dialogue.start("tasks/cancel", encode({"taskId": named}), meta=meta)
            tasks.check_room(holder_of(caller), _holder_of(caller))

    async def ask_about_tasks(self, request: RpcRequest) -> Answer | None:
        """Return the answer to a request about tasks; None where the server's own answer is for the caller."""
        if self.tasks is None or not request.method.startswith("tasks/"):
            return None
        dialogue = await self.dialogue(request)

        async def ask(params: Raw) -> Answer:
            return (await self.exchange(request.method, params, request))[0]

        capabilities = dialogue.hello.get("capabilities")
        return await self.tasks.answer(request.method, request.raw, holder_of(request), capabilities, ask)

    def mode_of(self, name: str) -> str:
        """Return the validation mode of a tool."""
        return self.modes.get(name) or self.modes.get("", "enforce")

    async def exchange(
        self,
        method: str,
        raw: Raw,
        caller: RpcRequest | None,
        *,
        may_repeat: bool = True,
        more: Mapping[str, Any] | None = None,
        param_headers: tuple[tuple[str, str], ...] = (),
    ) -> tuple[Answer, ClientSession]:
        """Return the server's answer to a request, and the dialogue that it came in.

        A request that a server may have got is sent to its successor only if it changes nothing.
        """
        if caller is not None:
            raw = sent_params(method, raw, caller.params)
            is_next_round = caller.era.modern and goes_on(caller)
            if is_next_round and (held := await self.conversations.resumed(caller)) is not None:
                return await self._go_on(held, method, caller, may_repeat=may_repeat)
        holder = caller.channel.caller.holder if caller is not None else holder_now()
        if not self._turns.take_at_once(holder):
            await self._wait_for_turn(holder)
        converse = self.conversations.converse
        try:
            for is_last in (False, True):
                dialogue = self.pool.common or await self._dialogue_for(caller)
                try:
                    if self.pinned is not None:
                        await self._heed_lock(self.pinned, dialogue, method, raw, more, holder=holder)
                    answer = await converse(dialogue, method, raw, caller, more, param_headers=param_headers)
                    return answer if self.pinned is None else _as_pinned(answer, self.pinned), dialogue
                except LostError as error:
                    if is_last or (error.was_sent and not may_repeat):
                        raise self._lost(method, error, may_repeat=may_repeat) from None
                finally:
                    if self._singles:
                        self._close_single(dialogue)
        finally:
            self._turns.give_back(holder)
        raise AssertionError("the second try returns or raises")

    async def _heed_lock(
        self,
        pinned: Snapshot,
        dialogue: ClientSession,
        method: str,
        raw: Raw,
        more: Mapping[str, Any] | None,
        *,
        holder: str,
    ) -> None:
        """Raise Fault if the lock forbids a request, as the server is now."""
        await self.heed_changes(dialogue)
        if isinstance(dialogue.blocked, BeingCompared):
            await dialogue.blocked.wait_for(method, raw, more, holder)
        check_lock(pinned, dialogue.blocked, method, raw, more)

    async def _go_on(
        self, held: PendingRequest, method: str, caller: RpcRequest | None, *, may_repeat: bool
    ) -> tuple[Answer, ClientSession]:
        """Return the server's answer to a call that was held, with the answers of its caller."""
        try:
            answer = await self.conversations.go_on(held, caller)
            return answer if self.pinned is None else _as_pinned(answer, self.pinned), held.dialogue
        except LostError as error:
            raise self._lost(method, error, may_repeat=may_repeat) from None
        finally:
            self._close_single(held.dialogue)

    def _close_single(self, dialogue: ClientSession) -> None:
        """End an instance that was started for one call, unless that call is held."""
        if dialogue in self._singles and not self.conversations.rounds.holds(dialogue):
            self._singles.discard(dialogue)
            self.pool.close_later(dialogue)

    async def _wait_for_turn(self, holder: str) -> None:
        """Wait for a turn; refuse where too many wait already."""
        turns = self._turns
        if turns.must_wait(holder) and not turns.may_wait(holder):
            message = f"{turns.count} requests wait for {self.name} already: ask again when one has ended"
            raise Fault(Code.INTERNAL_ERROR, message, name="TOO_MANY_CALLS", status=503, as_tool_result=False)
        await turns.take(holder)

    async def _dialogue_for(self, caller: RpcRequest | None) -> ClientSession:
        """Return the instance for a request; a caller without a session shares none with others that have none."""
        if self.spec.pool == "shared" or (self.spec.pool == "session" and session_of(caller)):
            return await self.dialogue(caller)
        begin = partial(self._begin, caller, session_of(caller), is_own=True)
        dialogue = await self.pool.single(begin, _holder_of(caller))
        self._singles.add(dialogue)
        return dialogue

    def _lost(self, method: str, error: LostError, *, may_repeat: bool) -> Fault:
        happened = "it was not carried out" if not error.was_sent else "it may have happened"
        why = own_words(str(error)) if self.pinned is not None else str(error)
        message = f"the server {self.name} was gone before it answered {method} ({why}); {happened}"
        data = {"retryable": may_repeat or not error.was_sent}
        return Fault(Code.INTERNAL_ERROR, message, name="SERVER_LOST", status=502, as_tool_result=False, data=data)

    async def close(self) -> None:
        """End all running instances."""
        await self.pool.close()

    async def snapshot(self, caller: RpcRequest | None) -> Snapshot:
        """Return everything that the server says about itself; raise Fault if it cannot be asked."""
        try:
            dialogue = await self.dialogue(caller)
        except Fault as fault:
            # What the server lists is for all, also where this caller may start no process of its own.
            if fault.name != TOO_MANY_PROCESSES:
                raise
            dialogue = await self.dialogue(None)
        return await self.snapshot_of(dialogue)

    async def snapshot_of(self, dialogue: ClientSession) -> Snapshot:
        """Return everything that an instance says about itself; raise Fault if it cannot be asked."""

        async def ask(method: str, params: Raw) -> Answer:
            meta = dialogue.modern_meta({}) if dialogue.modern else None
            return await reply_to(dialogue.start(method, params, meta=meta))

        try:
            return await take_snapshot(dialogue, ask, LIST_S)
        except (ValueError, LostError, TimeoutError) as error:
            raise self._not_listed(error) from None

    async def list_page(self, request: RpcRequest) -> tuple[Answer, ClientSession]:
        """Return the server's own answer to a request for a list; raise Fault if it does not come in time."""
        await self.dialogue(request)  # a start has a time of its own
        try:
            async with asyncio.timeout(LIST_S):
                answer, dialogue = await self.exchange(request.method, request.raw, request)
            check_page(request.method, answer.result)
        except (ValueError, TimeoutError) as error:
            raise self._not_listed(error) from None
        return answer, dialogue

    def _not_listed(self, error: Exception) -> Fault:
        why = self._for_callers("server.not_listed", str(error)) or f"it does not answer within {LIST_S:g} s"
        message = f"the server {self.name} cannot be listed: {why}"
        return Fault(Code.INTERNAL_ERROR, message, status=502, as_tool_result=False)

    def introduced(self, dialogue: ClientSession) -> Snapshot:
        """Return how a running instance introduced itself, without its lists."""
        return introduced(dialogue.hello, dialogue.version, modern=dialogue.modern)

    def runner(self, name: str, annotations: Mapping[str, bool], schema: Raw) -> Callable[[Any, Any], Any]:
        """Return what calls a tool."""
        relax = self.mode_of(name) == "relax"
        return partial(self.call, name, annotations, DeclaredNames(schema), relax=relax)


def _as_pinned(answer: Answer, pinned: Snapshot) -> Answer:
    """Return an answer of a server in which it names itself as it is pinned."""
    if answer.result is None:
        return answer
    result = with_server_info(answer.result, pinned.server_info)
    return answer if result is answer.result else Answer(result)


def _holder_of(caller: RpcRequest | None) -> str:
    """Return whose share of the processes a request uses; one through another door than MCP is the call's that runs."""
    return caller.channel.caller.holder if caller is not None else holder_now()


def _judged(dialogue: ClientSession, judging: asyncio.Future[None]) -> None:
    """Note that an instance was judged; whoever waits gets the error, and nobody may."""
    dialogue.judging = None
    if not judging.cancelled():
        judging.exception()
