"""A toolset that extends another: the same settings, upstream and sandbox, and a service of its own around it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from msgspec import Struct

from signet.kernel.toolset import Toolset, UpstreamSpec
from signet.kernel.upstream import Upstream, UpstreamRequest, UpstreamResponse
from signet.kernel.waiting import Waiting
from signet.recording import open_run
from signet.settings import catalogue
from signet.settings.fields import setting
from signet.settings.model import Settings, open_log
from signet.settings.names import known_settings

ASKED = UpstreamRequest("/where")


class PlaceSettings(Struct, frozen=True, kw_only=True):
    base_url: Annotated[str | None, setting("origin of the place", flag=True)] = None


class Echo:
    """A service in front of an upstream: it answers with the origin behind it."""

    has_token = False

    def __init__(self, settings: Any, inner: Upstream | None) -> None:
        self.origin = getattr(settings, "base_url", "here")
        self.inner = inner

    async def send(self, request: UpstreamRequest, wait: Waiting | None = None) -> UpstreamResponse:  # noqa: ARG002 - the port's
        return UpstreamResponse(200, "text/plain", f"{request.target} of {self.origin}".encode())

    def warm(self) -> None: ...

    def forget(self, request: UpstreamRequest) -> None: ...

    async def close(self) -> None: ...


def upstream(settings: PlaceSettings) -> UpstreamSpec:
    return UpstreamSpec(base_url=settings.base_url)


PLACE = Toolset(name="place", title="Place", tools=tuple, settings=PlaceSettings, needs="base_url", upstream=upstream)
MAP = Toolset(name="place-map", title="Map of the place", tools=tuple, extends="place", service=Echo)
ALONE = Toolset(name="alone", title="A service with no upstream", tools=tuple, service=Echo)


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(catalogue, "TOOLSETS", list(catalogue.TOOLSETS))
    for toolset in (PLACE, MAP, ALONE):
        catalogue.register(toolset)
    yield
    for toolset in (PLACE, MAP, ALONE):
        del catalogue._registered[toolset.name]
    catalogue.find_toolset.cache_clear()


def read(**flags: Any) -> Settings:
    return Settings.read({}, flags)


def names(settings: Settings) -> list[str]:
    return [toolset.name for toolset, _ in settings.enabled()]


def test_it_is_enabled_with_the_toolset_that_it_extends() -> None:
    assert [name for name in names(read()) if name.startswith("place")] == []
    assert names(read(place_base_url="http://127.0.0.1:9"))[-3:] == ["place", "place-map", "alone"]


def test_it_has_the_same_settings_under_the_same_names() -> None:
    settings = read(place_base_url="http://127.0.0.1:9", toolsets="place,place-map")

    assert [own for _, own in settings.enabled()] == [PlaceSettings(base_url="http://127.0.0.1:9")] * 2
    assert [name for name in known_settings() if name.startswith("place")] == ["place_base_url"]


def test_both_share_one_upstream_and_its_service_stands_before_it() -> None:
    settings = read(place_base_url="http://127.0.0.1:9", toolsets="place,place-map")
    run = open_run(settings, open_log(settings))

    place, extension = (run.runtime(one).upstream for one in settings.enabled())

    assert isinstance(extension, Echo)
    assert extension.inner is place is not None


def test_a_service_needs_no_upstream() -> None:
    settings = read(toolsets="alone")

    (alone,) = (open_run(settings, open_log(settings)).runtime(one).upstream for one in settings.enabled())

    assert isinstance(alone, Echo)
    assert alone.inner is None


@pytest.mark.parametrize("toolset", ["place-map", "alone"])
def test_what_a_service_answers_is_recorded_and_replayed(toolset: str, tmp_path: Path) -> None:
    folder = str(tmp_path / "tape")
    live = read(place_base_url="http://127.0.0.1:9", toolsets=toolset, record=folder)
    recorded = answer(live)

    replayed = answer(read(toolsets=toolset, replay=folder))

    assert (recorded.status, recorded.body) == (replayed.status, replayed.body)
    assert recorded.body.startswith(b"/where of ")


def answer(settings: Settings) -> UpstreamResponse:
    (enabled,) = settings.enabled()
    service = open_run(settings, open_log(settings)).runtime(enabled).upstream
    assert service is not None

    async def send() -> UpstreamResponse:
        try:
            return await service.send(ASKED)
        finally:
            await service.close()

    return asyncio.run(send())
