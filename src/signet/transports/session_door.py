"""The session door: `/mcp` for clients of the handshake era that hold a session. Modern requests have none.

POST initialize    a new session, named in the answer
POST               a message of the session; a call answers with a stream that can be resumed
GET                the standing stream, or after `Last-Event-ID` the rest of a stream that was cut
DELETE             the end of the session
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable
from time import monotonic
from typing import Final

import msgspec

from signet.kernel.errors import INTERNAL, INVALID_REQUEST
from signet.kernel.headers import VERSION
from signet.kernel.protocol import HANDSHAKE_VERSIONS
from signet.kernel.server import HTTP_MCP, ClientChannel, Pending, Server
from signet.kernel.wire import Reply, failure

from .event_log import COMMENT, RESUMABLE_SINCE, EventLog, parse_id
from .http import STREAM, head_of, to_response
from .messages import JSON, Fields, Request, Response, preflight
from .sessions import STANDING, CallStream, HttpSession, SessionTable

__all__ = ["SessionDoor"]

SESSION: Final = "mcp-session-id"
EVENT_STREAM: Final = "text/event-stream"
LAST_ID: Final = "last-event-id"
METHODS: Final = b"GET, POST, DELETE, OPTIONS"
EXPOSED: Final = (b"access-control-expose-headers", b"Mcp-Session-Id")
ADMITTED_S: Final = 3_600.0
"""How long a standing stream lasts whose client sent a token: with the next one, the token is looked at again."""
CANCELLED: Final = "The request was cancelled by its client"


class SessionDoor:
    """Answers the requests of sessions."""

    def __init__(self, server: Server, table: SessionTable) -> None:
        self._server = server
        self._table = table

    def answer(self, request: Request) -> Awaitable[Response] | Response | None:
        """Return the response to a request of a session or to one that opens a session; None for all others."""
        if request.method == "OPTIONS":
            return Response(204, headers=preflight(request, METHODS))
        if request.headers.get(VERSION, HANDSHAKE_VERSIONS[0]) not in HANDSHAKE_VERSIONS:
            return None
        # Awaited, so that all of it happens on the event loop, also where a large body is handled in a thread.
        if SESSION in request.headers:
            return self._answer(request)
        is_opening = request.method == "POST" and b"initialize" in request.body
        return self._open(request) if is_opening and head_of(request.body).method == "initialize" else None

    async def _open(self, request: Request) -> Response:
        """Answer `initialize`; the session stays if the server agrees."""
        session = self._table.open(request.caller, request.network)
        if session is None:
            return _refuse(503, "All sessions are in use: try again later", "NO_SESSION")
        try:
            channel = _channel(request, session, session.standing)
            reply = self._server.receive(request.body, channel)
            if isinstance(reply, Pending):
                request.call = reply.call
                reply = await reply.reply
        except BaseException:
            self._table.end(session)
            raise
        response = Response(202, headers=()) if reply is None else to_response(request, reply)
        if reply is None or reply.code or not session.agreement.version:
            self._table.end(session)
            return response
        named = (SESSION.encode(), session.agreement.id.encode())
        return msgspec.structs.replace(response, headers=(*response.headers, named, EXPOSED))

    async def _answer(self, request: Request) -> Response:
        session = self._table.find(request.headers[SESSION], request.caller)
        if session is None:
            return _refuse(404, "There is no such session: begin a new one with initialize", "UNKNOWN_SESSION")
        if request.method == "POST":
            return await self._post(request, session)
        if request.method == "GET":
            return self._get(request, session)
        if request.method == "DELETE":
            self._table.end(session)
            return Response(204, headers=())
        return _refuse(405, "POST, GET and DELETE are served here", "METHOD_NOT_ALLOWED", ((b"allow", METHODS),))

    async def _post(self, request: Request, session: HttpSession) -> Response:
        head = head_of(request.body)
        if head.method == "initialize":
            return _refuse(400, "This session is open already: send initialize without a session", "INVALID_REQUEST")
        stream = None
        if head.is_request:
            stream = session.new_stream(self._table.limits.streams)
            if stream is None:
                why = "This session has too many calls in flight"
                return _refuse(503, why, "TOO_MANY_CALLS", ((b"retry-after", b"1"),))
        log = stream.log if stream is not None else session.standing
        reply = self._server.receive(request.body, _channel(request, session, log))
        if stream is None or not isinstance(reply, Pending):
            return to_response(request, reply) if isinstance(reply, Reply) else Response(202, headers=())
        request.call = reply.call
        stream.start(reply.reply, reply.id)
        request.going_on = stream.task
        session.keep(stream)
        return await _await_first(request, session, stream, may_be_refused=self._may_be_refused(request))

    def _may_be_refused(self, request: Request) -> bool:
        """Return whether the status of a response may have to say that the token does not allow the tool.

        The slug of a tool, which scopes name, is known once its server has listed it.
        """
        principal, relay = request.caller.principal, self._server.relay
        return principal is not None and not principal.may_call_all and relay is not None and not relay.is_ready

    def _get(self, request: Request, session: HttpSession) -> Response:
        if EVENT_STREAM not in request.headers.get("accept", ""):
            return _refuse(406, f"A stream is {EVENT_STREAM}: accept it", "NOT_ACCEPTABLE")
        found = parse_id(request.headers.get(LAST_ID, f"{STANDING}-"))
        name, after = found if found is not None else (STANDING, None)
        if name != STANDING:
            stream = session.streams.get(name)
            if stream is None:
                return _refuse(400, f"The stream that {LAST_ID} names is not kept any more", "UNKNOWN_STREAM")
            return Response(200, headers=STREAM, events=_events(request, stream, after))
        if not self._table.may_stand(session):
            return _refuse(503, "Too many streams are open: try again later", "TOO_MANY_STREAMS")
        limit_s = None if request.caller.principal is None else ADMITTED_S
        return Response(200, headers=STREAM, events=_stand(session, after, limit_s), is_endless=True)


def _channel(request: Request, session: HttpSession, log: EventLog) -> ClientChannel:
    return ClientChannel(
        log.push,
        session.cancel,
        HTTP_MCP,
        can_ask=EVENT_STREAM in request.headers.get("accept", ""),
        headers=request.headers,
        caller=request.caller,
        agreement=session.agreement,
    )


async def _await_first(request: Request, session: HttpSession, stream: CallStream, *, may_be_refused: bool) -> Response:
    """Return a stream for a call, at once unless it may be refused, or its reply.

    The reply is for a client that takes no stream, or that knows no empty first event.
    """
    takes_events = EVENT_STREAM in request.headers.get("accept", "")
    knows_empty = request.headers.get(VERSION, session.agreement.version) >= RESUMABLE_SINCE
    if takes_events and knows_empty and not may_be_refused:
        stream.log.prime()
        return Response(200, headers=STREAM, events=_events(request, stream))
    try:
        await (stream.log.begun() if takes_events else stream.ended())
    except asyncio.CancelledError:
        # The client has left, and knows no event after which it could come back.
        stream.drop()
        raise
    has_messages = stream.log.last > (stream.reply is not None)
    if takes_events and has_messages:
        return Response(200, headers=STREAM, events=_events(request, stream))
    stream.log.forget()
    response = to_response(request, stream.reply or failure(stream.id, INTERNAL, CANCELLED))
    stream.let_go()
    return response


async def _events(request: Request, stream: CallStream, after: int | None = None) -> AsyncGenerator[bytes, None]:
    """Yield the events of a call; a client that leaves before the reply may come back for the rest."""
    stream.stream()
    log = stream.log
    reader = log.read(after)
    try:
        while (found := await log.next(reader)) is not None:
            number, event = found
            if number == log.last and stream.reply is not None:
                request.is_answered, request.outcome = True, stream.reply.outcome
            yield event
    finally:
        log.leave(reader)
        stream.unread_since_s = monotonic()


async def _stand(session: HttpSession, after: int | None, limit_s: float | None) -> AsyncGenerator[bytes, None]:
    """Yield the messages that belong to no call, until the client leaves or its token has to be looked at again."""
    ends_s = None if limit_s is None else monotonic() + limit_s
    yield COMMENT
    log = session.standing
    reader = log.read(after)
    try:
        while (found := await log.next(reader)) is not None:
            yield found[1]
            if ends_s is not None and monotonic() >= ends_s:
                return
    finally:
        log.leave(reader)


def _refuse(status: int, message: str, refusal: str, more: Fields = ()) -> Response:
    return Response(status, failure(None, INVALID_REQUEST, message).body, (JSON, *more), refusal=refusal)
