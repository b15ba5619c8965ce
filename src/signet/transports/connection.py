"""One HTTP connection: a head has bounds in size and time, and a client that has gone is told from one that listens."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

__all__ = ["Connection"]

MAX_HEAD_BYTES: Final = 65_536
"""The most that a request line and its headers may take."""
HEAD_TIMEOUT_S: Final = 30.0
"""How long they may take to come, from the connection or from the last answer on."""
LAST_WORD_S: Final = 1.0
"""How long an answer may still take once its client has said all it will: it may be listening, or be gone."""
TOO_SLOW: Final = b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class Connection(HttpToolsProtocol):
    """uvicorn's HTTP/1.1, held to its bounds."""

    _in_head = True
    _head_bytes = 0
    """What has come since the read in which the head began."""
    _heads = 0
    _deadline: asyncio.TimerHandle | None = None
    _running: RequestResponseCycle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        """Wait for the first head."""
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the request that runs that nobody waits for it."""
        super().connection_lost(exc)
        self._expect_nothing()
        if self._running is not None and not self._running.response_complete:
            # uvicorn tells only the last request that came, which may wait behind this one.
            self._running.disconnected = True
            self._running.message_event.set()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def data_received(self, data: bytes) -> None:
        """Measure what is part of a head."""
        head = self._heads
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:
            # Part of a head, or nothing that counts; either has ended uvicorn's own wait for the next request.
            self._expect_head()
        if self._in_head and self._heads == head:
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
                self.send_400_response("The request line and headers are too large")

    def eof_received(self) -> bool:  # type: ignore[override] # as asyncio has it
        """Keep the connection for the answers that are owed; nothing tells a client that listens from one that is gone.

        The latter's calls are cancelled when the time is over and the connection is closed.
        """
        owed = self.cycle is not None and not self.cycle.response_complete
        owed = owed and (not self.cycle.more_body or bool(self.pipeline))
        if owed:
            # The last of the answers closes the connection itself.
            self.cycle.keep_alive = False
            self.loop.call_later(LAST_WORD_S, self.transport.close)
        return owed

    def on_message_begin(self) -> None:
        """Begin a head."""
        self._in_head, self._head_bytes = True, 0
        self._heads += 1
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """End a head."""
        self._in_head = False
        self._expect_nothing()
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """Wait for the next head."""
        super().on_response_complete()
        if self._in_head and self.cycle.response_complete:
            # The next head has begun before this answer was out.
            self._unset_keepalive_if_required()
            self._expect_head()

    def _expect_head(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_TIMEOUT_S, self._give_up)

    def _expect_nothing(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        if not self.transport.is_closing():
            self.transport.write(TOO_SLOW)
            self.transport.close()
