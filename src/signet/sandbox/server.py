"""A small HTTP/1.1 server on loopback that plays an upstream, well or with faults to order.

    connection ── Inlet ── Request ──┬── /_sandbox ─────── Control
                                     ├── /_hop, /_loop ─── a redirect on its way
                                     └── Log ── Orders ──┬─ none: the handler's Response, as it should be
                                                         └─ a fault: what the table in `faults` says

It knows nothing of what it plays: that is the handler's business.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from typing import Any, Final

import msgspec

from .fault_rule import FaultRule
from .faults import read_fault_rule
from .request_log import LoggedRequest
from .router import Handler, RequestRouter, converse

__all__ = ["Running", "Sandbox", "start"]

SEND_BUFFER_BYTES: Final = 131_072
"""What the system may hold for a peer that does not read; small, so that the log tells what a peer took."""

BACKLOG: Final = 1024


class Sandbox(msgspec.Struct, frozen=True):
    """An upstream to play: a name, what answers, and what it says of itself."""

    name: str
    handler: Handler
    about: dict[str, Any] = {}


class Running:
    """A sandbox that listens; made by `start`."""

    def __init__(self, sandbox: Sandbox, listener: socket.socket) -> None:
        host, port = listener.getsockname()[:2]
        self.url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        self._listener = listener
        self._stage = RequestRouter(sandbox.handler, {"sandbox": sandbox.name, **sandbox.about})
        self._conversations: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    @property
    def requests(self) -> tuple[LoggedRequest, ...]:
        """Every request so far, in order; those to the sandbox itself are not among them."""
        return self._stage.log.all()

    def order(self, fault: str, *, match: str | None = None, times: int | None = None, **parameters: Any) -> FaultRule:
        """Let a fault befall the requests whose raw target holds `match`, `times` times or until cleared.

        Raises:
            Fault: there is no such fault, or it takes no such parameter.
        """
        order = read_fault_rule({"fault": fault, "match": match, "times": times, **parameters})
        self._stage.orders.add(order)
        return order

    def clear(self) -> None:
        """Let no order stand, and forget the requests."""
        self._stage.orders.clear()
        self._stage.log.clear()

    async def listen(self) -> None:
        """Begin to answer."""
        self._server = await asyncio.start_server(self._accept, sock=self._listener, backlog=BACKLOG)

    async def stop(self) -> None:
        """End every connection and free the address; a second time does nothing."""
        if self._server is None:
            return
        server, self._server = self._server, None
        server.close()
        for task in self._conversations:
            task.cancel()
        if self._conversations:
            await asyncio.wait(self._conversations)
        await server.wait_closed()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(converse(self._stage, reader, writer))
        self._conversations.add(task)
        task.add_done_callback(self._conversations.discard)


async def start(sandbox: Sandbox, host: str = "127.0.0.1", port: int = 0) -> Running:
    """Play an upstream on a loopback address; port 0 is any free one.

    Raises:
        ValueError: the address is not this machine's alone.
        OSError: it cannot be had.
    """
    running = Running(sandbox, _bind(host, port))
    await running.listen()
    return running


def _bind(host: str, port: int) -> socket.socket:
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    if not ipaddress.ip_address(address[0]).is_loopback:
        message = f"{host} can be reached by others; a sandbox listens on loopback only"
        raise ValueError(message)
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Before it listens: the connections that it accepts inherit this.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        listener.bind(address)
    except OSError:
        listener.close()
        raise
    return listener
