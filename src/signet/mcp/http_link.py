"""A link to a remote server over Streamable HTTP, in both eras, and to the older servers with two addresses.

    send ── a task each ── POST ──▶ JSON, or events ──▶ inbox ──▶ receive
                            └── a stream that was cut ── GET, Last-Event-ID ──┘
    handshake era: the session id of `initialize`, one standing GET stream, DELETE at the end

A notification is posted when everything sent before it has gone out, and all that follows
`notifications/initialized` waits until the server has taken it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from signet.kernel.headers import VERSION
from signet.kernel.protocol import MODERN_VERSIONS

from .http_streams import SESSION, HttpStreams, Post, SessionEndedError
from .link import Outgoing, headers_of

if TYPE_CHECKING:
    from signet.upstream.egress import Egress

    from .endpoint import Endpoint

__all__ = ["HttpLink"]

MAX_STREAMS: Final = 256
"""The requests that are with the server at once."""
MAX_QUEUED: Final = 1_024
"""The messages that wait for their turn."""
MAX_NOTES: Final = 64
"""The notifications and responses that are with the server at once: none waits for a request to be answered."""
NOTE_S: Final = 30.0
DELETE_S: Final = 1.0
ENDING_S: Final = 0.5
MAX_UNREACHED: Final = 3
"""After so many connections in a row that could not be made, the server counts as gone."""
INITIALIZE: Final = "initialize"
INITIALIZED: Final = "notifications/initialized"


def _ignore(*_: object) -> None:
    """Do nothing."""


class HttpLink:
    """Carries messages to one remote server."""

    def __init__(
        self,
        url: str,
        headers: Iterable[tuple[str, str]] = (),
        *,
        log: Callable[[str], None] = _ignore,
        egress: Egress | None = None,
    ) -> None:
        """Reach a server at a URL, with headers that nobody else sees; `log` takes a line about what was left out."""
        self._url = url
        self._headers = tuple(headers)
        self._log = log
        self._egress = egress
        self._streams: HttpStreams | None = None
        self._endpoint: Endpoint | None = None
        self._posts: dict[int, Post] = {}
        self._unwritten: set[Post] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._last_note: asyncio.Task[None] | None = None
        self._initialized: asyncio.Task[None] | None = None
        self._requests = asyncio.Semaphore(MAX_STREAMS)
        self._notes = asyncio.Semaphore(MAX_NOTES)
        self._unreached = 0
        self._is_over = False
        self._lost: Callable[[str], None] = _ignore

    async def open(
        self,
        receive: Callable[[bytes], None],
        lost: Callable[[str], None],
        unreadable: Callable[[str], None] = _ignore,  # noqa: ARG002 - a reply comes in the response to its request
    ) -> None:
        """Check the URL and the headers; the first message makes the first connection."""
        from .endpoint import Endpoint
        from .inbox import Inbox

        self._endpoint = Endpoint(self._url, self._headers, self._egress)
        self._lost = lost
        inbox = Inbox(receive, self._endpoint.redactor, self._log)
        self._streams = HttpStreams(self._endpoint, inbox)

    def send(self, message: Outgoing) -> None:
        """Post a message, in a task of its own."""
        if self._streams is None:
            return
        post = Post(message)
        if self._is_over or len(self._tasks) >= MAX_STREAMS + MAX_QUEUED:
            why = "the connection to it has ended" if self._is_over else "too many messages wait for it: try again"
            asyncio.get_running_loop().call_soon(self._streams.fail, post, f"the server was not asked: {why}")
            return
        is_note = message.id is None
        before = self._before(post)
        self._unwritten.add(post)
        task = self._spawn(self._deliver(post, before))
        if message.id is not None:
            self._posts[message.id] = post
            post.task = task
        if is_note and message.method:
            self._last_note = task
        if message.method == INITIALIZED:
            self._initialized = task

    def cancel(self, request_id: int) -> None:
        """Close the stream of a request; its reply does not come any more."""
        post = self._posts.pop(request_id, None)
        if post is not None and post.task is not None:
            post.is_answered = True
            post.task.cancel()

    async def close(self) -> None:
        """End the streams and the session."""
        import aiohttp

        self._is_over = True
        streams, endpoint = self._streams, self._endpoint
        if streams is None or endpoint is None:
            return
        mine = asyncio.current_task()
        old = () if streams.old_stream is None else (streams.old_stream,)
        tasks = [task for task in {*self._tasks, *old} if task is not mine]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=ENDING_S)
        session, streams.session_id = streams.session_id, ""
        if session:
            headers = streams.headers() | {SESSION: session}
            # The server may be gone.
            with suppress(aiohttp.ClientError, ValueError, OSError):
                async with asyncio.timeout(DELETE_S), endpoint.ask("DELETE", headers):
                    pass
        await endpoint.close()

    def _before(self, post: Post) -> list[asyncio.Future[None]]:
        """Return what has to be over before a message is posted."""
        before: list[asyncio.Future[None]] = []
        if self._initialized is not None and not self._initialized.done():
            before.append(self._initialized)
        if post.message.id is None and post.message.method:
            before += [earlier.over for earlier in self._unwritten]
            if self._last_note is not None and not self._last_note.done():
                before.append(self._last_note)
        return before

    async def _deliver(self, post: Post, before: list[asyncio.Future[None]]) -> None:
        """Post one message when its turn has come; whatever fails is told."""
        streams, endpoint = self._streams, self._endpoint
        assert streams is not None  # noqa: S101 - set by `open`, before the first message
        assert endpoint is not None  # noqa: S101 - likewise
        import aiohttp

        message_id = post.message.id
        try:
            if before:
                await asyncio.wait(before)
            await self._post(streams, post)
            self._unreached = 0
        except SessionEndedError:
            streams.fail(post, "the session with the server ended: the server does not know it any more")
            self._lose("its session ended")
        except (aiohttp.ClientError, ValueError, OSError) as error:
            sentence = endpoint.describe(error)
            is_unreached = isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError)
            streams.fail(post, sentence)
            self._unreached = self._unreached + 1 if is_unreached else 0
            if is_unreached and (self._unreached >= MAX_UNREACHED or not streams.is_reached):
                self._lose(sentence)
        finally:
            post.end()
            self._unwritten.discard(post)
            if message_id is not None and self._posts.get(message_id) is post:
                del self._posts[message_id]

    async def _post(self, streams: HttpStreams, post: Post) -> None:
        message = post.message
        is_modern = message.version in MODERN_VERSIONS
        if message.version:
            streams.version = message.version
        headers = streams.headers() | headers_of(message)
        if message.method == INITIALIZE:
            headers.pop(VERSION, None)
        if message.id is not None:
            async with self._requests:
                await streams.ask(post, headers)
        else:
            async with self._notes, asyncio.timeout(NOTE_S):
                await streams.tell(post, headers)
        self._unwritten.discard(post)
        if streams.old_stream is None:
            if message.method == INITIALIZED and not is_modern:
                self._spawn(self._stand(streams))
        elif streams.old_stream not in self._tasks:
            self._tasks.add(streams.old_stream)
            streams.old_stream.add_done_callback(self._end_old)

    async def _stand(self, streams: HttpStreams) -> None:
        """Hold the standing stream open."""
        try:
            await streams.follow()
        except SessionEndedError:
            self._lose("its session ended")

    def _end_old(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and self._streams is not None:
            self._lose(self._streams.why_old_ended)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _lose(self, sentence: str) -> None:
        if not self._is_over:
            self._is_over = True
            self._lost(sentence)
