"""A remote server over plain HTTP, for commands: urllib in threads, because aiohttp takes longer to import than to ask.

PlainHttp      one message and the texts that come back, in the thread of whoever asks
PlainHttpLink  carries the messages of a session: requests and notifications one after another

Redirects are not followed, so that a token reaches no other host.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator
from http.client import HTTPException, IncompleteRead
from queue import SimpleQueue
from typing import Any, Final, TypeVar
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from signet.system.loop_thread import within
from signet.system.redaction import MIN_CHARS, SecretRedactor
from signet.upstream.blocking_http import BoundedHandler, BoundedTlsHandler

from .event_stream import EventParser
from .inbox import Inbox
from .link import MAX_BYTES, Outgoing, headers_of, too_long
from .messages import NO_REPLY, WireMessage

__all__ = ["PlainHttp", "PlainHttpLink", "StatusError"]

T = TypeVar("T")

SESSION: Final = "mcp-session-id"
PIECE_BYTES: Final = 1 << 16


class StatusError(ConnectionError):
    """An HTTP server refuses a request, by its status."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


class PlainHttp:
    """A connection for each message, in the session that the server opens if it opens one."""

    def __init__(
        self,
        url: str,
        *,
        timeout_s: float,
        max_bytes: int = MAX_BYTES,
        token: str | None = None,
        headers: Iterable[tuple[str, str]] = (),
        is_local: bool = False,
    ) -> None:
        """Set the bounds; a local server is asked without a proxy, and its error responses are read like others."""
        self._url = url
        self.timeout_s = timeout_s
        self._max_bytes = max_bytes
        self._headers = {name.lower(): value for name, value in headers}
        self._headers |= {} if token is None else {"authorization": f"Bearer {token}"}
        self.secrets = tuple(self._headers.values())
        """The values of headers, which nobody else may see."""
        self._is_local = is_local
        proxies = [ProxyHandler({})] if is_local else []
        self._opener = build_opener(_NoRedirect, BoundedHandler, BoundedTlsHandler, *proxies)

    def exchange(self, message: WireMessage, read: Callable[[Iterator[bytes]], T]) -> T:
        """Post a body and return what `read` makes of the texts that come back, within the time of one answer.

        Raises:
            OSError, HTTPException: no reply came; TimeoutError if it took too long.
            ValueError: the reply is too long, or `read` refuses it.
        """
        return within(self.timeout_s, lambda: self.post(message, read), "timed out")

    def notify(self, message: WireMessage) -> None:
        """Post a body; whatever comes back with the status is left unread."""
        self.exchange(message, lambda _: None)

    def post(self, message: WireMessage, read: Callable[[Iterator[bytes]], T]) -> T:
        """Post a body in this thread."""
        headers = {**message.headers, **self._headers}
        request = Request(self._url + message.path, message.body, headers)  # noqa: S310 - http and https alone come here
        with self._open(request) as response:
            if session := response.headers.get(SESSION):
                self._headers[SESSION] = session
            return read(self._texts(response))

    def _open(self, request: Request) -> Any:
        """Return the response to a request, or raise the error that urllib wraps."""
        try:
            return self._opener.open(request, timeout=self.timeout_s)
        except HTTPError as error:
            if self._is_local:
                return error
            error.close()
            raise StatusError(error.code, str(error)) from None
        except URLError as error:
            raise (error.reason if isinstance(error.reason, OSError) else OSError(error.reason)) from None

    def _texts(self, response: Any) -> Iterator[bytes]:
        """Yield the body of a response, or the data of each message of a stream, as soon as it is complete."""
        if response.headers.get_content_type() == "text/event-stream":
            parser, left = EventParser(self._max_bytes), self._max_bytes
            while chunk := response.read1(min(PIECE_BYTES, left + 1)):
                left -= len(chunk)
                if left < 0:
                    raise too_long(self._max_bytes)
                yield from (event.data for event in parser.feed(chunk) if event.data and not event.name)
            return
        body = response.read(self._max_bytes + 1)
        if len(body) > self._max_bytes:
            raise too_long(self._max_bytes)
        if response.length:
            raise IncompleteRead(body, response.length)
        yield body


class PlainHttpLink:
    """Carries the messages of one session; after an error, `error` is what went wrong."""

    def __init__(self, server: PlainHttp) -> None:
        self._server = server
        self.error: Exception | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._receive: Callable[[bytes], None] | None = None
        self._left_out = ""
        """Why the last text was no message."""
        # A response to the server goes out while the answer to a request is still read.
        self._requests: SimpleQueue[Outgoing | None] = SimpleQueue()
        self._responses: SimpleQueue[Outgoing | None] = SimpleQueue()

    async def open(
        self, receive: Callable[[bytes], None], lost: Callable[[str], None], unreadable: Callable[[str], None]
    ) -> None:
        """Begin to send; the first message makes the first connection."""
        del lost, unreadable  # each message has a connection of its own, in which its reply comes
        self._loop = asyncio.get_running_loop()
        self._receive = receive
        inbox = Inbox(self._hand_over, SecretRedactor(self._server.secrets, min_chars=MIN_CHARS), self._note)
        for queue in (self._requests, self._responses):
            threading.Thread(target=self._send_all, args=(queue, inbox), daemon=True).start()

    def send(self, message: Outgoing) -> None:
        """Post a message when all before it are answered."""
        if message.id is not None:
            self.error = None
        (self._requests if message.method else self._responses).put(message)

    def cancel(self, request_id: int) -> None:
        """Do nothing: the thread that reads the answer ends with its socket."""

    async def close(self) -> None:
        """Send nothing more."""
        self._requests.put(None)
        self._responses.put(None)

    def _send_all(self, queue: SimpleQueue[Outgoing | None], inbox: Inbox) -> None:
        while (message := queue.get()) is not None:
            try:
                self._post(message, inbox)
            except (OSError, EOFError, ValueError, RecursionError) as error:
                self._fail(message, error, inbox)
            except HTTPException as error:
                self._fail(message, ValueError(str(error) or "it does not speak HTTP"), inbox)

    def _fail(self, message: Outgoing, error: Exception, inbox: Inbox) -> None:
        self.error = error
        if message.id is not None:
            inbox.fail(message.id, str(error) or type(error).__name__)

    def _post(self, message: Outgoing, inbox: Inbox) -> None:
        """Post a message and hand over what comes back, until the reply is among it."""
        written = WireMessage(message.body, headers_of(message))
        if message.id is None:
            self._server.post(written, lambda _: None)
            return
        number = message.id
        if not self._server.post(written, lambda texts: any(inbox.take(text, number) for text in texts)):
            raise ValueError(self._left_out or NO_REPLY)

    def _note(self, why: str) -> None:
        self._left_out = why

    def _hand_over(self, text: bytes) -> None:
        loop, receive = self._loop, self._receive
        if loop is not None and receive is not None and not loop.is_closed():
            loop.call_soon_threadsafe(receive, text)
