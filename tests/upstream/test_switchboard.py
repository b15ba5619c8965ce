"""The switchboard: services are opened once, with their first request, and shared by the toolsets of a run."""

from __future__ import annotations

import asyncio

import pytest

from signet.kernel.errors import Code, Fault
from signet.kernel.toolset import UpstreamSpec
from signet.kernel.upstream import Upstream, UpstreamRequest, UpstreamResponse
from signet.kernel.waiting import Waiting
from signet.upstream.switchboard import ServiceRequest, Switchboard

SPEC = UpstreamSpec(base_url="https://api.example", called="api")


class Service:
    """A service that answers with what it was asked, or fails."""

    origin = "https://api.example"
    has_token = False

    def __init__(self) -> None:
        self.is_closed = False

    async def send(self, request: UpstreamRequest, _: Waiting | None = None) -> UpstreamResponse:
        if request.target == "/fail":
            raise Fault(Code.INTERNAL_ERROR, "request failed: secret-of-the-user", name="UPSTREAM_FAILED")
        return UpstreamResponse(200, "", f"{request.target} secret-of-the-user".encode())

    def warm(self) -> None: ...

    def forget(self, request: UpstreamRequest) -> None: ...

    async def close(self) -> None:
        self.is_closed = True


class Exchange:
    """Opens services, and counts them."""

    def __init__(self) -> None:
        self.opened: list[UpstreamSpec] = []
        self.shared: dict[UpstreamSpec, Upstream] = {}

    def open(self, spec: UpstreamSpec) -> Upstream:
        self.opened.append(spec)
        if spec.base_url == "nonsense":
            raise ValueError("the base URL 'nonsense' does not start with http:// or https://")
        return Service()

    def board(self) -> Switchboard:
        return Switchboard(self.open, self.shared)


def request(target: str = "/x", spec: UpstreamSpec = SPEC) -> ServiceRequest:
    return ServiceRequest(f"//{spec.called}{target}", spec=spec, secrets=("secret-of-the-user",))


def test_a_service_is_opened_once_for_all_who_ask() -> None:
    exchange = Exchange()

    async def run() -> list[UpstreamResponse]:
        boards = [exchange.board(), exchange.board()]
        return [*await asyncio.gather(*(boards[0].send(request()) for _ in range(3))), await boards[1].send(request())]

    assert [response.body for response in asyncio.run(run())] == [b"/x [redacted]"] * 4
    assert exchange.opened == [SPEC]


def test_closing_closes_what_was_opened() -> None:
    exchange = Exchange()

    async def run() -> None:
        board = exchange.board()
        await board.send(request())
        await board.close()

    asyncio.run(run())

    assert [service.is_closed for service in exchange.shared.values() if isinstance(service, Service)] == [True]


@pytest.mark.parametrize(
    ("asked", "name", "message"),
    [
        (request("/fail"), "UPSTREAM_FAILED", "request failed: [redacted]"),
        (
            request(spec=UpstreamSpec(base_url="nonsense", called="other")),
            "UPSTREAM_ADDRESS",
            "the base URL 'nonsense' does not start with http:// or https://",
        ),
    ],
)
def test_what_fails_is_told_without_secrets(asked: ServiceRequest, name: str, message: str) -> None:
    with pytest.raises(Fault) as caught:
        asyncio.run(Exchange().board().send(asked))

    assert (caught.value.name, caught.value.message) == (name, message)


def test_a_request_that_names_no_service_is_a_mistake_of_the_author() -> None:
    with pytest.raises(TypeError, match=r"sends its requests with signet\.Upstream"):
        asyncio.run(Exchange().board().send(UpstreamRequest("/x")))
