"""The application of the metrics port: one page, for a monitoring system."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from ipaddress import ip_address

from signet.kernel.errors import Code, Fault

from .guard import LOOPBACK, host_of
from .messages import JSON, Answer, Request, Response
from .rest import refuse, wrong_method

__all__ = ["MetricsApp"]

PATH = "/metrics"


class MetricsApp:
    """Answers `/metrics`."""

    records_all = False
    is_ready = True

    def __init__(
        self,
        render: Callable[[], bytes],
        content_type: bytes,
        hosts: frozenset[str] = LOOPBACK,
        *,
        is_local: bool = True,
        on_close: Callable[[], None] = lambda: None,
    ) -> None:
        """Show a page that is made in a thread, one at a time.

        On loopback the page is for callers of these hosts. On another address it is also for those who call by an
        address or by a name without a dot, as monitoring systems do: no page of the web can have such a name.
        """
        self._render = render
        self._headers = ((b"content-type", content_type), (b"cache-control", b"no-store"))
        self._hosts = frozenset(map(host_of, hosts))
        self._is_local = is_local
        self._on_close = on_close
        self._rendering = asyncio.Lock()

    def admit(self, request: Request) -> Response | None:
        """Return the refusal of a request for another host, or by a page of the web."""
        host = host_of(request.headers.get("host", ""))
        if not (host in self._hosts or "*" in self._hosts or (not self._is_local and _is_near(host))):
            message = f"The metrics are not at the host '{host[:100]}'; start it with --allowed-hosts to add one"
            return refuse(Fault(Code.INVALID_INPUT, message, name="HOST_NOT_ALLOWED", status=421))
        if "origin" in request.headers:
            message = "The metrics are not for pages of the web"
            return refuse(Fault(Code.INVALID_INPUT, message, name="ORIGIN_NOT_ALLOWED", status=403))
        return None

    def answer(self, request: Request) -> Answer:
        """Return the page, or where it is."""
        if request.path not in {PATH, "/"}:
            return refuse(Fault(Code.NOT_FOUND, f"The metrics are at {PATH}"))
        if request.method not in {"GET", "HEAD"}:
            return refuse(wrong_method("GET"), (JSON, (b"allow", b"GET, HEAD")))
        return self._page() if request.path == PATH else Response(200, b'{"metrics":"/metrics"}')

    def refuse(self, _: Request | None, fault: Fault) -> Response:
        """Return the response for a fault of the connection."""
        return refuse(fault)

    def record(self, request: Request | None, response: Response, address: str) -> Response:  # noqa: ARG002 - no note
        """Return the response: what is asked here is not counted."""
        return response

    def record_left(self, request: Request, response: Response) -> None:
        """Do nothing."""

    def start(self) -> None:
        """Do nothing."""

    def reload(self) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """Release what the page is made of."""
        self._on_close()

    async def _page(self) -> Response:
        async with self._rendering:
            try:
                return Response(200, await asyncio.to_thread(self._render), self._headers)
            except (OSError, ValueError) as error:
                why = getattr(error, "strerror", None) or "their content is broken"
                message = f"The files of the metrics cannot be read ({why}): restart the server"
                return refuse(Fault(Code.INTERNAL_ERROR, message, name="METRICS_UNAVAILABLE", status=503))


def _is_near(host: str) -> bool:
    """Return whether a host is an address, or a name that no other domain can have."""
    try:
        ip_address(host)
    except ValueError:
        return bool(host) and "." not in host
    return True
