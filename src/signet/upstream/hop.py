"""A hop: one request on the way to a response."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import msgspec

from signet.kernel.events import UpstreamVisit

if TYPE_CHECKING:
    from yarl import URL

__all__ = ["Hop"]

SEE_OTHER: Final = 303


class Hop(msgspec.Struct):
    """One request on the way to a response: the first one, or the one that a redirect leads to."""

    url: URL
    method: str
    headers: dict[str, str]
    body: bytes
    status: int = 0
    """The status of its response, as soon as there is one."""

    def follow(self, status: int, location: str) -> None:
        """Go where a redirect points, as browsers do."""
        from .egress import redirect_target

        target = redirect_target(self.url, location)
        if target.origin() != self.url.origin():  # rule: 1.S2.1.redirects-token
            # Another server was not given the token, nor any other header of the caller.
            self.headers = {}
        if status == SEE_OTHER or (status in {301, 302} and self.method == "POST"):
            self.method, self.body = "GET", b""
        self.url, self.status = target, 0

    @contextmanager
    def watched(self, begin: Callable[[str, str], UpstreamVisit], own: str) -> Iterator[None]:
        """Send the request inside of the block as a part of its trace; only the service at `own` is told of it."""
        import asyncio

        origin = str(self.url.origin())
        visit, code = begin(self.method, origin), ""
        if own == origin or own.startswith(origin + "/"):
            self.headers |= visit.headers
        try:
            yield
        except TimeoutError:
            code = "timeout"
            raise
        except asyncio.CancelledError:
            code = "cancelled"
            raise
        finally:
            visit.end(code or (str(self.status) if self.status else "failed"))
