"""The envelope door over HTTP: `POST /mcp/tool/{slug}` with the request envelope of spec 5 as body."""

from __future__ import annotations

from signet.kernel.envelope import HTTP_STATUS, refusal
from signet.kernel.errors import INVALID_REQUEST, Fault
from signet.kernel.server import Pending, Server
from signet.kernel.wire import failure

from .asgi import JSON, Request, Response, Send, cancel_on_disconnect

__all__ = ["PATH", "EnvelopeDoor"]

PATH = "/mcp/tool/"


class EnvelopeDoor:
    """Answers `/mcp/tool/…` with the same response as stdio, under the canonical HTTP status."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def answer(self, request: Request, _: Send) -> Response:
        """Return the response to one envelope."""
        if request.method != "POST":
            body = failure(None, INVALID_REQUEST, "Only POST method is allowed").body
            return Response(405, body, (JSON, (b"allow", b"POST, OPTIONS")))
        reply = self._server.invoke(await request.body(), request.path.removeprefix(PATH))
        if isinstance(reply, Pending):
            reply = await cancel_on_disconnect(request, reply.reply)
        return Response(HTTP_STATUS[reply.code], reply.body)

    def refuse(self, fault: Fault) -> Response:
        """Return the response for a fault of the door itself."""
        return Response(fault.status, refusal(fault.code).reply().body)
