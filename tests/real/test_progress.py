"""The official SDK's client hears what its call waits for, on stdio and over HTTP."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from boj_harness import CODE, SPOT, BojHarness
from processes import ROOT, clean_env, serving_command
from upstream_harness import DIRECT

EAGER = (sys.executable, str(ROOT / "tests/support/quick_progress_server.py"))


@pytest.fixture(params=["stdio", "http", "boj-mcp-server"])
def door(request: pytest.FixtureRequest, bank: BojHarness) -> Iterator[str | StdioServerParameters]:
    """The way in: a command to start, or an address to call."""
    env = clean_env({**DIRECT, "BOJ_BASE_URL": bank.url, "PATH": os.environ["PATH"]})
    if request.param == "http":
        with serving_command(*EAGER, "signet", "serve", "--port", "0", "--toolsets", "boj", env=env) as server:
            yield f"{server.url}/mcp"
        return
    command = ["signet", "stdio", "--toolsets", "boj"] if request.param == "stdio" else ["boj-mcp-server"]
    yield StdioServerParameters(command=EAGER[0], args=[EAGER[1], *command], env=env)


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_a_call_that_waits_tells_the_callback_what_for(
    bank: BojHarness, door: str | StdioServerParameters, mode: str
) -> None:
    seen: list[tuple[float, str]] = []

    async def note(progress: float, _: float | None, message: str | None) -> None:
        seen.append((progress, message or ""))

    async def talk() -> Any:
        async with Client(door, mode=mode) as client:
            return await client.call_tool(CODE, SPOT, progress_callback=note)

    bank.order("slow", delay_s=1.5)

    result = asyncio.run(talk())

    numbers = [number for number, _ in seen]
    assert not result.is_error
    assert numbers == sorted(set(numbers))
    assert any(message.startswith("waiting for the Bank of Japan's answer (") for _, message in seen)


def test_a_call_that_is_answered_at_once_tells_nothing(bank: BojHarness) -> None:
    """With the interval that users have."""
    seen: list[float] = []

    async def note(progress: float, _: float | None, __: str | None) -> None:
        seen.append(progress)

    async def talk() -> Any:
        env = clean_env({**DIRECT, "BOJ_BASE_URL": bank.url})
        command = StdioServerParameters(
            command=sys.executable, args=["-m", "signet", "stdio", "--toolsets", "boj"], env=env
        )
        async with Client(command, mode="legacy") as client:
            return await client.call_tool(CODE, SPOT, progress_callback=note)

    result = asyncio.run(talk())

    assert not result.is_error
    assert seen == []
