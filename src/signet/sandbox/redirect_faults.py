"""Faults of direction: chains, loops and dead ends; their state is in the targets that they send the client to."""

from __future__ import annotations

import re
from typing import Annotated, Final

import msgspec

from .exchange import ResponseWriter
from .fault_rule import FaultRule
from .message import SandboxRequest, SandboxResponse

__all__ = ["NoLocation", "Redirect", "RedirectLoop", "RedirectTo", "detour"]

HOP: Final = re.compile(r"/_hop/(3\d\d)/(\d{1,3})(/.*)")
LOOP: Final = re.compile(r"/_loop/(3\d\d)/.*")

Redirection = Annotated[int, msgspec.Meta(ge=300, le=399)]


class RedirectFault(FaultRule, frozen=True):
    """A fault that sends the client elsewhere."""

    status: Redirection = 302

    def location(self, request: SandboxRequest) -> str | None:
        """Say where to."""
        return request.target

    async def play(self, exchange: ResponseWriter) -> None:
        """Send the client there."""
        await exchange.send(_redirection(self.status, self.location(exchange.request)))


class Redirect(RedirectFault, frozen=True, tag="redirect"):
    """A chain that ends well."""

    hops: Annotated[int, msgspec.Meta(ge=1, le=999)] = 1

    def location(self, request: SandboxRequest) -> str:
        """Say where the first hop leads."""
        return f"/_hop/{self.status}/{self.hops - 1}{request.target}"


class RedirectLoop(RedirectFault, frozen=True, tag="redirect_loop"):
    """A chain that ends never."""

    def location(self, request: SandboxRequest) -> str:
        """Say where the loop begins."""
        return f"/_loop/{self.status}{request.target}"


class RedirectTo(RedirectFault, frozen=True, kw_only=True, tag="redirect_to"):
    """A redirect to anywhere."""

    to: str = msgspec.field(name="location")

    def location(self, request: SandboxRequest) -> str:  # noqa: ARG002 - the others need it
        """Say what was ordered."""
        return self.to


class NoLocation(RedirectFault, frozen=True, tag="no_location"):
    """A redirect to nowhere."""

    def location(self, request: SandboxRequest) -> None:  # noqa: ARG002 - the others need it
        """Say nothing."""
        return


def detour(request: SandboxRequest) -> SandboxRequest | SandboxResponse | None:
    """Follow a chain or a loop that an order began: the next answer, or the request that it ends with."""
    if loop := LOOP.fullmatch(request.target):
        return _redirection(int(loop[1]), request.target)
    if hop := HOP.fullmatch(request.target):
        if left := int(hop[2]):
            return _redirection(int(hop[1]), f"/_hop/{hop[1]}/{left - 1}{hop[3]}")
        return msgspec.structs.replace(request, target=hop[3])
    return None


def _redirection(status: int, location: str | None) -> SandboxResponse:
    return SandboxResponse(status, type=None, headers={} if location is None else {"location": location})
