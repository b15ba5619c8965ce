"""A link that plays a recorded server: every request gets what followed the equal recorded one, without network.

    send ── equal request recorded? ── no ──▶ an error that names the nearest
                     │ yes
                     ▼
    notifications, requests of the server ── the answer to each is awaited ── reply

Ids and progress tokens are those of the new request; every other byte is as the server wrote it. The error for a
request that was not recorded names the nearest recorded one, and the differences.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any, Final

import msgspec

from signet.kernel.errors import INTERNAL, INVALID_PARAMS, METHOD_NOT_FOUND, UNSUPPORTED_VERSION
from signet.kernel.protocol import MODERN_VERSIONS
from signet.kernel.wire import MessageHead
from signet.mcp.link import LinkError, Outgoing
from signet.system.canonical_json import comparable
from signet.system.json_differences import json_differences
from signet.system.recording_redactor import RecordingRedactor
from signet.system.text import cut

from .message_index import ANSWER, ASK, LISTEN, REPLY, REQUEST, RecordedMessage, RecordedRequest
from .message_reader import MessageReader
from .requests import (
    CONFIRMED,
    SUBSCRIPTION_KEY,
    Id,
    head_of,
    id_of,
    is_reply,
    name_of,
    params_of,
    progress_token,
    rekeyed,
    speaks_modern,
)

__all__ = ["PlaybackLink"]

LARGE_BYTES: Final = 65_536
"""The size from which on a message is read in a thread."""
MAX_BRANCHES: Final = 200
"""The number of equal recorded requests among which an answer of the client chooses."""
UNJUDGED: Final = frozenset({"roots/list", "ping"})
"""Requests of a server whose answers tell about the client's machine, not about what somebody decided."""
MAX_SHOWN_CHARS: Final = 200
MAX_COMPARED_BYTES: Final = 100_000
"""The size of all texts that are compared letter by letter, and of one request that is looked at."""
MAX_TEXT_BYTES: Final = 1_000
"""The beginning of a text that is compared letter by letter."""
MAX_DIFFERENCES: Final = 5
ARGUMENTS: Final = "arguments"
ADVICE: Final = "record it with --record"


class PlaybackLink:
    """Plays one instance of a recorded server."""

    def __init__(self, messages: str | MessageReader, secrets: tuple[str, ...] = ()) -> None:
        """Play the recording in a folder, or one that several links share; `secrets` are removed from requests."""
        self._is_own = isinstance(messages, str)
        self._messages = MessageReader(messages) if isinstance(messages, str) else messages
        self._redactor = RecordingRedactor(secrets)
        self._receive: Callable[[bytes], None] = _ignore
        self._playing: dict[Id, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._answers: dict[int, asyncio.Future[MessageHead]] = {}
        self._asked = 0
        self._is_closed = False

    async def open(
        self,
        receive: Callable[[bytes], None],
        lost: Callable[[str], None],  # noqa: ARG002 - a recording is never lost
        unreadable: Callable[[str], None] | None = None,  # noqa: ARG002 - a recording holds whole messages
    ) -> None:
        """Read the recording.

        Raises:
            LinkError: it cannot be read.
        """
        await asyncio.to_thread(self._messages.load)
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
        if is_reply(head):
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
            self._messages.close()

    def _begin(self, head: MessageHead, params: dict[str, Any]) -> None:
        method, number = str(head.method), id_of(head)
        equal = self._messages.equal(method, params)
        # Chosen at once, so that equal requests get their replies in the order in which they were sent.
        chosen = self._messages.next_of(equal) if equal else None
        if chosen is None and number is None:
            return
        task = asyncio.get_running_loop().create_task(self._answer(method, number, params, chosen))
        self._tasks.add(task)
        if number is not None:
            self._playing[number] = task
        task.add_done_callback(lambda done: self._ended(number, done))

    def _ended(self, request_id: Id | None, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if request_id is not None and self._playing.get(request_id) is task:
            del self._playing[request_id]

    async def _answer(
        self, method: str, number: Id | None, params: dict[str, Any], chosen: RecordedRequest | None
    ) -> None:
        play = _Playback(self, number, params, chosen) if chosen is not None else None
        try:
            if play is not None:
                await play.run()
                return
            reply = self._usual(method, number, params)
            if reply is None:
                error = await asyncio.to_thread(_not_recorded, self._messages, method, params)
                reply = {"id": number, "error": error}
        except LinkError as broken:
            reply = {"id": number, "error": {"code": INTERNAL, "message": str(broken)}}
        except (ValueError, RecursionError):
            # Only the members that an index needs are read before: the others may be no Unicode, or nested too deeply.
            message = "the recording has a message that cannot be played: record the call again"
            reply = {"id": number, "error": {"code": INTERNAL, "message": message}}
        if number is not None and (play is None or not play.is_replied):
            self.deliver(msgspec.json.encode({"jsonrpc": "2.0", **reply}))

    def _usual(self, method: str, number: Id | None, params: dict[str, Any]) -> dict[str, Any] | None:
        """Return how any server of this era reacts to a request; None where only the recording could know."""
        index = self._messages.index
        is_modern = speaks_modern(params)
        if method == "server/discover":
            return {"id": number, "error": {"code": METHOD_NOT_FOUND, "message": "Method not found"}}
        if method == "initialize":
            data = {"supported": list(MODERN_VERSIONS), "requested": params.get("protocolVersion")}
            error = {"code": UNSUPPORTED_VERSION, "message": "Unsupported protocol version", "data": data}
            return {"id": number, "error": error}
        if index.has_modern and not index.initialized and not is_modern:
            text = "the request carries no protocol version in its _meta"
            return {"id": number, "error": {"code": INVALID_PARAMS, "message": text}}
        if method == LISTEN and is_modern and index.has_modern:
            # In a recording nothing changes, so every subscription is honoured.
            honoured = {"notifications": params.get("notifications", {}), "_meta": {SUBSCRIPTION_KEY: number}}
            return {"method": "notifications/subscriptions/acknowledged", "params": honoured}
        return {"id": number, "result": {}} if method in CONFIRMED and not is_modern else None

    async def read(self, entry: RecordedMessage) -> msgspec.Raw:
        """Return the message of an entry, without holding the event loop where it is large."""
        if entry.length > LARGE_BYTES:
            return await asyncio.to_thread(self._messages.message, entry)
        return self._messages.message(entry)

    def deliver(self, message: bytes) -> None:
        """Hand a message to the client, unless the link is closed."""
        if not self._is_closed:
            self._receive(message)

    def ask(self, message: msgspec.Raw, *, is_awaited: bool) -> tuple[int, asyncio.Future[MessageHead] | None]:
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

    def branches(self, request: RecordedRequest) -> list[RecordedRequest]:
        """Return the equal recorded requests."""
        return self._messages.index.by_key.get(request.key, [])[:MAX_BRANCHES]


class _Playback:
    """One recorded request that is being played: what followed it, up to its reply and behind it."""

    def __init__(self, link: PlaybackLink, number: Id | None, params: dict[str, Any], request: RecordedRequest) -> None:
        self._link = link
        self._id = number
        self._token = progress_token(params)
        self._request = request
        self._given: list[bytes] = []
        """The answers of the client so far, in the order of the entries at which they were awaited."""
        self._asks: dict[int, tuple[int, asyncio.Future[MessageHead] | None, str]] = {}
        self.is_replied = number is None or request.method == LISTEN
        """Whether the request has its reply, or waits for none."""

    async def run(self) -> None:
        """Play the entries one after the other.

        Raises:
            LinkError: no reply is recorded: to a notification, or behind the answer that the client gave.
        """
        entries = list(self._request.entries())
        position = 0
        try:
            while position < len(entries):
                entry = entries[position]
                position += 1
                if entry.kind == ANSWER:
                    if not await self._await(entry):
                        return
                    entries = list(self._request.entries())
                    position = _after_answer(entries, len(self._given))
                elif entry.kind == ASK:
                    is_awaited = any(one.kind == ANSWER and one.ask == entry.ask for one in entries)
                    message = await self._link.read(entry)
                    ask_id, waiting = self._link.ask(message, is_awaited=is_awaited)
                    self._asks[entry.ask] = ask_id, waiting, str(head_of(message).method)
                elif entry.kind != REQUEST:
                    await self._deliver(entry)
            if not self.is_replied:
                raise LinkError("the recording has no reply to this request: record the call again")
        finally:
            for ask_id, _, _ in self._asks.values():
                self._link.forget(ask_id)

    async def _deliver(self, entry: RecordedMessage) -> None:
        """Deliver a notification or the reply."""
        message: bytes | msgspec.Raw = await self._link.read(entry)
        if entry.kind == REPLY:
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
            ask = self._asks.get(entry.ask)
            message = rekeyed(message, "params", "requestId", to=ask[0] if ask is not None else 0)
        elif self._request.method == LISTEN:
            message = rekeyed(message, "params", "_meta", SUBSCRIPTION_KEY, to=self._id)
        self._link.deliver(bytes(message))

    async def _await(self, entry: RecordedMessage) -> bool:
        """Wait for the client's answer; return False after an error if nothing is recorded that follows it."""
        # Another branch may have asked before the answer that led to it: the client is not asked then, and the
        # recording decides.
        _, waiting, method = self._asks.get(entry.ask, (0, None, ""))
        recorded = _answer_key(head_of(await self._link.read(entry)))
        given = recorded if waiting is None else _answer_key(await waiting)
        if method in UNJUDGED:
            given = recorded
        self._given.append(given)
        if given == recorded or self.is_replied:
            return True
        others = [recorded]
        for branch in self._link.branches(self._request):
            told = [_answer_key(head_of(await self._link.read(one))) for one in branch.entries() if one.kind == ANSWER]
            if told[: len(self._given)] == self._given:
                self._request = branch
                return True
            if len(told) >= len(self._given) and told[: len(self._given) - 1] == self._given[:-1]:
                others.append(told[len(self._given) - 1])
        self._refuse(method, given, others)
        return False

    def _refuse(self, method: str, given: bytes, others: list[bytes]) -> None:
        """Answer the request with an error: the client's answer was given in no recorded call."""
        if self._id is not None:
            distinct = [msgspec.json.decode(one) for one in dict.fromkeys(others)]
            error = _unexpected_answer(method, msgspec.json.decode(given), distinct)
            self._link.deliver(msgspec.json.encode({"jsonrpc": "2.0", "id": self._id, "error": error}))


def _ignore(_: bytes) -> None:
    """Receive nothing: the link is not open yet."""


def _after_answer(entries: list[RecordedMessage], count: int) -> int:
    """Return the position after so many answers."""
    for position, entry in enumerate(entries):
        count -= entry.kind == ANSWER
        if count == 0:
            return position + 1
    return len(entries)


def _answer_key(answer: MessageHead) -> bytes:
    """Return the content of an answer, in a form in which equal answers are equal; of an error, its code."""
    if isinstance(answer.error, msgspec.Raw):
        with contextlib.suppress(ValueError):
            return comparable({"error": msgspec.json.decode(answer.error, type=dict[str, Any]).get("code")})
    value = msgspec.json.decode(answer.result) if isinstance(answer.result, msgspec.Raw) else None
    if isinstance(value, dict):
        value = {name: one for name, one in value.items() if name != "_meta"}
    return comparable(value)


def _shown(value: Any) -> str:
    """Return a value as JSON, cut where it is long."""
    text = comparable(value).decode(errors="replace")
    return cut(text, MAX_SHOWN_CHARS)


def _not_recorded(messages: MessageReader, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON-RPC error for a request that the recording has no reply to.

    The work is bounded: a thousand recorded requests are looked at, and a hundred kilobytes of them in depth.
    """
    names = messages.index.by_name.get(method)
    if names is None:
        return {"code": METHOD_NOT_FOUND, "message": f"not recorded: this recording has no {method}; {ADVICE}"}
    name = name_of(params)
    if name not in names:
        return _unknown_name(method, name, list(names))
    asked = _told(params)
    what = f"{method} of {name}" if name else method
    text = f"not recorded: this recording has no {what} with {_shown(asked)}"
    nearest = _nearest(messages, asked, names[name])
    if nearest is None:
        return {"code": INVALID_PARAMS, "message": f"{text}; {ADVICE}"}
    differing = _differing(asked, nearest)
    texts = [_difference(one, asked, nearest) for one in differing[:MAX_DIFFERENCES]]
    message = f"{text}; the nearest recorded one has {_shown(nearest)} ({'; '.join(texts)}); {ADVICE}"
    return {"code": INVALID_PARAMS, "message": message, "data": {"nearest": _shown(nearest), "differs": differing[:50]}}


def _unexpected_answer(method: str, given: Any, recorded: list[Any]) -> dict[str, Any]:
    """Return the JSON-RPC error for an answer to a request of the server after which nothing is recorded."""
    others = " or ".join(_shown(one) for one in recorded[:3])
    message = (
        f"not recorded: in this recording {method} was not answered with {_shown(given)} but with {others}; {ADVICE}"
    )
    return {"code": INVALID_PARAMS, "message": message}


def _unknown_name(method: str, name: str, names: list[str]) -> dict[str, Any]:
    from difflib import get_close_matches

    close = get_close_matches(name[:MAX_SHOWN_CHARS], [one[:MAX_SHOWN_CHARS] for one in names[:1000]], 1, 0.0)
    nearest = f"; the nearest recorded name is {close[0]}" if close and close[0] else ""
    return {
        "code": INVALID_PARAMS,
        "message": f"not recorded: this recording has no {method} of {name[:MAX_SHOWN_CHARS]}{nearest}; {ADVICE}",
    }


def _told(params: dict[str, Any]) -> dict[str, Any]:
    """Return what a caller chose: the arguments of a call, with what it says beside them."""
    arguments = params.get(ARGUMENTS)
    beside = {key: value for key, value in params.items() if key not in {ARGUMENTS, "name", "uri", "_meta"}}
    return {**beside, **arguments} if isinstance(arguments, dict) else beside


def _nearest(messages: MessageReader, asked: dict[str, Any], requests: list[RecordedRequest]) -> dict[str, Any] | None:
    """Return the recorded request with the fewest different arguments; of several, the one with the likest text."""
    nearest: list[dict[str, Any]] = []
    fewest = 1 << 30
    for request in requests:
        entry = request.first(REQUEST)
        if entry is None or entry.length > MAX_COMPARED_BYTES:
            continue
        told = _told(params_of(head_of(messages.message(entry))))
        count = len(_differing(asked, told))
        if count < fewest:
            fewest, nearest = count, []
        if count == fewest:
            nearest.append(told)
    return max(nearest[: _budget(nearest)], key=_likeness(asked)) if len(nearest) > 1 else next(iter(nearest), None)


def _budget(candidates: list[dict[str, Any]]) -> int:
    """Return how many candidates may be compared letter by letter, at least one."""
    left = MAX_COMPARED_BYTES
    for count, candidate in enumerate(candidates):
        left -= min(len(msgspec.json.encode(candidate)), MAX_TEXT_BYTES)
        if left < 0:
            return max(count, 1)
    return len(candidates)


def _likeness(asked: dict[str, Any]) -> Any:
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(a="", b=comparable(asked)[:MAX_TEXT_BYTES].decode(errors="replace"), autojunk=False)

    def likeness(told: dict[str, Any]) -> float:
        matcher.set_seq1(comparable(told)[:MAX_TEXT_BYTES].decode(errors="replace"))
        return matcher.ratio()

    return likeness


def _differing(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    return sorted(str(found.names[0]) for found in json_differences(one, other, comparable, depth=1))


def _difference(name: str, asked: dict[str, Any], nearest: dict[str, Any]) -> str:
    if name not in asked:
        return f"{name} is missing here"
    if name not in nearest:
        return f"{name} is missing there"
    return f"{name} is {_shown(asked[name])} here and {_shown(nearest[name])} there"
