"""A conversation: the requests of one connection, each answered as the handler or an order will have it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from signet.kernel.errors import Fault

from .control import Control
from .exchange import ResponseWriter
from .fault_rule import FaultRule, FaultRules
from .message import SandboxRequest, SandboxResponse, head_of, problem_of
from .reader import RequestReader
from .redirect_faults import detour
from .request_log import LoggedRequest, RequestLog

__all__ = ["Handler", "RequestRouter", "converse"]

Handler = Callable[[SandboxRequest], SandboxResponse]

PLAIN: Final = FaultRule()
"""No fault: the answer as it should be."""

LINGER_S: Final = 1.0
"""How long a peer whose request was refused may go on sending before it is hung up on."""


class RequestRouter:
    """What the connections of one sandbox share."""

    def __init__(self, handler: Handler, about: dict[str, Any]) -> None:
        self.orders = FaultRules()
        self.log = RequestLog()
        self._handler = handler
        self._control = Control(about, self.orders, self.log)

    def direct(self, request: SandboxRequest) -> tuple[Callable[[], SandboxResponse], FaultRule, LoggedRequest]:
        """Decide what becomes of a request: its real answer, how that is sent, and where it is shadow_violation."""
        seen = self.log.see(request)
        told = self._control.answer(request)
        if told is not None:
            return (lambda: told), PLAIN, seen
        self.log.add(seen)
        way = detour(request)
        if isinstance(way, SandboxResponse):
            return (lambda: way), PLAIN, seen
        order = self.orders.take(request.target) if way is None else None
        seen.fault = order.name if order else None
        return partial(self._handler, way or request), order or PLAIN, seen


async def converse(stage: RequestRouter, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer one request after another until the peer leaves or a fault ends it."""
    # Nothing is buffered here, so that a write has come to its end when the system has all of it.
    writer.transport.set_write_buffer_limits(0)
    inlet = RequestReader(reader)
    try:
        while await _turn(stage, inlet, writer):
            pass
    except ConnectionError:
        writer.transport.abort()
    except asyncio.CancelledError:
        writer.transport.abort()
        raise
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def _turn(stage: RequestRouter, inlet: RequestReader, writer: asyncio.StreamWriter) -> bool:
    """Answer one request, and say whether there may be another."""
    try:
        request = await inlet.request()
    except Fault as fault:
        await _refuse(fault, inlet, writer)
        return False
    if request is None:
        return False
    real, order, seen = stage.direct(request)
    exchange = ResponseWriter(request, seen, real, inlet, writer)
    try:
        await order.play(exchange)
        seen.end = "answered"
    except ConnectionError:
        seen.end = "gone"
        raise
    except asyncio.CancelledError:
        seen.end = "stopped"
        raise
    return exchange.stays


async def _refuse(fault: Fault, inlet: RequestReader, writer: asyncio.StreamWriter) -> None:
    """Say why, and let the peer finish, since closing over unread bytes would take the answer back."""
    response = problem_of(fault.status, fault.message)
    writer.write(head_of(response, len(response.body), stays=False) + response.body)
    await writer.drain()
    writer.write_eof()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LINGER_S):
            await inlet.discard()
