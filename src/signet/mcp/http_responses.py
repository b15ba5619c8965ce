"""What is read of a response beside its messages: its type, its size, its end, and when to come again."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from .event_stream import Event, EventParser

if TYPE_CHECKING:
    from aiohttp import ClientResponse

__all__ = ["check_encoding", "content_type", "delay_s", "drain", "read_body", "read_events", "status_text"]

LINGER_S: Final = 0.2
"""How long the end of a stream is awaited after its reply, so that the connection can be used again."""
RETRY_S: Final = 1.0
MIN_RETRY_S: Final = 0.05
MAX_RETRY_S: Final = 30.0
MAX_DOUBLINGS: Final = 10
PIECE_BYTES: Final = 16_384
"""The bytes that are read in one turn: a server may send a line end in each of them."""


def content_type(response: ClientResponse) -> str:
    """Return the media type of a body, without parameters."""
    return response.headers.get("content-type", "").partition(";")[0].strip().lower()


def status_text(response: ClientResponse) -> str:
    """Return the status of a response, with its name if it has one."""
    try:
        return f"status {response.status} ({HTTPStatus(response.status).phrase})"
    except ValueError:
        return f"status {response.status}"


def check_encoding(response: ClientResponse, address: str) -> None:
    """Raise ValueError for a body that is compressed although none was asked for: its size would have no bound."""
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in {"identity", ""}:
        raise ValueError(f"{address} answers compressed, although it was asked not to")


async def read_body(response: ClientResponse, limit: int, address: str) -> bytes:
    """Return a body; raise ValueError if it is larger than its limit. The rest is never read."""
    check_encoding(response, address)
    body = bytearray()
    while chunk := await response.content.readany():
        body += chunk
        if len(body) > limit:
            raise ValueError(f"{address} answers with more than {limit} bytes")
    return bytes(body)


async def read_events(parser: EventParser, chunk: bytes) -> list[Event]:
    """Return the events that a chunk completes; between two pieces of it, others get their turn."""
    events = parser.feed(chunk[:PIECE_BYTES])
    for at in range(PIECE_BYTES, len(chunk), PIECE_BYTES):
        await asyncio.sleep(0)
        events += parser.feed(chunk[at : at + PIECE_BYTES])
    return events


async def drain(response: ClientResponse) -> None:
    """Read a stream to its end, for a short time."""
    import aiohttp

    try:
        async with asyncio.timeout(LINGER_S):
            while await response.content.readany():
                pass
    except (TimeoutError, aiohttp.ClientError, OSError):
        return


def delay_s(retry_ms: int | None, failures: int) -> float:
    """Return how long to wait before the next connection: longer after each that brought nothing."""
    least = RETRY_S if retry_ms is None else max(retry_ms / 1000, MIN_RETRY_S)
    return float(min(MAX_RETRY_S, least * 2 ** min(failures, MAX_DOUBLINGS)))
