"""A bound on informational (1xx) responses: a connection of aiohttp ends after too many of them.

aiohttp skips informational responses without counting them, and without a pause as long as more of them are there. A
service that sends them without end would hold the event loop. Imported with the first request, like aiohttp.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import aiohttp
from aiohttp.client_proto import ResponseHandler

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Callable

__all__ = ["InterimError", "bound_interim_responses"]

SLICE_BYTES: Final = 4_096
"""The size of the pieces in which data is parsed until the response begins: one has room for fewer than 200 heads."""
INFORMATIONAL: Final = range(100, 200)
SWITCHING_PROTOCOLS: Final = 101
"""An informational status that ends the wait for a response."""


class InterimError(aiohttp.ClientError):
    """A service sent more informational responses than are read."""


def bound_interim_responses(connector: aiohttp.BaseConnector, most: int) -> None:
    """Let the connections of a connector end after more than `most` informational responses to one request."""
    # aiohttp has no public way to choose the protocol of a connection.
    make: Callable[..., ResponseHandler] = _BoundedHandler
    connector._factory = partial(make, loop=connector._loop, most=most)  # noqa: SLF001 - see above


class _BoundedHandler(ResponseHandler):
    """The protocol of one connection."""

    def __init__(self, loop: AbstractEventLoop, most: int) -> None:
        super().__init__(loop)
        self._most = most
        self._interim = 0
        self._has_begun = False
        """Whether the response to the current request has begun."""

    def set_response_params(self, **options: Any) -> None:
        """Prepare for the response to a new request."""
        self._interim, self._has_begun = 0, False
        super().set_response_params(**options)

    def data_received(self, data: bytes) -> None:
        """Parse data, in pieces as long as informational responses may be in it."""
        while len(data) > SLICE_BYTES and not self._has_begun and self._exception is None:
            super().data_received(data[:SLICE_BYTES])
            data = data[SLICE_BYTES:]
        if self._interim <= self._most:
            super().data_received(data)

    def feed_data(self, data: Any, size: int = 0) -> None:
        """Hand a parsed response to the request that waits for it, unless there are too many."""
        status = data[0].code
        if status not in INFORMATIONAL or status == SWITCHING_PROTOCOLS:
            self._has_begun = True
        else:
            self._interim += 1
        if self._interim <= self._most:
            super().feed_data(data, size)
        elif self._exception is None:
            self.set_exception(InterimError(f"more than {self._most} informational responses"))
            if self.transport is not None:
                self.transport.abort()
