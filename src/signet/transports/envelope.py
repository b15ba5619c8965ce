"""The envelope over HTTP: `POST /mcp/tool/{slug}` with spec 5's request envelope as body."""

from __future__ import annotations

from signet.kernel.envelope import HTTP_STATUS, refusal
from signet.kernel.errors import INVALID_REQUEST, Fault
from signet.kernel.server import Pending, Server
from signet.kernel.wire import failure

from .asgi import JSON, Answer, Request, Send, unless_gone

__all__ = ["PATH", "EnvelopeDoor"]

PATH = "/mcp/tool/"


class EnvelopeDoor:
    """Answers `/mcp/tool/…`: the very answer that stdio gives, under the canonical HTTP status."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def answer(self, request: Request, _: Send) -> Answer:
        """Answer one envelope."""
        if request.method != "POST":
            reply = failure(None, INVALID_REQUEST, "Only POST method is allowed")
            return Answer(405, reply.body, (JSON, (b"allow", b"POST, OPTIONS")))
        answer = self._server.invoke(await request.body(), request.path.removeprefix(PATH))
        if isinstance(answer, Pending):
            answer = await unless_gone(request, answer.reply)
        return Answer(HTTP_STATUS[answer.code], answer.body)

    def refuse(self, fault: Fault) -> Answer:
        """Write a fault of the door itself."""
        return Answer(fault.status, refusal(fault.code).reply().body)
