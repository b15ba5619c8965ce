"""One HTTP connection: limits on the size and time of a request head, and the end of calls whose client is gone.

uvicorn has no public hooks for these limits, so this module relies on private members of its protocol class. The
version of uvicorn is capped for that reason, and `tests/transports/test_connection.py` checks every member.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

__all__ = ["Connection"]

MAX_HEAD_BYTES: Final = 65_536
"""The largest request line and headers together."""
HEAD_TIMEOUT_S: Final = 30.0
"""The longest time for a head to arrive, from the start of the connection or from the last response."""
HALF_CLOSED_S: Final = 1.0
"""The time for responses after the client has closed its sending side: it may still read, or be gone."""
TOO_SLOW: Final = b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class Connection(HttpToolsProtocol):
    """The HTTP/1.1 protocol of uvicorn, with limits on the request head."""

    _in_head = True
    _head_bytes = 0
    """The bytes received since the read in which the head began."""
    _heads = 0
    _deadline: asyncio.TimerHandle | None = None
    _running: RequestResponseCycle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        """Wait for the first head."""
        super().connection_made(transport)
        self._start_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        """Notify the running request that its client is gone."""
        super().connection_lost(exc)
        self._clear_deadline()
        if self._running is not None and not self._running.response_complete:
            # uvicorn notifies only the request that arrived last, which may wait behind this one.
            self._running.disconnected = True
            self._running.message_event.set()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def data_received(self, data: bytes) -> None:
        """Count the bytes of a head, and refuse a head that is too large."""
        heads_before = self._heads
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:
            # No request is running: any byte has stopped uvicorn's own timer for the next request.
            self._start_deadline()
        if self._in_head and self._heads == heads_before:
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
                self.send_400_response("The request line and headers are too large")

    def eof_received(self) -> bool:  # type: ignore[override] # as asyncio has it
        """Keep a half-closed connection open for a short time if responses are due.

        A client that still reads cannot be told from a client that is gone. When the time is over the connection is
        closed, which cancels the calls that still run.
        """
        is_due = self.cycle is not None and not self.cycle.response_complete
        is_due = is_due and (not self.cycle.more_body or bool(self.pipeline))
        if is_due:
            # The last response closes the connection.
            self.cycle.keep_alive = False
            self.loop.call_later(HALF_CLOSED_S, self.transport.close)
        return is_due

    def on_message_begin(self) -> None:
        """Note the start of a head."""
        self._in_head, self._head_bytes = True, 0
        self._heads += 1
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Note the end of a head."""
        self._in_head = False
        self._clear_deadline()
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """Wait for the next head."""
        super().on_response_complete()
        if self._in_head and self.cycle.response_complete:
            # The next head began before this response was sent.
            self._unset_keepalive_if_required()
            self._start_deadline()

    def _start_deadline(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_TIMEOUT_S, self._close_late)

    def _clear_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _close_late(self) -> None:
        if not self.transport.is_closing():
            self.transport.write(TOO_SLOW)
            self.transport.close()
