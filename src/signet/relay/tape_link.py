"""A link that plays a server from a tape: every request gets what followed the equal recorded one, without network.

    send ── equal request on the tape? ── no ──▶ an error that names the nearest
                     │ yes
                     ▼
    notifications, requests of the server ── the answer to each is awaited ── reply

Ids and progress tokens are those of the new request; every other byte is as the server wrote it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

import msgspec

from signet.kernel.errors import INTERNAL, INVALID_PARAMS, METHOD_NOT_FOUND, UNSUPPORTED_VERSION
from signet.kernel.protocol import MODERN_VERSIONS
from signet.mcp.link import LinkError, Outgoing
from signet.system.recording_redactor import RecordingRedactor

from .tape_index import LISTEN, Exchange, Step
from .tape_messages import CONFIRMED, SUBSCRIPTION_KEY, Head, Id, head_of, params_of, rekeyed, speaks_modern
from .tape_nearest import not_recorded
from .tape_play import TapePlay
from .tape_reader import TapeReader

__all__ = ["TapeLink"]

LARGE_BYTES: Final = 65_536
"""The size from which on a message is read in a thread."""
MAX_BRANCHES: Final = 200
"""The number of equal recorded requests among which an answer of the client chooses."""


class TapeLink:
    """Plays one instance of a recorded server."""

    def __init__(self, tape: str | TapeReader, secrets: tuple[str, ...] = ()) -> None:
        """Play the tape in a folder, or one that several links share; secrets are removed from what is looked up."""
        self._is_own = isinstance(tape, str)
        self._tape = TapeReader(tape) if isinstance(tape, str) else tape
        self._redactor = RecordingRedactor(secrets)
        self._receive: Callable[[bytes], None] = _ignore
        self._playing: dict[Id, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._answers: dict[int, asyncio.Future[Head]] = {}
        self._asked = 0
        self._is_closed = False

    async def open(
        self,
        receive: Callable[[bytes], None],
        lost: Callable[[str], None],  # noqa: ARG002 - a tape is never lost
        unreadable: Callable[[str], None] | None = None,  # noqa: ARG002 - a tape holds whole messages
    ) -> None:
        """Read the tape.

        Raises:
            LinkError: it cannot be read.
        """
        await asyncio.to_thread(self._tape.load)
        self._receive = receive

    def send(self, message: Outgoing) -> None:
        """Take a message for the server that is played."""
        if self._is_closed:
            return
        try:
            head = head_of(self._redactor.body(message.body))
            params = params_of(head)
        except (ValueError, RecursionError):
            return
        if head.is_reply:
            waiting = self._answers.pop(head.id, None) if isinstance(head.id, int) else None
            if waiting is not None and not waiting.done():
                waiting.set_result(head)
        elif head.method == "notifications/cancelled":
            self.cancel(params.get("requestId", ""))
        else:
            self._begin(head, params)

    def cancel(self, request_id: Id) -> None:
        """Stop playing what follows a request."""
        task = self._playing.pop(request_id, None)
        if task is not None:
            task.cancel()

    async def close(self) -> None:
        """Stop all that is played."""
        self._is_closed = True
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._is_own:
            self._tape.close()

    def _begin(self, head: Head, params: dict[str, Any]) -> None:
        exchanges = self._tape.equal(head.method, params)
        # Chosen at once, so that equal requests get their replies in the order in which they were sent.
        chosen = self._tape.next_of(exchanges) if exchanges else None
        if chosen is None and head.id is None:
            return
        task = asyncio.get_running_loop().create_task(self._answer(head, params, chosen))
        self._tasks.add(task)
        if head.id is not None:
            self._playing[head.id] = task
        task.add_done_callback(lambda done: self._ended(head.id, done))

    def _ended(self, request_id: Id | None, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if request_id is not None and self._playing.get(request_id) is task:
            del self._playing[request_id]

    async def _answer(self, head: Head, params: dict[str, Any], chosen: Exchange | None) -> None:
        play = TapePlay(self, head, params, chosen) if chosen is not None else None
        try:
            if play is not None:
                await play.run()
                return
            reply = self._usual(head, params)
            if reply is None:
                error = await asyncio.to_thread(not_recorded, self._tape, head.method, params)
                reply = {"id": head.id, "error": error}
        except LinkError as broken:
            reply = {"id": head.id, "error": {"code": INTERNAL, "message": str(broken)}}
        except (ValueError, RecursionError):
            # Only the members that an index needs are read before: the others may be no Unicode, or nested too deeply.
            message = "the tape has a message that cannot be played: record the call again"
            reply = {"id": head.id, "error": {"code": INTERNAL, "message": message}}
        if head.id is not None and (play is None or not play.is_replied):
            self.deliver(msgspec.json.encode({"jsonrpc": "2.0", **reply}))

    def _usual(self, head: Head, params: dict[str, Any]) -> dict[str, Any] | None:
        """Return how any server of this era reacts to a request; None where only the tape could know."""
        method, index = head.method, self._tape.index
        is_modern = speaks_modern(params)
        if method == "server/discover":
            return {"id": head.id, "error": {"code": METHOD_NOT_FOUND, "message": "Method not found"}}
        if method == "initialize":
            data = {"supported": list(MODERN_VERSIONS), "requested": params.get("protocolVersion")}
            error = {"code": UNSUPPORTED_VERSION, "message": "Unsupported protocol version", "data": data}
            return {"id": head.id, "error": error}
        if index.has_modern and not index.initialized and not is_modern:
            text = "the request carries no protocol version in its _meta"
            return {"id": head.id, "error": {"code": INVALID_PARAMS, "message": text}}
        if method == LISTEN and is_modern and index.has_modern:
            # On a tape nothing changes, so whatever is asked for is honoured.
            told = {"notifications": params.get("notifications", {}), "_meta": {SUBSCRIPTION_KEY: head.id}}
            return {"method": "notifications/subscriptions/acknowledged", "params": told}
        return {"id": head.id, "result": {}} if method in CONFIRMED and not is_modern else None

    async def read(self, step: Step) -> msgspec.Raw:
        """Return the message of a step, without holding the event loop where it is large."""
        if step.length > LARGE_BYTES:
            return await asyncio.to_thread(self._tape.message, step)
        return self._tape.message(step)

    def deliver(self, message: bytes) -> None:
        """Hand a message to the client, unless the link is closed."""
        if not self._is_closed:
            self._receive(message)

    def ask(self, message: msgspec.Raw, *, is_awaited: bool) -> tuple[int, asyncio.Future[Head] | None]:
        """Send a request of the server under an id of its own, and return the id and where the answer comes."""
        self._asked += 1
        waiting = asyncio.get_running_loop().create_future() if is_awaited else None
        if waiting is not None:
            self._answers[self._asked] = waiting
        self.deliver(rekeyed(message, "id", to=self._asked))
        return self._asked, waiting

    def forget(self, ask_id: int) -> None:
        """Stop waiting for an answer."""
        self._answers.pop(ask_id, None)

    def branches(self, exchange: Exchange) -> list[Exchange]:
        """Return the recorded exchanges of equal requests."""
        return self._tape.index.by_key.get(exchange.key, [])[:MAX_BRANCHES]

    def refuse(self, request_id: Id, error: dict[str, Any]) -> None:
        """Answer a request with an error."""
        self.deliver(msgspec.json.encode({"jsonrpc": "2.0", "id": request_id, "error": error}))


def _ignore(_: bytes) -> None:
    """Receive nothing: the link is not open yet."""
