"""A link that records: every message of another link goes onto a tape, and is changed by nothing."""

from __future__ import annotations

from collections.abc import Callable

from signet.mcp.link import Link, Outgoing

from .tape import TapeWriter

__all__ = ["RecordingLink"]


class RecordingLink:
    """Carries the messages of another link, and writes them down in both directions."""

    def __init__(self, inner: Link, tape: TapeWriter) -> None:
        """Record a link; the tape is shared by the links of a server, and closed by whoever opened it."""
        self._inner = inner
        self._tape = tape
        self._connection = tape.connect()

    async def open(
        self, receive: Callable[[bytes], None], lost: Callable[[str], None], unreadable: Callable[[str], None]
    ) -> None:
        """Open the inner link.

        Raises:
            LinkError: the inner link cannot be opened.
        """
        tape, connection = self._tape, self._connection

        def heard(message: bytes) -> None:
            tape.write(connection, "to_client", message)
            receive(message)

        await self._inner.open(heard, lost, unreadable)

    def send(self, message: Outgoing) -> None:
        """Send a message through the inner link; its headers are not recorded."""
        self._tape.write(self._connection, "to_server", message.body)
        self._inner.send(message)

    def cancel(self, request_id: int) -> None:
        """Close the stream of a request through the inner link."""
        self._inner.cancel(request_id)

    async def close(self) -> None:
        """Close the inner link; what is queued for the tape stays queued."""
        await self._inner.close()
        self._tape.disconnect(self._connection)
