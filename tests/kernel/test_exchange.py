"""An exchange: what is known of each request when its answer is about to be sent."""

from __future__ import annotations

from signet.kernel.caller import NOBODY
from signet.kernel.exchange import Exchange


def test_a_request_that_was_no_call_has_no_outcome() -> None:
    exchange = Exchange(NOBODY, "http", "GET /nowhere", 404, "NOT_FOUND")

    assert (exchange.outcome, exchange.is_left, exchange.took_s) == (None, False, 0.0)
