"""Informational (1xx) responses over real sockets: a hundred are skipped, and more of them end the connection."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest
from aiohttp.client_proto import ResponseHandler

import signet
from own_toolsets import call, declared
from processes import PATIENCE_S
from signet.kernel.errors import Fault
from signet.kernel.toolset import UpstreamSpec
from signet.kernel.upstream import UpstreamRequest, UpstreamResponse
from signet.mcp.endpoint import Endpoint
from signet.operations.access.issuer import Issuer
from signet.upstream.http import HttpUpstream
from upstream.test_failures import accepting

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
HINTS = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n"
SLICE_BYTES = 4_096
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
TOO_MANY = "sends more than 100 informational answers (1xx) and no result: check that the service is well"


def without_end(connection: socket.socket) -> None:
    """Answer a request with informational responses for as long as somebody reads them."""
    connection.recv(65_536)
    with suppress(OSError):
        while True:
            connection.sendall(CONTINUE * 10_000)


def answering(*answers: bytes) -> Callable[[socket.socket], None]:
    """Answer the requests of a connection one after the other."""

    def converse(connection: socket.socket) -> None:
        for answer in answers:
            if connection.recv(65_536):
                connection.sendall(answer)

    return converse


def asked(port: int, count: int = 1) -> list[UpstreamResponse]:
    """Return the responses of the service at a port to requests that follow each other."""

    async def ask() -> list[UpstreamResponse]:
        spec = UpstreamSpec(base_url=f"http://127.0.0.1:{port}", address_setting="X", timeout_s=PATIENCE_S)
        client = HttpUpstream(spec, proxied=False)
        try:
            return [await client.send(UpstreamRequest("/path")) for _ in range(count)]
        finally:
            await client.close()

    return asyncio.run(ask())


@pytest.mark.parametrize("interim", [CONTINUE, HINTS])
def test_a_hundred_informational_responses_are_skipped_before_each_response(interim: bytes) -> None:
    with accepting(answering(interim * 100 + OK, interim * 100 + OK)) as port:
        responses = asked(port, 2)

    assert [(response.status, response.body) for response in responses] == [(200, b"{}")] * 2


@pytest.mark.parametrize("interim", [CONTINUE, HINTS])
def test_one_more_is_an_error_of_the_upstream(interim: bytes) -> None:
    with accepting(answering(interim * 101 + OK)) as port, pytest.raises(Fault) as caught:
        asked(port)

    assert caught.value.name == "UPSTREAM_FAILED"
    assert caught.value.message == f"request failed: http://127.0.0.1:{port} {TOO_MANY}, and X"


def test_a_large_response_behind_informational_ones_is_whole() -> None:
    body = bytes(range(256)) * 2_000
    head = b"HTTP/1.1 200 OK\r\nX-Long: %b\r\nContent-Length: %d\r\n\r\n" % (b"x" * 20_000, len(body))
    with accepting(answering(CONTINUE * 50 + head + body)) as port:
        (response,) = asked(port)

    assert response.body == body


async def by_upstream(url: str) -> str:
    client = HttpUpstream(UpstreamSpec(base_url=url, address_setting="X", timeout_s=PATIENCE_S), proxied=False)
    try:
        await client.send(UpstreamRequest("/path"))
    except Fault as fault:
        return fault.message
    finally:
        await client.close()
    return ""


async def by_link(url: str) -> str:
    endpoint = Endpoint(url)
    try:
        async with endpoint.ask("POST", {}, b"{}"):
            return ""
    except Exception as error:  # noqa: BLE001 - whatever it is, the link describes it
        return endpoint.describe(error)
    finally:
        await endpoint.close()


async def by_issuer(url: str) -> str:
    try:
        await Issuer(url, f"{url}/keys").fetch_keys()
    except OSError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("ask", "told"), [(by_upstream, TOO_MANY), (by_link, TOO_MANY), (by_issuer, "no answer (InterimError)")]
)
def test_responses_without_end_are_parsed_up_to_the_bound_and_no_further(
    ask: Callable[[str], Awaitable[str]], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number of parsed bytes is counted: they are what holds the event loop."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    parsed: list[int] = []
    parse = ResponseHandler.data_received

    def counted(self: Any, data: bytes) -> None:
        parsed.append(len(data))
        parse(self, data)

    monkeypatch.setattr(ResponseHandler, "data_received", counted)
    with accepting(without_end) as port:
        message = asyncio.run(ask(f"http://127.0.0.1:{port}"))  # type: ignore[arg-type]

    assert told in message
    assert max(parsed) <= SLICE_BYTES
    assert sum(parsed) <= 2 * SLICE_BYTES


def test_a_tool_whose_service_sends_them_without_end_fails_and_others_are_served(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with accepting(without_end) as port:
        api = signet.Upstream(f"http://127.0.0.1:{port}", name="api", retries=0, timeout_s=PATIENCE_S)

        async def ask() -> str:
            """Ask the service."""
            return (await api.get("/path")).text()

        with declared(ask) as toolset:
            outcome = call(toolset, ("ask", {}))

    assert outcome.fault is not None
    assert TOO_MANY in outcome.fault.message
