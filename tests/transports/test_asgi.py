"""HTTP as every web door has it: bodies with bounds, responses, and calls that end with their client."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest

from signet.kernel.errors import Code, Fault
from signet.transports import asgi
from signet.transports.asgi import ClientDisconnected, Request, Response, cancel_on_disconnect, preflight

MIB = 1_048_576
GONE = {"type": "http.disconnect"}
Messages = Iterable[dict[str, Any]]


def part(body: bytes, *, more: bool = False) -> dict[str, Any]:
    return {"type": "http.request", "body": body, "more_body": more}


def request_of(*messages: dict[str, Any], headers: Iterable[tuple[bytes, bytes]] = (), path: str = "/") -> Request:
    """A request whose client sends these messages, and then nothing more."""
    left = iter(messages)

    async def receive() -> dict[str, Any]:
        for message in left:
            return message
        return await asyncio.Future()

    scope = {"type": "http", "method": "POST", "raw_path": path.encode("latin-1"), "headers": list(headers)}
    return Request(scope, receive)


def body_of(*messages: dict[str, Any]) -> bytes:
    return asyncio.run(request_of(*messages).body())


# --- a request


def test_a_path_is_kept_as_it_was_sent() -> None:
    assert request_of(path="/api/tools/%41%20b").path == "/api/tools/%41%20b"


def test_headers_are_stripped_and_those_that_come_twice_are_named() -> None:
    request = request_of(headers=[(b"host", b" a\t"), (b"x", b"1"), (b"x", b"2")])

    assert request.headers == {"host": "a", "x": "2"}
    assert request.headers.repeated == {"x"}


@pytest.mark.parametrize(
    "messages",
    [[part(b"abc")], [part(b"a", more=True), part(b"", more=True), part(b"bc")], [part(b"abc", more=True), part(b"")]],
    ids=["at once", "in parts", "with an empty end"],
)
def test_a_body_is_read_whole_however_it_comes(messages: list[dict[str, Any]]) -> None:
    assert body_of(*messages) == b"abc"


@pytest.mark.parametrize("parts", [1, 3], ids=["at once", "in parts"])
def test_a_body_of_one_mebibyte_is_read(parts: int) -> None:
    size = MIB // parts
    sizes = [size] * (parts - 1) + [MIB - size * (parts - 1)]

    body = body_of(*(part(b"x" * size, more=place < parts - 1) for place, size in enumerate(sizes)))

    assert len(body) == MIB


@pytest.mark.parametrize(
    "messages",
    [[part(b"x" * (MIB + 1))], [part(b"x" * MIB, more=True), part(b"x", more=True)]],
    ids=["at once", "in parts without end"],
)
def test_a_body_over_one_mebibyte_is_refused_as_soon_as_it_is(messages: list[dict[str, Any]]) -> None:
    with pytest.raises(Fault) as caught:
        body_of(*messages)

    fault = caught.value
    assert (fault.code, fault.name, fault.status) == (Code.INVALID_INPUT, "REQUEST_TOO_LARGE", 413)


@pytest.mark.parametrize("messages", [[GONE], [part(b"a", more=True), GONE]], ids=["before it", "within it"])
def test_a_client_that_leaves_before_its_body_is_whole_is_told_from_one_that_sends_none(
    messages: list[dict[str, Any]],
) -> None:
    with pytest.raises(ClientDisconnected):
        body_of(*messages)

    assert body_of(part(b"")) == b""


def test_a_body_that_does_not_come_in_time_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asgi.BODY_TIMEOUT_S == 30
    monkeypatch.setattr(asgi, "BODY_TIMEOUT_S", 0.01)

    with pytest.raises(Fault) as caught:
        body_of(part(b"a", more=True))

    assert (caught.value.name, caught.value.status) == ("REQUEST_TIMEOUT", 408)


# --- a response


def sent(response: Response, **how: Any) -> list[Any]:
    messages: list[Any] = []

    async def send(message: Any) -> None:
        messages.append(message)

    asyncio.run(response.send(send, **how))
    return messages


def test_a_response_is_json_and_says_its_length() -> None:
    start, body = sent(Response(200, b"{}"), extra=((b"vary", b"Origin"),))

    assert start["status"] == 200
    assert start["headers"] == [
        (b"content-type", b"application/json"), (b"content-length", b"2"), (b"vary", b"Origin"),
    ]  # fmt: skip
    assert body == {"type": "http.response.body", "body": b"{}"}


def test_the_response_to_head_has_the_headers_of_its_body_and_no_body() -> None:
    start, body = sent(Response(200, b"{}"), head=True)

    assert (b"content-length", b"2") in start["headers"]
    assert body["body"] == b""


@pytest.mark.parametrize(
    ("headers", "allowed"),
    [([], b"Content-Type, Authorization"), ([(b"access-control-request-headers", b"x-trace")], b"x-trace")],
    ids=["by default", "on request"],
)
def test_a_preflight_allows_the_headers_that_are_asked_about(
    headers: list[tuple[bytes, bytes]], allowed: bytes
) -> None:
    assert preflight(request_of(headers=headers), b"POST") == (
        (b"access-control-allow-methods", b"POST"),
        (b"access-control-allow-headers", allowed),
    )


# --- a call and its client


def test_a_call_whose_client_stays_gives_its_result() -> None:
    async def call() -> int:
        return 7

    async def scenario() -> int:
        return await cancel_on_disconnect(request_of(), call())

    assert asyncio.run(scenario()) == 7


def test_a_call_that_raises_raises_to_its_caller() -> None:
    async def call() -> int:
        raise Fault(Code.NOT_FOUND, "no such thing")

    async def scenario() -> int:
        return await cancel_on_disconnect(request_of(), call())

    with pytest.raises(Fault, match="no such thing"):
        asyncio.run(scenario())


def test_a_call_whose_client_leaves_is_cancelled() -> None:
    events: list[str] = []

    async def call() -> None:
        events.append("begun")
        try:
            await asyncio.Event().wait()
        finally:
            events.append("cancelled")

    async def scenario() -> None:
        with pytest.raises(ClientDisconnected):
            await cancel_on_disconnect(request_of(part(b""), GONE), call())
        # The cancelled task has its last turn of the event loop.
        await asyncio.sleep(0)

    asyncio.run(scenario())

    assert events == ["begun", "cancelled"]
