"""Exchanges over HTTP: one for each request, also where its client has left, and none sent that was refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest

import misbehaving_server
from signet.kernel.errors import Code, Fault
from signet.kernel.exchange import Exchange
from signet.kernel.outcome import Call, Door, Outcome
from signet.kernel.tools import NULL_CONTEXT, Toolbox
from signet.kernel.wire import Headers
from signet.transports.exchanges import ExchangeNotes
from signet.transports.messages import Request, Response

DOOR = Door("http", "/api/tools/fine", "rest", by_name=True)
REFUSAL = Response(503)


@pytest.fixture(scope="module")
def toolbox(tmp_path_factory: pytest.TempPathFactory) -> Toolbox:
    return misbehaving_server.build(str(tmp_path_factory.mktemp("contracts"))).pipeline.toolbox


def refuse(_: Request | None, fault: Fault) -> Response:
    assert fault.name == "AUDIT_UNAVAILABLE"
    return REFUSAL


def fail(_: Exchange) -> None:
    raise Fault(Code.INTERNAL_ERROR, "no", name="AUDIT_UNAVAILABLE", status=503)


def asked(tool: str = "fine") -> Request:
    return Request("POST", "/x", Headers((), ()), call=Call(tool, {}, NULL_CONTEXT, DOOR))


def test_a_response_is_told_and_sent_or_refused(toolbox: Toolbox) -> None:
    seen: list[Exchange] = []
    response = Response(200, b"body")

    assert ExchangeNotes(seen.append, refuse, toolbox).note(asked(), response, "a") is response
    assert ExchangeNotes(fail, refuse, toolbox).note(asked(), response, "a") is REFUSAL
    assert [(one.status, one.sent_bytes, one.is_left) for one in seen] == [(200, 4, False)]


@pytest.mark.parametrize(("tool", "slug"), [("fine", True), ("nobody", False)])
def test_a_client_that_leaves_is_told_once_with_the_tool_that_it_called(
    toolbox: Toolbox, tool: str, *, slug: bool
) -> None:
    seen: list[Exchange] = []
    notes = ExchangeNotes(seen.append, refuse, toolbox)

    async def leave() -> None:
        waiting = asyncio.ensure_future(notes.unless_left(asked(tool), asyncio.Event().wait()))
        await asyncio.sleep(0)
        waiting.cancel()
        await notes.settle()
        assert waiting.cancelled()

    asyncio.run(leave())

    (exchange,) = seen
    assert (exchange.status, exchange.is_left) == (499, True)
    assert exchange.outcome is not None
    assert (exchange.outcome.tool is not None) is slug
    ExchangeNotes(fail, refuse, toolbox).note_left(asked(), Response(200))


@pytest.mark.parametrize("is_finished", [True, False])
def test_a_stream_is_told_before_its_last_event_or_when_it_is_left(toolbox: Toolbox, *, is_finished: bool) -> None:
    seen: list[Exchange] = []
    request = asked()
    taken: list[bytes] = []

    async def events() -> AsyncGenerator[bytes, None]:
        yield b"progress"
        request.outcome = Outcome(asked().call or Call("x", {}, NULL_CONTEXT), None)
        yield b"answer"

    async def take() -> None:
        stream = ExchangeNotes(seen.append, refuse, toolbox).events(request, Response(200), events())
        async for event in stream:
            taken.append(event)
            assert bool(seen) is (event == b"answer")
            if not is_finished:
                break
        await stream.aclose()

    asyncio.run(take())

    assert taken == [b"progress", b"answer"][: 1 + is_finished]
    assert [one.is_left for one in seen] == [not is_finished]


def test_a_request_without_a_head_is_told_by_its_address(toolbox: Toolbox) -> None:
    seen: list[Exchange] = []

    ExchangeNotes(seen.append, refuse, toolbox).note(None, Response(400, refusal="BAD_REQUEST"), "192.0.2.1")

    assert [(one.caller.address, one.refusal) for one in seen] == [("192.0.2.1", "BAD_REQUEST")]
