"""Requests and responses as values: preflights, and the fault of a slow body."""

from __future__ import annotations

import pytest

from signet.kernel.wire import Headers
from signet.transports.messages import Request, Response, body_too_slow, preflight


@pytest.mark.parametrize(
    ("headers", "allowed"),
    [(Headers((), ()), b"Content-Type, Authorization"), (Headers(["access-control-request-headers"], ["x-t"]), b"x-t")],
    ids=["by default", "on request"],
)
def test_a_preflight_allows_the_headers_that_are_asked_about(headers: Headers, allowed: bytes) -> None:
    assert preflight(Request("OPTIONS", "/", headers), b"POST") == (
        (b"access-control-allow-methods", b"POST"),
        (b"access-control-allow-headers", allowed),
    )


def test_a_body_that_is_too_slow_is_told_its_limit() -> None:
    fault = body_too_slow(30.0)

    assert (fault.status, fault.name, fault.message) == (408, "REQUEST_TIMEOUT", "The body did not come within 30 s")


def test_a_response_is_json_unless_it_says_otherwise_and_no_refusal() -> None:
    response = Response(200)

    assert (response.headers, response.refusal, response.events) == (
        ((b"content-type", b"application/json"),),
        "",
        None,
    )
