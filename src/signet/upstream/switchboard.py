"""The switchboard: one upstream for many services, each opened with its first request.

tool ── //api.example/today ── Switchboard ── /today ── the service's own upstream (cache, retries, rate, HTTP)

A request says how its service is reached. What leads to the switchboard, a recording too, knows services by name alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import lru_cache, partial

import msgspec

from signet.kernel.errors import Code, Fault
from signet.kernel.events import UpstreamVisit
from signet.kernel.toolset import UpstreamSpec
from signet.kernel.turns import Turns
from signet.kernel.upstream import (
    ResponseCache,
    Upstream,
    UpstreamRequest,
    UpstreamResponse,
    UpstreamState,
    states_of,
)
from signet.kernel.waiting import Waiting
from signet.system.redaction import MIN_CHARS, SecretRedactor, redact_secrets

__all__ = ["ServiceRequest", "Switchboard", "open_service"]

Log = Callable[..., None]


class ServiceRequest(UpstreamRequest, frozen=True, kw_only=True):
    """A request to a service that it names: its target begins with `//` and the name."""

    spec: UpstreamSpec
    """How the service is reached; `called` is its name."""
    secrets: tuple[str, ...] = ()
    """What the service is sent and nobody else may read."""
    fixed_query: str = ""
    """What the query of every request to the service ends with, encoded; a recording does not know it."""


def _silent(_: str, **__: object) -> None:
    """Log nothing."""


def open_service(
    spec: UpstreamSpec,
    *,
    turns: Sequence[Turns] = (),
    cache: ResponseCache | None = None,
    breaker: int = 0,
    log: Log = _silent,
    visit: Callable[[str, str, str], UpstreamVisit] | None = None,
) -> Upstream:
    """Return the upstream of one service, without a connection; it is left alone after `breaker` failures, if any.

    Raises:
        ValueError: its address cannot be used.
    """
    from .http import HttpUpstream
    from .retrying import RetryingUpstream

    # A query may have a secret that nobody declared.
    def line(event: str, **facts: object) -> None:
        shown = {name: redact_secrets(fact) if isinstance(fact, str) else fact for name, fact in facts.items()}
        log(event, **shown)

    own = None if visit is None else partial(visit, spec.called)
    opened: Upstream = HttpUpstream(spec, turns=turns, log=line, visit=own)
    if spec.retries:
        opened = RetryingUpstream(opened, spec, line)
    if breaker:
        from .breaker import BreakerUpstream

        opened = BreakerUpstream(opened, breaker, spec.called, line)
    if spec.coalesce:
        from .caching import CachingUpstream

        opened = CachingUpstream(opened, spec, cache)
    return opened


class Switchboard:
    """The services of one toolset; those that are open may be shared with others."""

    origin = "the services that its tools name"
    has_token = False

    def __init__(self, open_: Callable[[UpstreamSpec], Upstream], shared: dict[UpstreamSpec, Upstream]) -> None:
        """Open services with a function, unless they are among the shared ones."""
        self._open = open_
        self._shared = shared
        self._specs: dict[str, UpstreamSpec] = {}
        self._opening = asyncio.Lock()

    async def send(self, request: UpstreamRequest, wait: Waiting | None = None) -> UpstreamResponse:
        """Return the response of the service that a `ServiceRequest` is for, without what the service was sent.

        Raises:
            Fault: the network failed, or the name stands for two services.
        """
        if not isinstance(request, ServiceRequest):
            raise TypeError("a tool of one's own sends its requests with signet.Upstream")
        service = await self._service(request.spec)
        redactor = _redactor(request.secrets)
        own = msgspec.structs.replace(request, target=_target_of(request))
        try:
            response = await service.send(own, wait)
        except Fault as fault:
            message = redactor.text(fault.message)
            raise Fault(fault.code, message, name=fault.name, as_tool_result=fault.as_tool_result) from None
        return msgspec.structs.replace(
            response, body=redactor.data(response.body), broken=redactor.text(response.broken)
        )

    async def _service(self, spec: UpstreamSpec) -> Upstream:
        if self._specs.setdefault(spec.called, spec) != spec:
            message = f"there are two upstreams of the name {spec.called}: give one of them another name="
            raise Fault(Code.INTERNAL_ERROR, message, name="UPSTREAM_NAME", as_tool_result=True)
        if (service := self._shared.get(spec)) is not None:
            return service
        async with self._opening:
            if (service := self._shared.get(spec)) is not None:
                return service
            try:
                service = self._open(spec)
            except ValueError as error:
                raise Fault(Code.INTERNAL_ERROR, str(error), name="UPSTREAM_ADDRESS", as_tool_result=True) from None
            # The import of the HTTP client would hold the event loop.
            await asyncio.to_thread(service.warm)
            return self._shared.setdefault(spec, service)

    def states(self) -> list[UpstreamState]:
        """Return the states of the services that were asked."""
        return [state for service in list(self._shared.values()) for state in states_of(service)]

    def warm(self) -> None:
        """Do nothing: nobody knows yet whether a service is asked."""

    def forget(self, request: UpstreamRequest) -> None:
        """Do nothing: what is cached has been read."""

    async def close(self) -> None:
        """Close the connections of the services that were asked."""
        for service in self._shared.values():
            await service.close()


def _target_of(request: ServiceRequest) -> str:
    """Return the target without the name of the service, and with the whole query."""
    target = request.target.removeprefix(f"//{request.spec.called}")
    return f"{target}{'&' if '?' in target else '?'}{request.fixed_query}" if request.fixed_query else target


@lru_cache(maxsize=64)
def _redactor(secrets: tuple[str, ...]) -> SecretRedactor:
    return SecretRedactor(secrets, min_chars=MIN_CHARS)
