"""HTTP for code that blocks: connections of http.client that end after too many informational (1xx) responses.

http.client skips `100 Continue` without counting, and each of them begins its timeout anew.
"""

from __future__ import annotations

from collections.abc import Callable
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any
from urllib.request import HTTPHandler, HTTPSHandler, Request

from signet.kernel.upstream import MAX_INTERIM

__all__ = ["BoundedConnection", "BoundedHandler", "BoundedTlsHandler"]


class _BoundedResponse(HTTPResponse):
    """The response to one request."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._status_lines = 0

    def _read_status(self) -> tuple[str, int, str]:
        """Return the next status line, unless there were too many."""
        # http.client has no public way to see informational responses.
        self._status_lines += 1
        if self._status_lines > MAX_INTERIM + 1:
            raise HTTPException(f"it sends more than {MAX_INTERIM} informational answers (1xx) and no result")
        line: tuple[str, int, str] = super()._read_status()  # type: ignore[misc]
        return line


class BoundedConnection(HTTPConnection):
    """A connection without TLS."""

    response_class = _BoundedResponse


class _Bounding:
    """A handler of urllib whose connections are bounded."""

    def do_open(self, http_class: Callable[..., HTTPConnection], req: Request, **options: Any) -> Any:
        """Send a request over a bounded connection."""

        def connect(*args: Any, **given: Any) -> HTTPConnection:
            connection = http_class(*args, **given)
            connection.response_class = _BoundedResponse
            return connection

        return super().do_open(connect, req, **options)  # type: ignore[misc]


class BoundedHandler(_Bounding, HTTPHandler):
    """Opens the addresses of `http:`."""


class BoundedTlsHandler(_Bounding, HTTPSHandler):
    """Opens the addresses of `https:`."""
