"""The HTTP exchanges of a link: a message that is posted and its reply, and the streams that GET opens."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from signet.kernel.headers import VERSION
from signet.kernel.protocol import MODERN_VERSIONS

from .event_stream import EventParser
from .http_responses import check_encoding, content_type, delay_s, drain, read_body, read_events, status_text
from .link import Outgoing

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from aiohttp import ClientResponse
    from yarl import URL

    from .endpoint import Endpoint
    from .inbox import Inbox

__all__ = ["SESSION", "HttpStreams", "Post", "SessionEndedError"]

SESSION: Final = "mcp-session-id"
MAX_SESSION_CHARS: Final = 4_096
MAX_MESSAGE_BYTES: Final = 16_777_216
MAX_ERROR_BYTES: Final = 1_048_576
EVENTS: Final = "text/event-stream"
JSON: Final = "application/json"
LAST_ID: Final = "last-event-id"
ERROR_BODY_S: Final = 10.0
OLD_STREAM_S: Final = 10.0
MAX_RESUMES: Final = 5
"""The connections in a row without any event after which the rest of a cut stream is given up."""
OLD_STATUSES: Final = (404, 405)
"""How a server that knows only the transport of 2024-11-05 answers the first POST."""
LATER: Final = (408, 409, 429)
"""The refusals of a stream that may be taken back: 409 says that the old connection has not been missed yet."""
ADVICE: Final = {401: ": check the headers that are sent to it", 403: ": check the headers that are sent to it"}


class SessionEndedError(Exception):
    """The server does not know the session any more."""


class Post:
    """One message on its way."""

    def __init__(self, message: Outgoing) -> None:
        self.message = message
        self.task: asyncio.Task[None] | None = None
        self.is_answered = False
        self.is_written = False
        """Whether the body has gone out, so that the server may have acted on it."""
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the body has gone out, or never will."""

    def note_written(self) -> None:
        """Note that the body goes out."""
        self.is_written = True
        self.end()

    def end(self) -> None:
        """Let those go on that wait for this message to go out."""
        if not self.over.done():
            self.over.set_result(None)


class HttpStreams:
    """Posts messages to one server, and reads what comes back."""

    def __init__(self, endpoint: Endpoint, inbox: Inbox) -> None:
        self._endpoint = endpoint
        self._inbox = inbox
        self.session_id = ""
        self.version = ""
        self.is_reached = False
        """Whether the server has answered anything at all."""
        self.old_stream: asyncio.Task[None] | None = None
        """The event stream on which a server of 2024-11-05 sends all its messages."""
        self._old_url: URL | None = None
        self.why_old_ended = "it ended its event stream"

    def headers(self) -> dict[str, str]:
        """Return the headers of every request after the handshake."""
        found = {VERSION: self.version, SESSION: self.session_id}
        return {name: value for name, value in found.items() if value}

    async def ask(self, post: Post, headers: dict[str, str]) -> None:
        """Post a request and read its reply; a stream that is cut before it is resumed where that can be done."""
        parser, is_old = None, False
        is_first = post.message.method == "initialize" and self._old_url is None
        async with self._post(post, headers) as response:
            self.is_reached = True
            if is_first and response.status in OLD_STATUSES:
                is_old = True
            else:
                parser = await self._read_reply(post, response)
        if is_old and await self._open_old():
            await self.ask(post, headers)
        elif parser is not None and parser.last_id and self.version not in MODERN_VERSIONS and not post.is_answered:
            await self._listen(parser, post)
        if not post.is_answered:
            status = f"with status {response.status}" if is_old else "without the reply to the request"
            self.fail(post, f"{self._endpoint.address} answers {status}")

    async def tell(self, post: Post, headers: dict[str, str]) -> None:
        """Post a notification or a response."""
        async with self._post(post, headers) as response:
            self.is_reached = True
            if response.status == HTTPStatus.NOT_FOUND and self.session_id:
                raise SessionEndedError
            if response.status >= HTTPStatus.MULTIPLE_CHOICES:
                self.fail(post, f"{self._endpoint.address} answers with {status_text(response)}")
            elif content_type(response) == JSON:
                text = await read_body(response, MAX_MESSAGE_BYTES, self._endpoint.address)
                if text.strip():
                    self._inbox.take(text)

    async def follow(self) -> None:
        """Read the standing stream of the session, again and again, as long as the server has one."""
        await self._listen(EventParser(MAX_MESSAGE_BYTES), None)

    def fail(self, post: Post, sentence: str) -> None:
        """Answer a request that the server does not answer; anything else is only logged."""
        request_id = post.message.id
        if request_id is None:
            self._inbox.note(f"{post.message.method or 'a response'} was not taken: {sentence}")
        elif not post.is_answered:
            post.is_answered = True
            doubt = "; the call may have happened" if post.is_written and post.message.method == "tools/call" else ""
            self._inbox.fail(request_id, sentence + doubt)

    def _post(self, post: Post, headers: dict[str, str]) -> AbstractAsyncContextManager[ClientResponse]:
        return self._endpoint.ask("POST", headers, post.message.body, url=self._old_url, on_written=post.note_written)

    async def _read_reply(self, post: Post, response: ClientResponse) -> EventParser | None:
        """Read the response to a request; return the state of its stream if it was one."""
        is_opening = post.message.method == "initialize"
        if response.status == HTTPStatus.NOT_FOUND and self.session_id and not is_opening:
            raise SessionEndedError
        if response.status >= HTTPStatus.MULTIPLE_CHOICES:
            await self._read_refusal(post, response)
        elif self._old_url is not None:
            # The reply comes on the event stream.
            post.is_answered = True
        elif content_type(response) == EVENTS:
            self._take_session(response, is_opening=is_opening)
            parser = EventParser(MAX_MESSAGE_BYTES)
            await self._read_events(response, parser, post)
            return parser
        elif content_type(response) == JSON:
            self._take_session(response, is_opening=is_opening)
            text = await read_body(response, MAX_MESSAGE_BYTES, self._endpoint.address)
            post.is_answered = self._inbox.take(text, post.message.id)
        else:
            kind = f", of type {content_type(response)[:100]}" if content_type(response) else " and no type"
            why = f"with {status_text(response)}{kind}: neither JSON nor events; check the server's URL"
            self.fail(post, f"{self._endpoint.address} answers {why}")
        return None

    def _take_session(self, response: ClientResponse, *, is_opening: bool) -> None:
        if is_opening:
            given = response.headers.get(SESSION, "")
            is_usable = given.isascii() and given.isprintable() and len(given) <= MAX_SESSION_CHARS
            self.session_id = given if is_usable else ""

    async def _read_refusal(self, post: Post, response: ClientResponse) -> None:
        """Relay the JSON-RPC error in a response that refuses a request, or make one of its status."""
        text = b""
        if content_type(response) == JSON:
            try:
                async with asyncio.timeout(ERROR_BODY_S):
                    text = await read_body(response, MAX_ERROR_BYTES, self._endpoint.address)
            except (TimeoutError, ValueError):
                text = b""
        if post.message.id is not None and self._inbox.take_error(text, post.message.id):
            post.is_answered = True
            return
        why = f"with {status_text(response)}{ADVICE.get(response.status, '')}"
        self.fail(post, f"{self._endpoint.address} answers {why}")

    async def _read_events(self, response: ClientResponse, parser: EventParser, post: Post | None) -> int:
        """Hand over the messages of a stream until it ends or the reply has come; return the number of events.

        Raises:
            ValueError: an event is too large.
        """
        import aiohttp

        check_encoding(response, self._endpoint.address)
        request_id = post.message.id if post is not None else None
        count = 0
        try:
            while chunk := await response.content.readany():
                for event in await read_events(parser, chunk):
                    count += 1
                    is_reply = bool(event.data) and not event.name and self._inbox.take(event.data, request_id)
                    if post is not None and is_reply:
                        post.is_answered = True
                if post is not None and post.is_answered:
                    await drain(response)
                    break
        except (aiohttp.ClientError, OSError):
            if not parser.last_id and post is not None:
                raise
        return count

    async def _listen(self, parser: EventParser, post: Post | None) -> None:
        """Open a stream with GET, and again when it ends: the standing stream, or the rest of one that was cut."""
        import aiohttp

        failures, is_first = 0, post is None
        while failures < MAX_RESUMES or post is None:
            if not is_first:
                await asyncio.sleep(delay_s(parser.retry_ms, failures))
            is_first = False
            headers = self.headers() | {"accept": EVENTS} | ({LAST_ID: parser.last_id} if parser.last_id else {})
            count = 0
            try:
                async with self._endpoint.ask("GET", headers) as response:
                    if response.status == HTTPStatus.NOT_FOUND and self.session_id:
                        raise SessionEndedError
                    if content_type(response) == EVENTS and response.status == HTTPStatus.OK:
                        parser = parser.resumed()
                        count = await self._read_events(response, parser, post)
                    elif response.status < HTTPStatus.INTERNAL_SERVER_ERROR and response.status not in LATER:
                        return
            except (aiohttp.ClientError, OSError, ValueError) as error:
                self._inbox.note(self._endpoint.describe(error))
                if post is not None and isinstance(error, ValueError):
                    # An event that is too large comes again with each connection.
                    self.fail(post, self._endpoint.describe(error))
            if post is not None and post.is_answered:
                return
            failures = 0 if count else failures + 1

    async def _open_old(self) -> bool:
        """Look for the event stream of a server of 2024-11-05; return whether it names where messages are posted to."""
        named: asyncio.Future[URL | None] = asyncio.get_running_loop().create_future()
        self.old_stream = asyncio.get_running_loop().create_task(self._follow_old(named))
        try:
            async with asyncio.timeout(OLD_STREAM_S):
                self._old_url = await named
        except TimeoutError:
            self._old_url = None
        if self._old_url is None:
            self.old_stream.cancel()
            self.old_stream = None
        return self._old_url is not None

    async def _follow_old(self, named: asyncio.Future[URL | None]) -> None:
        import aiohttp

        parser = EventParser(MAX_MESSAGE_BYTES)
        try:
            async with self._endpoint.ask("GET", {"accept": EVENTS}) as response:
                is_stream = content_type(response) == EVENTS and response.status == HTTPStatus.OK
                while is_stream and (chunk := await response.content.readany()):
                    for event in await read_events(parser, chunk):
                        if event.name == "endpoint" and not named.done():
                            named.set_result(self._endpoint.join(event.data.decode(errors="replace")))
                        elif event.data and not event.name:
                            self._inbox.take(event.data)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            self.why_old_ended = self._endpoint.describe(error)
            self._inbox.note(self.why_old_ended)
        finally:
            if not named.done():
                named.set_result(None)
