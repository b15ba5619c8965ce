"""The routes of the web application: which handler answers a path, and who may use it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from signet.kernel.errors import Code, Fault

from .guard import Access
from .messages import JSON, Answer, Fields, Request, Response, preflight
from .rest import refuse, to_response, wrong_method

__all__ = [
    "FOR_ALL",
    "FOR_BALANCERS",
    "FOR_CALLERS",
    "FOR_PEOPLE",
    "Handler",
    "Route",
    "below",
    "open_page",
    "page",
    "unknown_path",
    "without_slash",
]

FOR_ALL = Access(any_page=True)  # rule: 4.bodies.content-type
FOR_CALLERS = Access(json_only=True)
FOR_PEOPLE = Access()
FOR_BALANCERS = Access(no_token=True)
FOR_EVERYBODY = Access(any_page=True, no_token=True)

Handler = Callable[[Request], Answer]


class Route(msgspec.Struct, frozen=True):
    """The handlers of a path, and its access rules."""

    access: Access
    answer: Handler
    refuse: Callable[[Fault], Response]
    """Return the response for a fault of the door itself."""
    calls_on_get: bool = False
    """Whether a GET is a call of a tool."""
    begins_call: Callable[[Request], bool] | None = None
    """Return whether a POST may begin a call, where not every one does."""
    door: str = "http"
    """The name of the door behind the route."""
    answers_options: bool = False
    """Whether the handler answers OPTIONS itself; otherwise the application answers a preflight."""
    is_vital: bool = False
    """Whether the answer says that the process lives, and is sent even if it cannot be written down."""


Content = bytes | Callable[[Request], bytes | Awaitable[bytes]]
"""The JSON of a page, or what returns it for a request."""


def page(path: str, content: Content, more: Fields = ()) -> Route:
    """Return the route of a page that can be read with GET, with more headers than its type."""

    async def later(body: Awaitable[bytes]) -> Response:
        try:
            return Response(200, await body, (JSON, *more), is_page=True)
        except Fault as fault:
            return to_response(fault)

    def answer(request: Request) -> Answer:
        if request.method not in {"GET", "HEAD"}:
            return refuse(wrong_method("GET"), (JSON, (b"allow", b"GET, HEAD, OPTIONS")))
        try:
            body = content if isinstance(content, bytes) else content(request)
            if not isinstance(body, bytes):
                return later(body)
            return Response(200, body, (JSON, *more), is_page=True)
        except Fault as fault:
            return to_response(fault)

    access = FOR_BALANCERS if path in {"/healthz", "/readyz"} else FOR_PEOPLE
    return Route(access, answer, refuse, is_vital=path == "/healthz")


def open_page(content: bytes | Callable[[Request], bytes]) -> Route:
    """Return the route of a page that anybody can read, without a token and from any other page."""
    anywhere = (b"access-control-allow-origin", b"*")

    def answer(request: Request) -> Response:
        if request.method == "OPTIONS":
            return Response(204, headers=(anywhere, *preflight(request, b"GET, OPTIONS")))
        if request.method not in {"GET", "HEAD"}:
            return refuse(wrong_method("GET"), (JSON, anywhere, (b"allow", b"GET, HEAD, OPTIONS")))
        body = content if isinstance(content, bytes) else content(request)
        return Response(200, body, (JSON, anywhere), is_page=True)

    return Route(FOR_EVERYBODY, answer, refuse, answers_options=True)


def below(prefix: str, path: str) -> str:
    """Return a path as it is below a prefix, which a proxy may have left at its beginning."""
    if path.startswith(prefix) and path[len(prefix) :][:1] in {"", "/"}:
        return path[len(prefix) :] or "/"
    return path


def without_slash(path: str) -> str:
    """Return a path without the one slash that may end it."""
    return path[:-1] if len(path) > 1 and path.endswith("/") and not path.endswith("//") else path


def unknown_path(path: str) -> Route:
    """Return the route of a path at which nothing is served."""

    def answer(_: Request) -> Response:
        # rule: 4.paths.unknown-route
        return refuse(Fault(Code.NOT_FOUND, f"Nothing is served at '{path[:200]}'; GET / names what is"))

    return Route(FOR_PEOPLE, answer, refuse, answers_options=True)
