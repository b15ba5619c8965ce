"""Events: a point without listeners is None, and several listeners hear of an event in the order of their coming."""

from __future__ import annotations

from typing import Any

import pytest

from signet.kernel.caller import NOBODY
from signet.kernel.errors import Code, Fault
from signet.kernel.events import Events, UpstreamVisit
from signet.kernel.exchange import Exchange

ASKED = Exchange(NOBODY, "rest", "POST /api/tools/fine", 200)


def refuse(_: Exchange) -> None:
    raise Fault(Code.INTERNAL_ERROR, "no log", name="AUDIT_UNAVAILABLE", status=503)


def test_a_point_without_listeners_is_none_and_the_only_listener_is_called_itself() -> None:
    heard: list[Any] = []
    events = Events()
    quiet = [events.outcome, events.exchange, events.on_http_exchange, events.records, events.upstream_response]

    listener = heard.append
    events.add(Events(exchange=listener))
    events.add(Events())

    assert quiet == [None] * 5
    assert (events.exchange, events.on_http_exchange, events.http_exchange) == (listener, listener, None)


def test_listeners_hear_of_an_event_one_after_the_other() -> None:
    heard: list[str] = []
    events = Events()
    for name in ("log", "journal", "console"):
        events.add(Events(written=lambda count, _, name=name: heard.append(f"{name} {count}")))

    assert events.written is not None
    events.written(3, 0.0)

    assert heard == ["log 3", "journal 3", "console 3"]


def test_a_refused_exchange_is_told_to_the_others_as_the_refusal_that_is_sent() -> None:
    heard: list[Exchange] = []
    events = Events(exchange=refuse, http_exchange=heard.append)

    assert events.on_http_exchange is not None
    with pytest.raises(Fault):
        events.on_http_exchange(ASKED)

    assert [(one.status, one.refusal) for one in heard] == [(503, "AUDIT_UNAVAILABLE")]


def test_a_later_listener_of_operations_takes_the_place_of_the_former() -> None:
    first, second = object(), object()
    events = Events()
    for operations in (first, second, None):
        events.add(Events(operations=operations))  # type: ignore[arg-type] # it is only passed on

    assert events.operations is second


def test_a_visit_is_told_before_the_request_and_after_the_response() -> None:
    heard: list[tuple[str, str, float]] = []
    ticks = iter([5.0, 7.5])

    def note(visit: UpstreamVisit) -> None:
        visit.headers["traceparent"] = "00-1-2-01"
        heard.append((visit.upstream, visit.code, visit.took_s))

    events = Events(clock=lambda: next(ticks), upstream_request=note, upstream_response=note)
    visit = events.visit("boj", "GET", "https://service.example")
    visit.end("200")

    assert heard == [("boj", "", 0.0), ("boj", "200", 2.5)]
    assert visit.headers == {"traceparent": "00-1-2-01"}
