"""Toolsets of a user, for tests: declared in the test, served in this process, and forgotten at its end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from signet.app import build_server, resolve
from signet.authoring.declaration import ToolsetDeclaration, tool
from signet.authoring.toolset import build_toolset
from signet.commands.call import walk
from signet.kernel.outcome import Outcome
from signet.sandbox.message import Sandbox, SandboxRequest, SandboxResponse, json_response
from signet.settings import catalogue
from signet.settings.model import Settings
from upstream_harness import UpstreamHarness, playing


@contextlib.contextmanager
def declared(*functions: Callable[..., Any], name: str = "weather", **facts: Any) -> Iterator[str]:
    """Make functions the tools of a toolset until the block ends; return its name."""
    declaration = ToolsetDeclaration(name=name, tools=[tool(function) for function in functions], **facts)
    catalogue.register(build_toolset(declaration, None))
    try:
        yield name
    finally:
        catalogue.TOOLSETS.remove(name)
        del catalogue._registered[name]
        catalogue.find_toolset.cache_clear()


def call(
    toolset: str, *calls: tuple[str, dict[str, Any]], environ: Mapping[str, str] | None = None, **flags: Any
) -> Any:
    """Serve a toolset, make calls one after the other, and return the outcome of the last one."""
    return call_all(toolset, *calls, environ=environ, **flags)[-1]


def call_all(
    toolset: str, *calls: tuple[str, dict[str, Any]], environ: Mapping[str, str] | None = None, **flags: Any
) -> list[Outcome]:
    """Serve a toolset, make calls one after the other, and return their outcomes."""
    settings = Settings.read(environ or {}, {"toolsets": toolset, **flags})

    async def run() -> list[Outcome]:
        server = build_server(resolve(settings))
        try:
            return [await walk(server, name, arguments) for name, arguments in calls]
        finally:
            await server.close()

    return asyncio.run(run())


class ServiceHarness(UpstreamHarness):
    """A service on loopback that answers each request with what it was asked."""


def echo(request: SandboxRequest) -> SandboxResponse:
    """Answer with the request itself: method, target, headers and body."""
    return json_response(msgspec.to_builtins(request))


def echoing() -> contextlib.AbstractContextManager[ServiceHarness]:
    """Play such a service until the block ends."""
    return playing(Sandbox("echo", echo), ServiceHarness)
