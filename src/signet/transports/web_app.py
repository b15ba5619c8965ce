"""The web application: hands each request to its door, after the guard's checks, and each answer back.

One slash may end a path, and the path of the public URL may begin it; the door and the journal see it without them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from time import perf_counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import msgspec

from signet.kernel.caller import CALLER, Caller, Principal, holder_now
from signet.kernel.errors import ACCESS_FAULTS, Fault
from signet.kernel.events import Events
from signet.kernel.relay import Relay
from signet.kernel.server import Server
from signet.kernel.toolset import PageSpec
from signet.system.places import FairTurns

from .compression import MIN_BYTES, SLOW_BYTES, accepts_gzip, compressed, with_vary
from .exchanges import RequestExchanges, broken, settle
from .guard import Guard
from .messages import Answer, Request, Response, preflight, with_id
from .request_ids import HEADER, is_own_id, new_request_ids
from .rest import refuse
from .router import ConsolePages, Router
from .routes import Route, below, open_page, without_slash
from .shares import CallShares
from .unread import UNREAD

if TYPE_CHECKING:
    from .proxies import TrustedProxies
    from .sessions import SessionTable

__all__ = ["App"]

ADVISED: Final = frozenset({403, 429})
"""The statuses of calls that were refused, which a header explains."""
NO_PAGES: Final[Mapping[str, bytes]] = MappingProxyType({})
TOOL_PATHS: Final = ("/api/", "/mcp/tool", "/openapi", "/-/")
"""How the paths begin that need to know the tools; `/mcp` waits by itself."""
TOOLLESS_PATHS: Final = ("/-/about", "/-/clients", "/-/engine/", "/-/files/", "/-/health", "/-/settings")
"""The paths among those that need no tools: people look there for the reason why a wrapped server does not start."""
LARGE_BYTES: Final = 65_536
"""The size above which a body is handled in a thread, so that other requests are answered meanwhile."""
LARGE_AT_ONCE: Final = 2
"""The number of such threads: more would leave the event loop little of the interpreter's time."""

WAITING_BYTES: Final = 32 << 20
"""The size of the answers that may wait to be compressed; further ones are sent as they are."""


def _needs_tools(request: Request) -> bool:
    """Return whether a request cannot be answered before the tools are known."""
    return request.path.startswith(TOOL_PATHS) and not request.path.startswith(TOOLLESS_PATHS)


def _open_sessions(server: Server) -> SessionTable | None:
    """Return a table of sessions where wrapped servers are served; own tools need none."""
    if server.relay is None:
        return None
    from .sessions import SessionTable

    return SessionTable()


class App:
    """The web application of one server."""

    _waiting_bytes = 0
    """The size of the answers that wait to be compressed."""

    def __init__(
        self,
        server: Server,
        guard: Guard,
        about: dict[str, Any],
        legacy: Mapping[str, str] | None = None,
        *,
        events: Events | None = None,
        pages: Sequence[PageSpec] = (),
        proxies: TrustedProxies | None = None,
        prefix: str = "",
        open_pages: Mapping[str, bytes | Callable[[Request], bytes]] = NO_PAGES,
        console: ConsolePages | None = None,
        sessions: SessionTable | None = None,
    ) -> None:
        """Serve a server's doors, also below `prefix`; its requests are told to `events`, by default the server's.

        Anybody may read the `open_pages`. The `sessions` are those of a server that relays, which has new ones by
        default.
        """
        self._server = server
        self._guard = guard
        self._events = server.events if events is None else events
        listener = self._events.on_http_exchange
        self._exchanges = RequestExchanges(listener, self.refuse, server.pipeline.toolbox) if listener else None
        self.records_all = listener is not None
        self._ids = new_request_ids()
        secured = guard.authenticator is not None
        self._sessions = sessions = _open_sessions(server) if sessions is None else sessions
        self._router = Router(server, about, legacy or {}, pages, secured=secured, console=console, sessions=sessions)
        self._routes = self._router.routes
        self._routes |= {path: open_page(content) for path, content in open_pages.items()}
        self._threads = FairTurns("threads of large bodies", LARGE_AT_ONCE)
        self._proxies = proxies
        self._prefix = prefix
        self._shares = CallShares()

    @property
    def is_ready(self) -> bool:
        """Whether load balancers are told to send requests here."""
        return self._router.is_ready

    @is_ready.setter
    def is_ready(self, is_ready: bool) -> None:
        self._router.is_ready = is_ready

    def admit(self, request: Request) -> Response | None:
        """Return the refusal of a request by its head, or None."""
        if self._exchanges is not None:
            request.started_s = perf_counter()
        if self._proxies is not None:
            self._proxies.find_client(request)
        route = self._routes.get(request.path)
        if route is None:
            path = below(self._prefix, request.path) if self._prefix else request.path
            request.root = request.root if path == request.path else self._prefix
            request.path = path = path if path in self._routes else without_slash(path)
            route = self._routes.get(path) or self._router.find_for(request)
        request.route = route
        headers, found = request.headers, self._guard.check(request, route.access)
        given = headers.get(HEADER)
        request_id = given if given is not None and is_own_id(given, headers) else next(self._ids)
        principal = found if isinstance(found, Principal) else request.caller.principal
        request.caller = Caller(principal, request.address, request_id, headers.get("traceparent", ""))
        if found is None or isinstance(found, Principal):
            return None
        if isinstance(found, Fault):
            return self.refuse(request, found)
        request.identifying = found
        return None

    def answer(self, request: Request) -> Answer:
        """Return the response to a request that was admitted."""
        route: Route = request.route
        if request.identifying is not None:
            return self._answer_identified(request, request.identifying)
        if self._shares.awaited.held and (request.method == "POST" or route.calls_on_get):
            fault = self._shares.check(request)
            if fault is not None and (route.begins_call is None or route.begins_call(request)):
                return self.refuse(request, fault)
        answer: Answer | Awaitable[Answer]
        relay = self._server.relay
        if relay is not None and not relay.is_ready and _needs_tools(request):
            answer = self._answer_when_ready(request, relay)
        elif len(request.body) > LARGE_BYTES:
            answer = self._answer_in_thread(request)
        elif request.method == "OPTIONS" and not route.answers_options:
            is_shared = not route.access.same_origin
            answer = Response(204, headers=preflight(request, b"GET, POST, OPTIONS") if is_shared else ())
        else:
            answer = route.answer(request)
        if not isinstance(answer, Response):
            answer = self._await(request, answer)
        elif answer.status in ADVISED or "origin" in request.headers or len(answer.body) >= MIN_BYTES:
            answer = self._finish(request, answer)
        if isinstance(answer, Response):
            return answer
        noted = answer if self._exchanges is None else self._exchanges.unless_left(request, answer)
        return self._shares.hold(request, noted)

    def refuse(self, request: Request | None, fault: Fault) -> Response:
        """Return the response for a fault, in the shape of the door that the request was for."""
        if request is None:
            return with_id(self._advise(refuse(fault), fault), next(self._ids))
        return self._show(request, self._advise(request.route.refuse(fault), fault))

    def record(self, request: Request | None, response: Response, address: str) -> Response:
        """Note a response that is about to be sent; return it, or the refusal that has to be sent in its place.

        `address` is that of the connection.
        """
        address = address if request is None else request.address
        if response.refusal and self._events.refusal is not None:
            self._events.refusal(address, response.status, response.refusal)
        return self._exchanges.answered(request, response, address) if self._exchanges is not None else response

    def record_left(self, request: Request, response: Response) -> None:
        """Note a response that is not sent, because its client has left."""
        if self._exchanges is not None:
            self._exchanges.left(request, response)

    def start(self) -> None:
        """Begin to warm the upstreams, and take new ids: a server that forks has built the application before.

        Raises what a listener raises: the process cannot serve then.
        """
        if self._events.start is not None:
            self._events.start()
        UNREAD.fit(self._server.pipeline.largest_result_bytes)
        self._ids = new_request_ids()
        if self._server.upstreams:
            asyncio.get_running_loop().run_in_executor(None, self._server.warm)

    def reload(self) -> None:
        """Read the tokens again."""
        if self._guard.authenticator is not None:
            self._guard.authenticator.reload()

    async def close(self) -> None:
        """Close the server behind the doors."""
        if self._sessions is not None:
            await self._sessions.close()
        if self._exchanges is not None:
            await settle()
        await self._server.close()
        if self._events.end is not None:
            self._events.end()

    async def _answer_identified(self, request: Request, identifying: Awaitable[Principal | Fault]) -> Response:
        """Answer a request as soon as it is known who sent it."""
        found: Principal | Fault
        try:
            found = await (
                identifying if self._exchanges is None else self._exchanges.unless_left(request, identifying)
            )
        except Exception as error:  # noqa: BLE001 - whatever it is, the request gets an answer
            found = broken(error)
        request.identifying = None
        if isinstance(found, Fault):
            return self.refuse(request, found)
        request.caller = msgspec.structs.replace(request.caller, principal=found)
        answer = self.answer(request)
        return answer if isinstance(answer, Response) else await answer

    def _advise(self, response: Response, fault: Fault) -> Response:
        """Return a refusal with the headers that say what the client can do."""
        advice = self._guard.advice(fault)
        return msgspec.structs.replace(response, headers=response.headers + advice) if advice else response

    async def _answer_when_ready(self, request: Request, relay: Relay) -> Answer:
        """Answer as soon as the tools of wrapped servers are known."""
        try:
            await relay.ready(request.path.rpartition("/")[2] if request.method == "POST" else "")
        except Fault as fault:
            return self.refuse(request, fault)
        request.route = self._routes.get(request.path) or self._router.find_for(request)
        answer: Answer = request.route.answer(request)
        return answer

    async def _answer_in_thread(self, request: Request) -> Answer:
        async with self._threads.turn(request.caller.holder):
            return await asyncio.to_thread(request.route.answer, request)

    async def _await(self, request: Request, answer: Awaitable[Answer]) -> Response:
        # Whatever the answer uses on its way is counted to who has asked.
        CALLER.set(request.caller)
        try:
            response = await answer
            while not isinstance(response, Response):
                response = await response
            if response.events is not None and self._exchanges is not None:
                return msgspec.structs.replace(
                    response, events=self._exchanges.during(request, response, response.events)
                )
            finished = self._finish(request, response)
            return finished if isinstance(finished, Response) else await finished
        except Exception as error:  # noqa: BLE001 - whatever it is, the request gets an answer
            return self.refuse(request, broken(error))

    def _finish(self, request: Request, response: Response) -> Answer:
        """Return a response as its client gets it: with the headers for its page, and compressed if it is large."""
        fault = request.outcome.fault if request.outcome is not None else request.refusal
        if fault is not None and fault.name in ACCESS_FAULTS and response.status == fault.status:
            response = self._advise(response, fault)
        if "origin" in request.headers:
            response = self._show(request, response)
        if len(response.body) < MIN_BYTES:
            return response
        response = with_vary(response)
        if not accepts_gzip(request.headers):
            return response
        is_slow = len(response.body) > SLOW_BYTES and not response.is_page
        if is_slow and self._waiting_bytes and self._waiting_bytes + len(response.body) > WAITING_BYTES:
            # As it is, its client can take it now; here it would wait in memory.
            return response
        return self._compress_in_thread(response) if is_slow else compressed(response)

    async def _compress_in_thread(self, response: Response) -> Response:
        size = len(response.body)
        self._waiting_bytes += size
        try:
            async with self._threads.turn(holder_now()):
                return await asyncio.to_thread(compressed, response)
        finally:
            self._waiting_bytes -= size

    def _show(self, request: Request, response: Response) -> Response:
        """Return the response with the headers that let a page of an allowed origin read it."""
        origin, access = request.headers.get("origin"), request.route.access
        if origin is None or access.any_page or access.same_origin or not self._guard.lets_in(origin):
            return response
        cors = (b"access-control-allow-origin", origin.encode("latin-1")), (b"vary", b"Origin")
        return msgspec.structs.replace(response, headers=response.headers + cors)
