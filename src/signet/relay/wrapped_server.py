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
from signet.kernel.errors import Code, Fault
from signet.kernel.fair_turns import FairTurns
from signet.kernel.outcome import Relayed
from signet.kernel.relay import RpcRequest, ServerState
from signet.kernel.tools import Context
from signet.kernel.wire import encode
from signet.lock.snapshot import Snapshot

from .attribution import session_of
from .blocking import Blocked, check_lock
from .conversation import Conversations, reply_to
from .dialogue import Answer, Dialogue, Hooks, LostError
from .learned import learned_outputs
from .link import Link
from .negotiation import CALLERS, Introduction, introduce
from .pool import Pool
from .replies import relayed
from .server_spec import ServerSpec
from .snapshots import check_page, introduction_of, server_info, take_snapshot
from .spec_secrets import shown_source
from .standing import Standing

__all__ = ["WrappedServer"]

MAX_IN_FLIGHT: Final = 256
"""The requests that one instance has to answer at once; others wait for their turn."""
MAX_WAITING: Final = 768
"""The number of those. Of both, each caller has a share."""
LIST_S: Final = 10.0
"""How long a server may take for a list, with all its pages."""


class Listeners(msgspec.Struct, frozen=True):
    """Who is told of what a server says outside of any request."""

    notified: Callable[[WrappedServer, Dialogue, str, Raw], None]
    begun: Callable[[WrappedServer, Dialogue], None]
    lost: Callable[[WrappedServer, Dialogue], None]
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
        self.conversations = Conversations(
            listeners.sessions, listeners.log, is_shared=is_shared, on_dropped=self._close_single
        )
        self._turns = FairTurns(f"requests to {spec.name}", MAX_IN_FLIGHT, MAX_WAITING, reserves=True)
        self.pool = Pool(spec.name, spec.pool)
        self._singles: set[Dialogue] = set()
        """The instances that were started for one call each."""
        self.modes = dict(spec.validation)
        self.learned = learned_outputs(spec.contracts) if spec.contracts else {}
        self.pinned: Snapshot | None = None
        """What is served of the server, where a lock pins it."""
        self.judge: Callable[[Snapshot], Awaitable[Blocked]] | None = None
        """Return what the lock blocks of an instance, by what it says about itself."""
        self.on_repinned: Callable[[], None] | None = None
        """Called when the lock lets something else be served."""
        self.standing = Standing()

    async def dialogue(self, caller: RpcRequest | None) -> Dialogue:
        """Return the running instance for a caller, started now if there is none; raise Fault if it does not start."""
        owner = session_of(caller)
        ready = self.pool.ready(owner)
        begin = partial(self._begin, caller, owner if self.spec.pool == "session" else None)
        return ready if ready is not None else await self.pool.dialogue(owner, begin)

    async def _begin(self, caller: RpcRequest | None, owner: str | None) -> Dialogue:
        dialogue = await introduce(partial(self._make_dialogue, owner), self._introduction(caller))
        if self.judge is not None:
            try:
                await self._judge(dialogue, self.judge)
            except BaseException:
                await dialogue.close()
                raise
        self.standing.begun()
        self._listeners.begun(self, dialogue)
        return dialogue

    async def _judge(self, dialogue: Dialogue, judge: Callable[[Snapshot], Awaitable[Blocked]]) -> None:
        """Judge an instance by the lock; a change that it tells meanwhile is judged again."""
        dialogue.is_changed = False
        try:
            dialogue.blocked = await judge(await self.snapshot_of(dialogue))
        except BaseException:
            dialogue.is_changed = True
            raise

    async def heed_changes(self, dialogue: Dialogue) -> None:
        """Judge an instance that has told of changes before it is used; raise Fault if it cannot be listed.

        All who wait share a judgement, and none goes by one that began before the change was told.
        """
        for _ in range(2):
            if dialogue.is_changed and dialogue.judging is None and self.judge is not None:
                dialogue.judging = asyncio.ensure_future(self._judge(dialogue, self.judge))
                dialogue.judging.add_done_callback(partial(_judged, dialogue))
            if dialogue.judging is not None:
                await asyncio.shield(dialogue.judging)

    def _make_dialogue(self, owner: str | None) -> Dialogue:
        listeners = self._listeners
        hooks = Hooks(
            notified=partial(listeners.notified, self),
            asked=self.conversations.asked,
            lost=self._is_lost,
            log=listeners.log,
        )
        return Dialogue(self._make_link(), hooks, None if self._is_private else owner)

    def _is_lost(self, dialogue: Dialogue, why: str) -> None:
        self.standing.lost(why)
        self._listeners.lost(self, dialogue)

    def state(self) -> ServerState:
        """Return how the server stands now."""
        standing, running = self.standing, [one for one in self.pool.dialogues if not one.is_lost]
        why = standing.why_lost or self.pool.why_not_started
        state = "running" if running else "lost" if standing.why_lost else "failed" if why else "not started"
        source = shown_source(self.spec) if self.spec.command or self.spec.url else f"the tape {self.spec.tape}"
        reason = "" if running else why
        return ServerState(self.name, source, state, reason, standing.restarts, standing.drift, standing.blocked)

    def _introduction(self, caller: RpcRequest | None) -> Introduction:
        if caller is None:
            return Introduction(prefers_modern=True, only=self.spec.era)
        session = caller.channel.agreement
        own = self._is_private or self.spec.pool != "shared"
        declared: Any = caller.meta.capabilities if caller.era.modern else session.capabilities
        capabilities = declared if own and isinstance(declared, Mapping) else CALLERS
        how = Introduction(prefers_modern=caller.era.modern, only=self.spec.era, capabilities=capabilities)
        if own and session.version and not caller.era.modern:
            how = msgspec.structs.replace(how, version=session.version, client=session.client)
        return how

    async def call(self, name: str, annotations: Mapping[str, bool], arguments: Any, context: Context) -> Relayed:
        """Call a tool; raise Fault if the server cannot be reached or was gone before it answered."""
        caller: RpcRequest | None = context.request
        raw = caller.raw if caller is not None else Raw(encode({"name": name, "arguments": arguments}))
        may_repeat = annotations.get("readOnlyHint", False) or annotations.get("idempotentHint", False)
        more = {"name": name} if caller is not None and caller.params.name != name else None
        answer, dialogue = await self.exchange("tools/call", raw, caller, may_repeat=may_repeat, more=more)
        return relayed(
            name,
            answer,
            modern=dialogue.modern,
            server_info=server_info(dialogue),
            relax=self.mode_of(name) == "relax",
            by_mcp=caller is not None,
        )

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
    ) -> tuple[Answer, Dialogue]:
        """Return the server's answer to a request, and the dialogue that it came in.

        A request that a server may have got is sent to its successor only if it changes nothing.
        """
        held = await self.conversations.resumed(caller)
        if held is not None:
            try:
                return await self.conversations.go_on(held, caller), held.dialogue
            except LostError as error:
                raise self._lost(method, error, may_repeat=may_repeat) from None
            finally:
                self._close_single(held.dialogue)
        holder = await self._enter(caller)
        try:
            for is_last in (False, True):
                dialogue = await self._dialogue_for(caller)
                try:
                    if self.pinned is not None:
                        await self.heed_changes(dialogue)
                        check_lock(self.pinned, dialogue.blocked, method, raw, more)
                    return await self.conversations.converse(dialogue, method, raw, caller, more), dialogue
                except LostError as error:
                    if is_last or (error.was_sent and not may_repeat):
                        raise self._lost(method, error, may_repeat=may_repeat) from None
                finally:
                    self._close_single(dialogue)
        finally:
            self._turns.give_back(holder)
        raise AssertionError("the second try returns or raises")

    def _close_single(self, dialogue: Dialogue) -> None:
        """End an instance that was started for one call, unless that call is held."""
        if dialogue in self._singles and not self.conversations.rounds.holds(dialogue):
            self._singles.discard(dialogue)
            self.pool.close_later(dialogue)

    async def _enter(self, caller: RpcRequest | None) -> str:
        """Wait for a turn, and return whose it is; refuse where too many wait already."""
        turns, holder = self._turns, holder_now() if caller is None else caller.channel.caller.holder
        if turns.must_wait(holder) and not turns.may_wait(holder):
            message = f"{turns.waiting} requests wait for {self.name} already: ask again when one has ended"
            raise Fault(Code.INTERNAL_ERROR, message, as_tool_result=False)
        await turns.take(holder)
        return holder

    async def _dialogue_for(self, caller: RpcRequest | None) -> Dialogue:
        """Return the instance for a request; a caller without a session shares none with others that have none."""
        if self.spec.pool == "shared" or (self.spec.pool == "session" and session_of(caller)):
            return await self.dialogue(caller)
        dialogue = await self.pool.single(partial(self._begin, caller, session_of(caller)))
        self._singles.add(dialogue)
        return dialogue

    def _lost(self, method: str, error: LostError, *, may_repeat: bool) -> Fault:
        happened = "it was not carried out" if not error.was_sent else "it may have happened"
        message = f"the server {self.name} was gone before it answered {method} ({error}); {happened}"
        data = {"retryable": may_repeat or not error.was_sent}
        return Fault(Code.INTERNAL_ERROR, message, name="SERVER_LOST", status=502, as_tool_result=False, data=data)

    async def close(self) -> None:
        """End all running instances."""
        await asyncio.gather(self.pool.close(), *[one.close() for one in self._singles])

    async def snapshot(self, caller: RpcRequest | None) -> Snapshot:
        """Return everything that the server says about itself; raise Fault if it cannot be asked."""
        return await self.snapshot_of(await self.dialogue(caller))

    async def snapshot_of(self, dialogue: Dialogue) -> Snapshot:
        """Return everything that an instance says about itself; raise Fault if it cannot be asked."""

        async def ask(method: str, params: Raw) -> Answer:
            meta = dialogue.modern_meta({}) if dialogue.modern else None
            return await reply_to(dialogue.start(method, params, meta=meta))

        try:
            return await take_snapshot(dialogue, ask, LIST_S)
        except (ValueError, LostError, TimeoutError) as error:
            raise self._not_listed(error) from None

    async def list_page(self, request: RpcRequest) -> tuple[Answer, Dialogue]:
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
        why = str(error) or f"it does not answer within {LIST_S:g} s"
        message = f"the server {self.name} cannot be listed: {why}"
        return Fault(Code.INTERNAL_ERROR, message, status=502, as_tool_result=False)

    def introduced(self, dialogue: Dialogue) -> Snapshot:
        """Return how a running instance introduced itself, without its lists."""
        return introduction_of(dialogue)

    def runner(self, name: str, annotations: Mapping[str, bool]) -> Callable[[Any, Any], Any]:
        """Return what calls a tool."""
        return partial(self.call, name, annotations)


def _judged(dialogue: Dialogue, judging: asyncio.Future[None]) -> None:
    """Note that an instance was judged; whoever waits gets the error, and nobody may."""
    dialogue.judging = None
    if not judging.cancelled():
        judging.exception()
