"""Twins: the JSON pages below `/-/`, one for each thing that a view of the console shows; the page itself uses them.

    GET  /-/tools/{name}      parameters stand in the path
    POST /-/call              or in a JSON object, which is checked against its type

What a twin takes and answers is stated as types, from which its part of `/openapi.json` is made.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Final, Literal
from urllib.parse import unquote

import msgspec

from signet.kernel.arguments import whole_numbers
from signet.kernel.errors import Code, Fault
from signet.kernel.places import wrong_type
from signet.kernel.wire import ProtocolError, decode, encode
from signet.system.text import cut
from signet.transports.guard import Access
from signet.transports.messages import JSON, Answer, Fields, Request, Response
from signet.transports.rest import refuse, to_response, wrong_method
from signet.transports.routes import Route

from .shown import Shown

__all__ = ["DOOR", "MAX_TOLD_CHARS", "PREFIX", "PRIVATE", "Shown", "Twin", "TwinRoutes", "Visit", "refuse_privately"]

PREFIX: Final = "/-/"
DOOR: Final = "console"
"""The door's name in the journal and in the log."""
MAX_TOLD_CHARS: Final = 200
"""What a refusal repeats of a text that was sent."""
SAFE: Final[Fields] = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
PRIVATE: Final[Fields] = (JSON, *SAFE)
STREAM: Final[Fields] = ((b"content-type", b"text/event-stream"), (b"x-accel-buffering", b"no"), *SAFE)
PARAMETER: Final = re.compile(r"\{(\w+)\}")


class Visit(msgspec.Struct, frozen=True):
    """One request to a twin."""

    request: Request
    path: dict[str, str] = {}
    """The parameters of the path, percent-decoded."""
    body: Any = None
    """The value that was posted, as the twin's type has it."""


Run = Callable[[Visit], Any]


class Twin(msgspec.Struct, frozen=True, kw_only=True):
    """One JSON page."""

    method: Literal["GET", "POST"] = "GET"
    path: str
    """The path, with its parameters in braces."""
    summary: str
    """What it does, in a few words."""
    answer: Any
    """The type of its answer; of one event, where it is a stream."""
    body: Any = None
    """The type of what is posted."""
    run: Run
    """Return the answer, an awaitable of it, or for a stream an async generator of answers; raise Fault to refuse.

    A Response is sent as it is. It runs on the event loop: what takes longer than a few milliseconds is awaited.
    """
    is_stream: bool = False
    example: Any = None
    """Something to post that this server answers."""
    is_call: bool = False
    """Whether it calls a tool: the caller may then lack the scope, or come too often."""
    refusals: tuple[tuple[int, str], ...] = ()
    """The further refusals of this twin alone: the HTTP status, and the name of the error."""

    @property
    def parameters(self) -> list[str]:
        """Return the names of the path's parameters."""
        return PARAMETER.findall(self.path)

    def match(self, path: str) -> dict[str, str] | None:
        """Return the parameters of a path; None if it is not this twin's."""
        wanted, given = self.path.split("/"), path.split("/")
        if len(wanted) != len(given):
            return None
        found = {}
        for name, part in zip(wanted, given, strict=True):
            if name[:1] == "{" and part:
                found[name[1:-1]] = unquote(part)
            elif name != part:
                return None
        return found


class TwinRoutes:
    """Finds the routes of twins."""

    def __init__(self, twins: Sequence[Twin]) -> None:
        self.twins = tuple(twins)

    def find(self, path: str) -> Route | None:
        """Return the route of a path, or None."""
        found: dict[str, tuple[Twin, dict[str, str]]] = {}
        # A path that is written out goes before one with a parameter in its place.
        for twin in [twin for twin in self.twins if twin.path == path] or self.twins:
            parameters = twin.match(path)
            if parameters is not None:
                found.setdefault(twin.method, (twin, parameters))
        if not found:
            return None
        access = Access(same_origin=True, json_only="POST" in found)
        return Route(access, partial(_answer, found), refuse_privately, door=DOOR)


def refuse_privately(fault: Fault, more: Fields = ()) -> Response:
    """Return the response for a request below `/-/` that is refused."""
    return refuse(fault, (*PRIVATE, *more))


def _answer(found: dict[str, tuple[Twin, dict[str, str]]], request: Request) -> Answer:
    method = "GET" if request.method == "HEAD" else request.method
    if method not in found:
        allowed = " or ".join(found)
        return refuse_privately(wrong_method(allowed), ((b"allow", ", ".join(found).encode()),))
    # Awaited, so that whatever goes wrong in a view has an answer.
    return _await(*found[method], request)


def _body(twin: Twin, request: Request) -> Any:
    """Return what was posted; raise Fault if it is not what the twin takes."""
    if twin.body is None:
        return None
    try:
        given = decode(request.body or b"{}")
        try:
            return msgspec.convert(given, twin.body)
        except msgspec.ValidationError:
            # To JSON Schema 10.0 is an integer.
            return msgspec.convert(whole_numbers(given), twin.body)
    except msgspec.ValidationError as error:
        raise Fault(Code.INVALID_INPUT, f"{twin.path}: {cut(wrong_type(error), MAX_TOLD_CHARS)}") from None
    except ProtocolError as error:
        raise Fault(Code.INVALID_INPUT, f"{twin.path}: {cut(str(error), MAX_TOLD_CHARS)}") from None


async def _await(twin: Twin, parameters: dict[str, str], request: Request) -> Response:
    try:
        answered = twin.run(Visit(request, parameters, _body(twin, request)))
        if twin.is_stream:
            return Response(200, headers=STREAM, events=_events(answered), is_endless=True)
        if isinstance(answered, Awaitable):
            answered = await answered
    except Fault as fault:
        return to_response(fault, PRIVATE)
    return answered if isinstance(answered, Response) else Response(200, encode(answered), PRIVATE)


async def _events(answers: AsyncGenerator[Any, None]) -> AsyncGenerator[bytes, None]:
    try:
        async for answer in answers:
            yield b": \n\n" if answer is None else b"data: " + encode(answer) + b"\n\n"
    finally:
        await answers.aclose()
