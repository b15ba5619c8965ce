"""The application of the metrics port: one page, for monitoring alone."""

from __future__ import annotations

import asyncio

import pytest

from signet.kernel.wire import Headers
from signet.transports.messages import Request, Response
from signet.transports.metrics_app import MetricsApp


def ask(method: str, path: str, *, is_local: bool = True, **headers: str) -> Response:
    """Return the answer to a request."""

    async def answer() -> Response:
        app = MetricsApp(lambda: b"figures 1\n", b"text/plain", is_local=is_local)
        request = Request(method, path, Headers(list(headers), headers.values()))
        found = app.admit(request) or app.answer(request)
        found = found if isinstance(found, Response) else await found
        return app.record(request, found, "")

    return asyncio.run(answer())


def test_the_page_is_at_metrics() -> None:
    page = ask("GET", "/metrics", host="localhost:9464")

    assert (page.status, page.body) == (200, b"figures 1\n")


@pytest.mark.parametrize(
    ("method", "path", "status"), [("POST", "/metrics", 405), ("GET", "/mcp", 404), ("GET", "/", 200)]
)
def test_there_is_nothing_else(method: str, path: str, status: int) -> None:
    assert ask(method, path, host="localhost").status == status


@pytest.mark.parametrize(
    ("host", "is_local", "status"),
    [
        ("evil.example", True, 421),
        ("evil.example", False, 421),
        ("10.0.0.7:9464", True, 421),
        ("10.0.0.7:9464", False, 200),
        ("signet1:9464", False, 200),
        ("", False, 421),
    ],
)
def test_a_name_that_a_page_could_have_is_refused(host: str, is_local: bool, status: int) -> None:
    assert ask("GET", "/metrics", is_local=is_local, host=host).status == status


def test_pages_of_the_web_get_nothing() -> None:
    assert ask("GET", "/metrics", host="localhost", origin="http://localhost").status == 403


@pytest.mark.parametrize(
    ("error", "why"), [(FileNotFoundError(2, "No such file"), "No such file"), (ValueError("x"), "content is broken")]
)
def test_a_page_that_cannot_be_made_is_away_with_the_reason(error: Exception, why: str) -> None:
    async def answer() -> Response:
        def fail() -> bytes:
            raise error

        page = MetricsApp(fail, b"text/plain").answer(Request("GET", "/metrics", Headers([], [])))
        return page if isinstance(page, Response) else await page

    page = asyncio.run(answer())

    assert page.status == 503
    assert why in page.body.decode()
