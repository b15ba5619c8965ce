"""A link: carries messages to one running instance of a server, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

import msgspec

from signet.kernel.headers import METHOD, NAME, VERSION
from signet.kernel.protocol import MODERN_VERSIONS

from .messages import JSON_HEADERS, header_value

__all__ = ["MAX_BYTES", "Link", "LinkError", "Outgoing", "headers_of", "too_long"]

MAX_BYTES: Final = 16 << 20
"""The longest answer that a command reads, where it sets no other bound."""


class LinkError(Exception):
    """A server cannot be reached or started; the text is a sentence for people."""


class Outgoing(msgspec.Struct, frozen=True, gc=False):
    """One message to a server, with what a transport must know about it."""

    body: bytes
    """JSON on one line, without a line end."""
    method: str = ""
    """Empty for a response."""
    name: str = ""
    """The tool, prompt or resource that the request names: the `Mcp-Name` header of the modern era."""
    version: str = ""
    """The protocol revision that is spoken."""
    id: int | None = None
    """The id of a request; None for a notification and for a response."""
    param_headers: tuple[tuple[str, str], ...] = ()
    """The `Mcp-Param-*` headers of the modern era."""


def headers_of(message: Outgoing) -> dict[str, str]:
    """Return the headers that a message has over HTTP: those of the modern era repeat what it is and names."""
    headers = dict(JSON_HEADERS)
    if message.version:
        headers[VERSION] = message.version
    if message.version in MODERN_VERSIONS and message.method:
        headers[METHOD] = message.method
        headers |= {NAME: header_value(message.name)} if message.name else {}
        headers |= {name: header_value(value) for name, value in message.param_headers}
    return headers


def too_long(max_bytes: int) -> ValueError:
    """Return the error for an answer that is longer than it may be."""
    return ValueError(f"its answer is longer than {max_bytes} bytes")


class Link(Protocol):
    """Carries messages to one running server; all methods are called from one event loop."""

    async def open(
        self, receive: Callable[[bytes], None], lost: Callable[[str], None], unreadable: Callable[[str], None]
    ) -> Callable[[bytes], None] | None:
        """Start the server, or connect to it; return how a text is sent, where no more of a message is needed.

        `receive` is called with each message that comes: one whole JSON text, never empty. `lost` is called once, with
        a sentence, when the server is gone without `close`. `unreadable` is called with a sentence for a reply that is
        too long to be read and does not show which request it answers; where it does, `receive` gets an error reply.

        Raises:
            LinkError: it cannot be started or reached.
        """

    def send(self, message: Outgoing) -> None:
        """Send a message, without waiting and without raising.

        What cannot be delivered is told by `lost`, or over HTTP by an error reply to the request through `receive`.
        """

    def cancel(self, request_id: int) -> None:
        """Close the stream of a request that nobody waits for, where a stream belongs to it."""

    async def close(self) -> None:
        """End the server or the connection, within a bounded time; may be called more than once."""
