"""The calls that are awaited for each address, and the room that is left for others."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

import pytest

from signet.kernel.caller import Caller, Principal
from signet.kernel.wire import Headers
from signet.transports.messages import Request, Response
from signet.transports.shares import MAX_IN_FLIGHT, CallShares


def request(address: str, principal: Principal | None = None) -> Request:
    return Request("POST", "/mcp", Headers([], []), address=address, caller=Caller(principal, address))


FROM_A = request("a")


async def _answer() -> Response:
    return Response(200)


async def _fail() -> Response:
    raise RuntimeError("no answer")


def test_a_place_is_taken_at_once_and_given_back_with_the_answer() -> None:
    shares = CallShares()
    held = shares.hold(FROM_A, _answer())

    assert shares.awaited.of("a") == 1
    assert asyncio.run(_await(held)).status == 200
    assert shares.awaited.held == shares.awaited.of("a") == 0


def test_a_place_is_given_back_where_there_is_no_answer() -> None:
    shares = CallShares()

    with pytest.raises(RuntimeError):
        asyncio.run(_await(shares.hold(FROM_A, _fail())))

    assert shares.awaited.held == shares.awaited.of("a") == 0


async def _await(held: object) -> Response:
    return await held  # type: ignore[misc,no-any-return]


def test_one_address_has_half_of_all_places_and_the_next_half_of_the_rest() -> None:
    shares = CallShares()
    shares.awaited.hold("a", MAX_IN_FLIGHT // 2 - 1)
    assert shares.check(FROM_A) is None

    shares.awaited.hold("a")
    refused = shares.check(FROM_A)
    assert refused is not None
    assert (refused.name, refused.status) == ("TOO_MANY_CALLS", 503)
    assert shares.check(request("b")) is None

    shares.awaited.hold("b", MAX_IN_FLIGHT // 4)
    assert shares.check(request("b")) is not None
    assert shares.check(request("c")) is None


def test_a_principal_has_one_share_for_all_of_its_addresses() -> None:
    shares = CallShares()
    mallory, alice = Principal("mallory", frozenset()), Principal("alice", frozenset())
    held = [shares.hold(request(f"127.0.0.{number % 4}", mallory), _answer()) for number in range(512)]

    refused = shares.check(request("127.0.0.9", mallory))
    assert refused is not None
    assert refused.message.startswith("This principal has 512 calls in flight")
    assert shares.check(request("127.0.0.9", alice)) is None
    assert shares.check(request("127.0.0.9", Principal("shared"))) is None
    asyncio.run(_await_all(held))
    assert (shares.awaited.held, shares.by_principal.held) == (0, 0)


async def _await_all(held: list[Awaitable[Response]]) -> None:
    for one in held:
        await one


def test_a_token_that_all_callers_have_is_no_holder() -> None:
    shares = CallShares()
    held = shares.hold(request("a", Principal("shared")), _answer())

    assert shares.by_principal.held == 0
    asyncio.run(_await(held))
    held = shares.hold(request("a", Principal("ann", frozenset())), _answer())
    assert shares.by_principal.of("ann") == 1
    asyncio.run(_await(held))
    assert (shares.awaited.held, shares.by_principal.held) == (0, 0)
