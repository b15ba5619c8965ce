"""The envelope door over HTTP: `POST /mcp/tool/{slug}` with the request envelope of spec 5 as body."""

from __future__ import annotations

from signet.kernel.envelope import HTTP_STATUS, refusal, response_id
from signet.kernel.errors import INVALID_REQUEST, OWN_STATUS_FAULTS, PARSE_ERROR, Fault
from signet.kernel.server import Pending, Server
from signet.kernel.wire import ProtocolError, Reply, decode, failure

from .messages import JSON, KEY_HEADER, Answer, Request, Response, idempotency_key
from .path_names import unescaped

__all__ = ["PATH", "EnvelopeDoor"]

PATH = "/mcp/tool/"


class EnvelopeDoor:
    """Answers `/mcp/tool/…` with the same response as stdio, under the canonical HTTP status."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def answer(self, request: Request) -> Answer:
        """Return the response to one envelope."""
        if request.method != "POST":
            body = failure(None, INVALID_REQUEST, "Only POST method is allowed").body  # rule: 5.wire.http-body
            return Response(405, body, (JSON, (b"allow", b"POST, OPTIONS")), refusal="METHOD_NOT_ALLOWED")
        try:
            key = idempotency_key(request) if KEY_HEADER in request.headers else ""
        except Fault as fault:
            return self._refuse_key(request, fault)
        slug = request.path.removeprefix(PATH)
        reply = self._server.invoke(request.body, unescaped(slug) if "%" in slug else slug, request.caller, key)
        return _to_response(request, reply) if isinstance(reply, Reply) else _await_response(request, reply)

    def refuse(self, fault: Fault) -> Response:
        """Return the response for a fault of the door itself."""
        return Response(fault.status, refusal(fault.code).reply().body, refusal=fault.name)  # rule: 5.wire.http-body/2

    def _refuse_key(self, request: Request, fault: Fault) -> Response:
        """Return the response for a key that cannot be used, to the request that has it."""
        try:
            request_id = response_id(decode(request.body))
        except ProtocolError:
            request_id = None
        return Response(fault.status, refusal(fault.code).reply(request_id).body, refusal=fault.name)


async def _await_response(request: Request, pending: Pending) -> Response:
    request.call = pending.call
    return _to_response(request, await pending.reply)


def _to_response(request: Request, reply: Reply) -> Response:
    request.outcome = reply.outcome
    fault = reply.outcome.fault if reply.outcome is not None else None
    if fault is not None and fault.name in OWN_STATUS_FAULTS:
        return Response(fault.status, reply.body)
    refusal = "NOT_JSON" if reply.code == PARSE_ERROR else ""
    if fault is not None and fault.stage == "envelope":
        refusal = "INVALID_ENVELOPE"
    return Response(HTTP_STATUS[reply.code], reply.body, refusal=refusal)  # rule: 5.wire.same-answer
