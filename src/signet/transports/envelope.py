"""The envelope over HTTP: `POST /mcp/tool/{slug}` with spec 5's request envelope as body."""

from __future__ import annotations

from signet.kernel.envelope import HTTP_STATUS, refusal
from signet.kernel.errors import INVALID_REQUEST, Fault
from signet.kernel.server import Pending, Server
from signet.kernel.wire import failure

from .asgi import JSON, Request, Response, Send, cancel_on_disconnect

__all__ = ["PATH", "EnvelopeDoor"]

PATH = "/mcp/tool/"


class EnvelopeDoor:
    """Answers `/mcp/tool/…`: the very answer that stdio gives, under the canonical HTTP status."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def answer(self, request: Request, _: Send) -> Response:
        """Answer one envelope."""
        if request.method != "POST":
            reply = failure(None, INVALID_REQUEST, "Only POST method is allowed")
            return Response(405, reply.body, (JSON, (b"allow", b"POST, OPTIONS")))
        answer = self._server.invoke(await request.body(), request.path.removeprefix(PATH))
        if isinstance(answer, Pending):
            answer = await cancel_on_disconnect(request, answer.reply)
        return Response(HTTP_STATUS[answer.code], answer.body)

    def refuse(self, fault: Fault) -> Response:
        """Write a fault of the door itself."""
        return Response(fault.status, refusal(fault.code).reply().body)
