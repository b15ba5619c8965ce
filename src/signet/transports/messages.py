"""One HTTP request, one response, and the application that turns the one into the other.

A server hands each request over in two steps, so that a request that is refused by its head needs no body:

    head ── admit ── a refusal, or None ── body ── answer ── Response, or an awaitable of it
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from signet.kernel.caller import NOBODY, Caller, Principal
from signet.kernel.errors import Code, Fault
from signet.kernel.outcome import Call, Outcome
from signet.kernel.wire import Headers

from .request_ids import HEADER

if TYPE_CHECKING:
    from asyncio import Future

__all__ = [
    "BODY_LIMIT_BYTES",
    "JSON",
    "KEY_HEADER",
    "REQUEST_ID",
    "Answer",
    "Application",
    "Fields",
    "Request",
    "Response",
    "body_too_slow",
    "idempotency_key",
    "preflight",
    "with_id",
]

Fields = tuple[tuple[bytes, bytes], ...]

BODY_LIMIT_BYTES: Final = 1_048_576  # rule: 4.limits.body
REQUEST_ID: Final = HEADER.encode()
JSON: Final = (b"content-type", b"application/json")
KEY_HEADER: Final = "idempotency-key"
MAX_KEY_CHARS: Final = 255
"""The longest idempotency key, as in `_meta` of a call."""


class Request(msgspec.Struct):
    """One HTTP request."""

    method: str
    path: str
    """As it was sent, not percent-decoded: spec 4 compares names as they were sent. `path_names` reads other names."""
    headers: Headers
    """Not to be changed: requests with the same head share it."""
    version: str = "1.1"
    address: str = ""
    """The exact address of the client; empty where it has none."""
    body: bytes = b""
    route: Any = None
    """The application's own note, kept between `admit` and `answer`."""
    root: str = ""
    """The path below which another application serves this one."""
    caller: Caller = NOBODY
    """Who calls, as far as the application has found out."""
    identifying: Awaitable[Principal | Fault] | None = None
    """The principal, where somebody else has to be asked about the token."""
    started_s: float = 0.0
    """The time at which the head was there, if somebody wants to know how long the answer takes."""
    call: Call | None = None
    """The call in it, as soon as it is awaited."""
    outcome: Outcome | None = None
    """The outcome of the call in it, as soon as there is one."""
    refusal: Fault | None = None
    """The fault for which the server refused a request other than a call."""
    is_answered: bool = False
    """Whether the next event of its stream is the reply, where that is no outcome of a call."""
    going_on: Future[Any] | None = None
    """The call in it, where the response begins before the call has ended."""
    network: str = ""
    """The network by which the client is counted; empty where it is counted by its address."""


class Response(msgspec.Struct, frozen=True):
    """One HTTP response."""

    status: int
    body: bytes = b""
    headers: Fields = (JSON,)
    events: AsyncGenerator[bytes, None] | None = None
    """The pieces of a body that is not yet known; they are sent as they come."""
    refusal: str = ""
    """Why the request was refused before it was a call; empty for all other responses."""
    is_page: bool = False
    """Whether the same body is sent again and again, so that its compressed form is worth keeping."""
    is_endless: bool = False
    """Whether the events go on until the client leaves, so that a server that stops does not wait for their end."""


Answer = Response | Awaitable[Response]


class Application(Protocol):
    """What a server needs of the application that it serves."""

    records_all: bool
    """Whether every response is to be recorded, and not those alone that refuse a request."""
    is_ready: bool
    """Whether load balancers are told to send requests here."""

    def admit(self, request: Request) -> Response | None:
        """Return the refusal of a request whose body has not been read yet, or None."""

    def answer(self, request: Request) -> Answer:
        """Return the response to an admitted request, or an awaitable that is cancelled if its client leaves."""

    def refuse(self, request: Request | None, fault: Fault) -> Response:
        """Return the response for a fault of the connection; without a request, its head could not be read."""

    def record(self, request: Request | None, response: Response, address: str) -> Response:
        """Note a response that is about to be sent, and return it, or the refusal that has to be sent in its place.

        Without a request, its head could not be read.
        """

    def record_left(self, request: Request, response: Response) -> None:
        """Note a response that is not sent, because its client has left."""

    def start(self) -> None:
        """Prepare for the first request, without waiting."""

    def reload(self) -> None:
        """Read again what may have changed: an operator asks for it."""

    async def close(self) -> None:
        """Release what the application holds, after the last response."""


def body_too_slow(limit_s: float) -> Fault:
    """Return the fault for a body that has not arrived in time."""
    return Fault(Code.INVALID_INPUT, f"The body did not come within {limit_s:g} s", name="REQUEST_TIMEOUT", status=408)


def idempotency_key(request: Request) -> str:
    """Return the client's name for its call; raise Fault for one that is too long."""
    key = request.headers[KEY_HEADER]
    if len(key) > MAX_KEY_CHARS:
        raise Fault(Code.INVALID_INPUT, f"An idempotency key has at most {MAX_KEY_CHARS} characters")
    return key


def preflight(request: Request, methods: bytes) -> Fields:
    """Return the headers of a preflight response: the methods, and all headers that the page wants to send."""
    wanted = request.headers.get("access-control-request-headers", "Content-Type, Authorization")
    return (b"access-control-allow-methods", methods), (b"access-control-allow-headers", wanted.encode("latin-1"))


def with_id(response: Response, request_id: str) -> Response:
    """Return the response to a request whose head could not be read, with an id all the same."""
    return msgspec.structs.replace(response, headers=(*response.headers, (REQUEST_ID, request_id.encode())))
