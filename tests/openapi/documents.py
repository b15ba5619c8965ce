"""Small documents for tests, written as Python values, and calls of their tools."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from own_toolsets import ServiceHarness
from own_toolsets import echo as echoed
from signet.kernel.toolset import Toolset
from signet.openapi.toolset import open_toolset
from signet.sandbox.message import Sandbox, SandboxRequest, SandboxResponse
from upstream_harness import playing

JSON = "application/json"


def document(paths: dict[str, Any], version: str = "3.1.0", **more: Any) -> dict[str, Any]:
    return {"openapi": version, "info": {"title": "Test", "version": "1"}, "paths": paths, **more}


def operation(parameters: Any = (), body: Any = None, response: Any = None, **more: Any) -> dict[str, Any]:
    """Return an operation whose body and response are JSON of some schemas."""
    found: dict[str, Any] = {"parameters": list(parameters), "responses": {"200": {"description": "so"}}, **more}
    if body is not None:
        found["requestBody"] = {"required": True, "content": {JSON: {"schema": body}}}
    if response is not None:
        found["responses"]["200"]["content"] = {JSON: {"schema": response}}
    return found


def written(folder: Path, value: Any, name: str = "test.json") -> str:
    path = folder / name
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return str(path)


def made(folder: Path, value: Any, *include: str, notes: list[str] | None = None, **more: Any) -> Toolset:
    """Return the toolset of a document, whose notes are collected."""
    told: list[str] = [] if notes is None else notes
    facts = {"name": "test", "environ": {}, "note": told.append, **more}
    return open_toolset(written(folder, value), include=include, **facts)


def contracts(folder: Path, one: dict[str, Any], version: str = "3.1.0", **more: Any) -> dict[str, Any]:
    """Return the contracts of the tool of one operation, a POST of /x."""
    toolset = made(folder, document({"/x": {"post": one}}, version, **more))
    (bundle,) = toolset.bundles().values()
    return json.loads(bundle)


class Received(ServiceHarness):
    """A service that answers each request with what it was asked, and keeps it."""

    received: list[SandboxRequest]


@contextlib.contextmanager
def echo() -> Iterator[Received]:
    """Play such a service until the block ends."""
    received: list[SandboxRequest] = []

    def handle(request: SandboxRequest) -> SandboxResponse:
        received.append(request)
        return echoed(request)

    with playing(Sandbox("echo", handle), Received) as harness:
        harness.received = received
        yield harness
