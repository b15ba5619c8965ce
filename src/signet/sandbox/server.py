"""A small HTTP/1.1 server on loopback that stands in for an upstream, with faults that tests can order.

    connection ── RequestReader ── SandboxRequest ── RequestRouter ──┬── /_sandbox ─────── the control API
                                                                     ├── /_hop, /_loop ─── the next redirect
                                                                     └── the log ── the fault rules
    connection ◀── ResponseWriter ◀── no rule: the handler's response; a rule: its fault, a function in `faults`

The handler knows the upstream's endpoints and data; the server does not.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
import time
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

import msgspec

from signet.kernel.errors import Fault

from .exchange import LoggedRequest, RequestReader, ResponseWriter
from .faults import FAULTS, FaultRule, follow_redirect, read_fault_rule, take_rule
from .message import SandboxRequest, SandboxResponse, json_response, problem_response, response_head

__all__ = ["Clock", "Handler", "RequestRouter", "Running", "Sandbox", "start", "utc_now"]

Handler = Callable[[SandboxRequest], SandboxResponse]
Clock = Callable[[], datetime]

ROOT: Final = "/_sandbox"
NO_CONTENT: Final = SandboxResponse(204, type=None)

MAX_LOGGED: Final = 100_000
"""How many requests the log keeps; the oldest are dropped first."""


class RequestRouter:
    """The state that the connections of one sandbox share: its handler, fault rules, log and control API."""

    def __init__(self, handler: Handler, about: dict[str, Any]) -> None:
        self.rules: list[FaultRule] = []
        self.log: deque[LoggedRequest] = deque(maxlen=MAX_LOGGED)
        self._handler = handler
        self._start = time.monotonic()
        about = {**about, "data": "sample data", "faults": list(FAULTS)}
        self._controls: dict[str, dict[str, Handler]] = {
            ROOT: {"GET": lambda _: json_response(about)},
            f"{ROOT}/faults": {
                "GET": lambda _: json_response({"faults": self.rules}),
                "POST": self._add_rule,
                "DELETE": lambda _: _cleared(self.rules),
            },
            f"{ROOT}/requests": {
                "GET": lambda _: json_response({"requests": tuple(self.log)}),
                "DELETE": lambda _: _cleared(self.log),
            },
        }

    def route(self, request: SandboxRequest) -> tuple[Callable[[], SandboxResponse], FaultRule | None, LoggedRequest]:
        """Return the normal response as a function, the fault rule if any, and the log entry of the request."""
        entry = LoggedRequest.of(request, time.monotonic() - self._start)
        control = self._control(request)
        if control is not None:
            return (lambda: control), None, entry
        self.log.append(entry)
        redirect = follow_redirect(request)
        if isinstance(redirect, SandboxResponse):
            return (lambda: redirect), None, entry
        rule = take_rule(self.rules, request.target) if redirect is None else None
        entry.fault = rule.name if rule else None
        return partial(self._handler, redirect or request), rule, entry

    def _control(self, request: SandboxRequest) -> SandboxResponse | None:
        """Return the response to a request of the control API under `/_sandbox`, or None for any other request."""
        path = request.path.removesuffix("/")
        if path != ROOT and not path.startswith(ROOT + "/"):
            return None
        # A page of another site can send a request here, but never one without an Origin.
        if "origin" in request.headers:
            return problem_response(403, "web pages have no say here")
        methods = self._controls.get(path)
        if methods is None:
            return problem_response(404, f"the sandbox has no {path}")
        # The writer omits the body of a response to HEAD.
        method = "GET" if request.method == "HEAD" else request.method
        if method not in methods:
            return problem_response(405, f"{path} takes {', '.join(methods)}", {"allow": ", ".join(methods)})
        return methods[method](request)

    def _add_rule(self, request: SandboxRequest) -> SandboxResponse:
        try:
            rule = read_fault_rule(msgspec.json.decode(request.body, type=dict[str, Any]))
        except (ValueError, RecursionError) as error:
            return problem_response(400, f"an order is a JSON object: {error}")
        except Fault as fault:
            return problem_response(fault.status, fault.message)
        self.rules.append(rule)
        return json_response(rule, 201)


def _cleared(items: list[FaultRule] | deque[LoggedRequest]) -> SandboxResponse:
    items.clear()
    return NO_CONTENT


SEND_BUFFER_BYTES: Final = 131_072
"""The send buffer of a connection; small, so that the log shows how much a client has taken."""

BACKLOG: Final = 1024

LINGER_S: Final = 1.0
"""How long a client whose request was refused may keep sending before the connection is closed."""


def utc_now() -> datetime:
    """Return the current time."""
    return datetime.now(UTC)


class Sandbox(msgspec.Struct, frozen=True):
    """An upstream to serve: its name, the handler of its requests, and the description under `/_sandbox`."""

    name: str
    handler: Handler
    about: dict[str, Any] = {}


class Running:
    """A sandbox that listens; made by `start`."""

    def __init__(self, sandbox: Sandbox, listener: socket.socket) -> None:
        host, port = listener.getsockname()[:2]
        self.url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        self._listener = listener
        self._router = RequestRouter(sandbox.handler, {"sandbox": sandbox.name, **sandbox.about})
        self._connections: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    @property
    def requests(self) -> tuple[LoggedRequest, ...]:
        """All logged requests, in order; requests to the control API are not logged."""
        return tuple(self._router.log)

    def order(self, fault: str, *, match: str | None = None, times: int | None = None, **parameters: Any) -> FaultRule:
        """Apply a fault to the requests whose raw target contains `match`, `times` times or until cleared.

        Raises:
            Fault: the fault or one of its parameters is unknown or invalid.
        """
        rule = read_fault_rule({"fault": fault, "match": match, "times": times, **parameters})
        self._router.rules.append(rule)
        return rule

    def clear(self) -> None:
        """Remove all fault rules and logged requests."""
        self._router.rules.clear()
        self._router.log.clear()

    async def listen(self) -> None:
        """Start to accept connections."""
        self._server = await asyncio.start_server(self._accept, sock=self._listener, backlog=BACKLOG)

    async def stop(self) -> None:
        """End every connection and free the address; idempotent."""
        if self._server is None:
            return
        server, self._server = self._server, None
        server.close()
        for task in self._connections:
            task.cancel()
        if self._connections:
            await asyncio.wait(self._connections)
        await server.wait_closed()

    def _accept(self, reader: asyncio.StreamReader, stream: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(_serve_connection(self._router, RequestReader(reader), stream))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)


async def start(sandbox: Sandbox, host: str = "127.0.0.1", port: int = 0) -> Running:
    """Serve a sandbox on a loopback address; port 0 picks a free port.

    Raises:
        ValueError: the address is not a loopback address.
        OSError: the address cannot be bound.
    """
    running = Running(sandbox, _bind(host, port))
    await running.listen()
    return running


def _bind(host: str, port: int) -> socket.socket:
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    if not ipaddress.ip_address(address[0]).is_loopback:
        raise ValueError(f"{host} can be reached by others; a sandbox listens on loopback only")
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Set before listening: accepted connections inherit it.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        listener.bind(address)
    except OSError:
        listener.close()
        raise
    return listener


async def _serve_connection(router: RequestRouter, reader: RequestReader, stream: asyncio.StreamWriter) -> None:
    """Answer the requests of one connection until the client leaves or a fault closes it."""
    # Without a buffer, a write ends when the operating system has all of its bytes.
    stream.transport.set_write_buffer_limits(0)
    try:
        while await _serve_request(router, reader, stream):
            pass
    except ConnectionError:
        stream.transport.abort()
    except asyncio.CancelledError:
        stream.transport.abort()
        raise
    finally:
        stream.close()
        with contextlib.suppress(ConnectionError):
            await stream.wait_closed()


async def _serve_request(router: RequestRouter, reader: RequestReader, stream: asyncio.StreamWriter) -> bool:
    """Answer one request; return True if the connection stays open."""
    try:
        request = await reader.read_request()
    except Fault as fault:
        await _refuse(fault, reader, stream)
        return False
    if request is None:
        return False
    normal, rule, entry = router.route(request)
    writer = ResponseWriter(request, entry, normal, reader, stream)
    try:
        await (rule.apply(writer) if rule else writer.send(normal()))
        entry.end = "answered"
    except ConnectionError:
        entry.end = "gone"
        raise
    except asyncio.CancelledError:
        entry.end = "stopped"
        raise
    return writer.keep_alive


async def _refuse(fault: Fault, reader: RequestReader, stream: asyncio.StreamWriter) -> None:
    """Send the reason and let the client finish: closing with unread bytes would discard the response."""
    response = problem_response(fault.status, fault.message)
    stream.write(response_head(response, len(response.body), keep_alive=False) + response.body)
    await stream.drain()
    stream.write_eof()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LINGER_S):
            await reader.discard()
