"""MCP client: asks a server over stdio or HTTP, blocking, and bounded in time and bytes.

    McpClient ──▶ MessageBuilder    the messages and headers of one protocol revision, of either era
        │
        └───────▶ Transport         stdio: a line there, lines back · HTTP: a POST there, a body or events back

Redirects are not followed, so that a token reaches no other host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from http.client import IncompleteRead
from itertools import count
from time import monotonic
from typing import Any, Final, Protocol, TypeVar
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

import msgspec

from signet.kernel.errors import METHOD_NOT_FOUND
from signet.kernel.protocol import HANDSHAKE_VERSIONS, Identity
from signet.kernel.wire import message_head
from signet.upstream.blocking_http import BoundedHandler, BoundedTlsHandler
from signet.upstream.server_process import ServerProcess, within

from .messages import MessageBuilder, WireMessage, error_object, read_raw, response
from .snapshot import check_names

__all__ = ["MAX_PAGES", "HttpTransport", "ListedTool", "McpClient", "StatusError", "StdioTransport", "Transport"]

T = TypeVar("T")

SESSION: Final = "mcp-session-id"
MAX_BYTES: Final = 16 << 20
MAX_PAGES: Final = 100


class Transport(Protocol):
    """Carries messages to a server and replies back; after an error it is not used again."""

    def exchange(self, message: WireMessage, read: Callable[[Iterator[bytes]], T]) -> T:
        """Send a request and return what `read` makes of the texts that come back.

        Raises:
            OSError, EOFError, HTTPException: no reply came; TimeoutError if it took too long.
            ValueError: the reply is too long, or `read` refuses it.
        """

    def notify(self, message: WireMessage) -> None:
        """Send a message to which no reply is due; raises what `exchange` raises."""


class StdioTransport:
    """The pipes of a server process: one line for each message."""

    def __init__(self, process: ServerProcess, *, timeout_s: float, max_bytes: int = MAX_BYTES) -> None:
        self._process = process
        self.timeout_s = timeout_s
        self._max_bytes = max_bytes

    def exchange(self, message: WireMessage, read: Callable[[Iterator[bytes]], T]) -> T:
        """Send a line and read the lines that follow."""
        deadline = monotonic() + self.timeout_s
        try:
            self._process.send(message.body, deadline)
            return read(self._replies(deadline))
        except TimeoutError:
            raise TimeoutError("it does not answer in time") from None

    def _replies(self, deadline: float) -> Iterator[bytes]:
        """Yield the lines of the server but its requests, which are answered here."""
        for line in _bounded_lines(partial(self._process.receive, deadline), self._max_bytes):
            answer = _answer_of(line)
            if answer is None:
                yield line
            else:
                self._process.send(answer, deadline)

    def notify(self, message: WireMessage) -> None:
        """Send a line."""
        try:
            self._process.send(message.body, monotonic() + self.timeout_s)
        except TimeoutError:
            raise TimeoutError("it does not read its input in time") from None


def _answer_of(text: bytes) -> bytes | None:
    """Return the answer to a text if it is a request of the server: to a ping, or that its method is not known."""
    if b'"method"' not in text:
        return None
    try:
        asked = message_head(text)
    except (ValueError, RecursionError):
        return None
    if not asked.is_request or asked.id is None:
        return None
    if asked.method == "ping":
        return response(asked.id, result=b"{}")
    return response(asked.id, error=error_object(METHOD_NOT_FOUND, "this client has no such method"))


class StatusError(ConnectionError):
    """An HTTP server refuses a request, by its status."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


class HttpTransport:
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
        self._is_local = is_local
        proxies = [ProxyHandler({})] if is_local else []
        self._opener = build_opener(_NoRedirect, BoundedHandler, BoundedTlsHandler, *proxies)

    def exchange(self, message: WireMessage, read: Callable[[Iterator[bytes]], T]) -> T:
        """Post a body and read the response."""
        return within(self.timeout_s, lambda: self._post(message, read), "timed out")

    def notify(self, message: WireMessage) -> None:
        """Post a body; whatever comes back with the status is left unread."""
        self.exchange(message, lambda _: None)

    def _post(self, message: WireMessage, read: Callable[[Iterator[bytes]], T]) -> T:
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
        """Yield the body of a response, or the data of each event of a stream."""
        if response.headers.get_content_type() == "text/event-stream":
            yield from _event_data(_bounded_lines(response.readline, self._max_bytes))
            return
        body = response.read(self._max_bytes + 1)
        if len(body) > self._max_bytes:
            raise _too_long(self._max_bytes)
        if response.length:
            raise IncompleteRead(body, response.length)
        yield body


def _bounded_lines(readline: Callable[[int], bytes], max_bytes: int) -> Iterator[bytes]:
    left = max_bytes
    while line := readline(left + 1):
        left -= len(line)
        if left < 0:
            raise _too_long(max_bytes)
        yield line


def _too_long(max_bytes: int) -> ValueError:
    return ValueError(f"its answer is longer than {max_bytes} bytes")


def _event_data(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the data of each event as soon as it is complete: a stream may stay open behind the reply."""
    data: list[bytes] = []
    for line in lines:
        if line.startswith(b"data:"):
            data.append(line[5:].strip())
        elif not line.strip() and data:
            yield b"\n".join(data)
            data = []


class ListedTool(msgspec.Struct, frozen=True, rename="camel"):
    """A tool as a server lists it."""

    name: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None = None
    title: str | None = None
    description: str | None = None


class _ToolPage(msgspec.Struct, frozen=True, rename="camel"):
    tools: list[ListedTool]
    next_cursor: str | None = None


class McpClient:
    """A session with one server; each method raises what its transport and `read_result` raise."""

    def __init__(self, transport: Transport, client: Identity, version: str = HANDSHAKE_VERSIONS[-1]) -> None:
        self._transport = transport
        self._messages = MessageBuilder(version, client)
        self._numbers = count()
        self.is_open = self._messages.is_modern
        """Whether the server has begun as an MCP server does, if its revision has a beginning."""

    @property
    def version(self) -> str:
        """The protocol revision that is spoken."""
        return self._messages.version

    def request(self, method: str, params: dict[str, Any]) -> Any:
        """Send a request, after the handshake if the revision has one, and return its result."""
        return msgspec.json.decode(self.request_raw(method, params))

    def request_raw(self, method: str, params: dict[str, Any]) -> msgspec.Raw:
        """Send a request as `request` does, and return its result as the server wrote it."""
        if not self.is_open:
            self.handshake()
        number = next(self._numbers)
        message = self._messages.request(number, method, params)
        return self._transport.exchange(message, lambda texts: read_raw(texts, number))

    def list_tools(self) -> list[ListedTool]:
        """Return the tools of all pages of `tools/list`; raise ValueError if one is listed twice."""
        tools: list[ListedTool] = []
        params: dict[str, Any] = {}
        for _ in range(MAX_PAGES):
            page = msgspec.convert(self.request("tools/list", params), _ToolPage)
            tools += page.tools
            if page.next_cursor is None:
                check_names("tool", [tool.name for tool in tools])
                return tools
            params = {"cursor": page.next_cursor}
        raise ValueError(f"its list has more than {MAX_PAGES} pages")

    def handshake(self) -> msgspec.Raw:
        """Agree on a revision and return what the server says; from here on the revision is the one that it chose."""
        number = next(self._numbers)
        hello = self._transport.exchange(self._messages.initialize(number), lambda texts: read_raw(texts, number))
        match msgspec.json.decode(hello):
            case {"protocolVersion": str(version)}:
                self._messages = msgspec.structs.replace(self._messages, version=version)
            case _:
                raise ValueError("it does not say which protocol it speaks")
        self._transport.notify(self._messages.initialized())
        self.is_open = True
        return hello
