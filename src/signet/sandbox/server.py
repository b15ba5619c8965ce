"""A server on loopback that stands in for an upstream, with faults that tests can order.

    RawConnection ── SandboxRequest ── RequestRouter ──┬── /_sandbox ─────── the control API
                                                       ├── /_hop, /_loop ─── the next redirect
                                                       └── the log ── the fault rules
    RawConnection ◀── ResponseWriter ◀── no rule: the handler's response; a rule: its fault, a function in `faults`

The handler knows the upstream's endpoints and data; the server does not.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Any, Final

import msgspec

from signet.kernel.errors import Fault
from signet.transports.http_server import HttpServer
from signet.transports.messages import Request, Response
from signet.transports.raw_connection import WRITTEN, WRITTEN_LAST, RawConnection
from signet.transports.slots import ConnectionLimits

from .exchange import LoggedRequest, ResponseWriter
from .faults import FAULTS, FaultRule, follow_redirect, read_fault_rule, take_rule
from .message import Handler, Sandbox, SandboxRequest, SandboxResponse, json_response, problem_response

__all__ = ["RequestRouter", "Running", "start"]

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


MAX_BODY_BYTES: Final = 65_536
"""The largest request body that is read; only fault rules come with a body."""
SEND_BUFFER_BYTES: Final = 131_072
"""The send buffer of a connection; small, so that the log shows how much a client has taken."""
BACKLOG: Final = 1024
PATIENCE_S: Final = 86_400.0
"""How long a client may take: a test may want to see how it fares with an upstream that is patient."""
LIMITS: Final = ConnectionLimits(
    PATIENCE_S, PATIENCE_S, PATIENCE_S, PATIENCE_S, half_closed_s=1.0, linger_s=1.0, grace_s=0.0, per_address=4096
)


class SandboxApplication:
    """Answers the requests of the connections of one sandbox."""

    records_all = False
    is_ready = True

    def __init__(self, router: RequestRouter) -> None:
        self.is_stopping = False
        self.tasks: set[asyncio.Task[Any]] = set()
        """The tasks in which responses are under way."""
        self._router = router

    def admit(self, request: Request) -> Response | None:
        """Refuse a body without a length, or a large one."""
        if "transfer-encoding" in request.headers:
            return _refusal(HTTPStatus.LENGTH_REQUIRED, "a body must state its length")
        if int(request.headers.get("content-length", "0")) > MAX_BODY_BYTES:
            return _refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body may hold {MAX_BODY_BYTES} bytes")
        return None

    async def answer(self, request: Request) -> Response:
        """Write the response to a request, or the fault that was ordered for it."""
        task = asyncio.current_task()
        if task is not None:
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
        version = f"HTTP/{request.version}"
        asked = SandboxRequest(request.method, request.path, dict(request.headers), version, request.body)
        normal, rule, entry = self._router.route(asked)
        writer = ResponseWriter(asked, entry, normal, request.route)
        try:
            await (rule.apply(writer) if rule else writer.send(normal()))
        except asyncio.CancelledError:
            entry.end = "stopped" if self.is_stopping else "gone"
            raise
        entry.end = "answered"
        return WRITTEN if writer.keep_alive else WRITTEN_LAST

    def refuse(self, _: Request | None, fault: Fault) -> Response:
        """Return the response for a request that cannot be read."""
        return _refusal(fault.status, fault.message)

    def record(self, _: Request | None, response: Response, _address: str) -> Response:
        """Return the response: those to requests that cannot be read are not in the log."""
        return response

    def record_left(self, request: Request, response: Response) -> None:
        """Do nothing: the log tells it."""

    def start(self) -> None:
        """Do nothing."""

    def reload(self) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """Return when no response is under way any more."""
        if self.tasks:
            await asyncio.wait(self.tasks)


def _refusal(status: int, detail: str) -> Response:
    response = problem_response(status, detail)
    return Response(status, response.body, ((b"content-type", b"application/problem+json"),))


class Running:
    """A sandbox that listens; made by `start`."""

    def __init__(self, sandbox: Sandbox, listener: socket.socket) -> None:
        host, port = listener.getsockname()[:2]
        self.url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        self._router = RequestRouter(sandbox.handler, {"sandbox": sandbox.name, **sandbox.about})
        self._app = SandboxApplication(self._router)
        self._server = HttpServer(self._app, listener, LIMITS, connection=RawConnection)
        self._server.open()
        self._serving = asyncio.get_running_loop().create_task(self._server.serve())

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

    async def stop(self) -> None:
        """End every connection and free the address; idempotent."""
        self._app.is_stopping = True
        self._server.stop()
        await asyncio.wait({self._serving})


async def start(sandbox: Sandbox, host: str = "127.0.0.1", port: int = 0) -> Running:
    """Serve a sandbox on a loopback address; port 0 picks a free port.

    Raises:
        ValueError: the address is not a loopback address.
        OSError: the address cannot be bound.
    """
    return Running(sandbox, _bind(host, port))


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
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    listener.settimeout(0)
    return listener
