"""The context of a call in a tool of a user's own: progress, cancellation, the day; by the official client."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from processes import PATIENCE_S, SIGNET, clean_env, piping, serving

TOOLS = """
import asyncio
import pathlib
import time
import signet


def note(folder, name):
    pathlib.Path(folder, name).touch()


@signet.tool
async def count(to: int, context: signet.Context) -> str:
    '''Count on the event loop.'''
    for number in range(1, to + 1):
        context.progress(number, to, f"at {number}")
        await asyncio.sleep(0)
    return context.today()


@signet.tool
def count_plainly(to: int, context: signet.Context) -> str:
    '''Count in a thread.'''
    for number in range(1, to + 1):
        context.progress(number, to, f"at {number}")
    return context.today()


@signet.tool
async def wait(folder: str) -> str:
    '''Wait on the event loop.'''
    note(folder, "begun")
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        note(folder, "cancelled")
        raise
    return "waited"


@signet.tool
def wait_plainly(folder: str, context: signet.Context) -> str:
    '''Wait in a thread.'''
    note(folder, "begun")
    while not context.is_cancelled():
        time.sleep(0.002)
    note(folder, "cancelled")
    return "waited"
"""
BOTH = pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])


@pytest.fixture
def target(tmp_path: Path) -> str:
    path = tmp_path / "context.py"
    path.write_text(TOOLS, encoding="utf-8")
    return str(path)


@pytest.fixture(params=["stdio", "http"])
def door(request: pytest.FixtureRequest, target: str) -> Iterator[str | StdioServerParameters]:
    """The way in: a command to start, or an address to call."""
    if request.param == "http":
        with serving("--toolsets", target) as server:
            yield f"{server.url}/mcp"
        return
    yield StdioServerParameters(command=SIGNET, args=["stdio", "--toolsets", target], env=clean_env())


@BOTH
@pytest.mark.parametrize("tool", ["count", "count_plainly"])
def test_the_callback_of_a_client_hears_the_progress(door: str | StdioServerParameters, mode: str, tool: str) -> None:
    heard: list[tuple[float, float | None, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async def talk() -> Any:
        async with Client(door, mode=mode) as client:
            return await client.call_tool(tool, {"to": 3}, progress_callback=note)

    days = [datetime.now(UTC).date().isoformat()]
    result = asyncio.run(talk())
    days.append(datetime.now(UTC).date().isoformat())

    assert heard == [(1, 3, "at 1"), (2, 3, "at 2"), (3, 3, "at 3")]
    assert result.structured_content["result"] in days


@BOTH
@pytest.mark.parametrize("tool", ["wait", "wait_plainly"])
def test_a_call_that_its_client_leaves_is_cancelled(
    door: str | StdioServerParameters, mode: str, tool: str, tmp_path: Path
) -> None:
    # Over HTTP, a client of this era says by a request of its own that it left, which no session ties to the call: the
    # server knows when its connection ends.
    must_go = mode == "legacy" and isinstance(door, str)

    async def talk() -> Any:
        async with Client(door, mode=mode) as client:
            call = asyncio.ensure_future(client.call_tool(tool, {"folder": str(tmp_path)}))
            await appeared(tmp_path / "begun")
            call.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await call
            if not must_go:
                await appeared(tmp_path / "cancelled")
        await appeared(tmp_path / "cancelled")
        # The server goes on.
        async with Client(door, mode=mode) as client:
            return await client.call_tool("count", {"to": 1})

    assert not asyncio.run(talk()).is_error


@pytest.mark.parametrize("tool", ["wait", "wait_plainly"])
def test_a_cancelled_notification_stops_a_tool(target: str, tool: str, tmp_path: Path) -> None:
    params = {"name": tool, "arguments": {"folder": str(tmp_path)}}

    with piping(SIGNET, "stdio", "--toolsets", target) as pipe:
        pipe.send({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params})
        asyncio.run(appeared(tmp_path / "begun"))
        pipe.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}})
        asyncio.run(appeared(tmp_path / "cancelled"))
        reply = pipe.ask({"jsonrpc": "2.0", "id": 8, "method": "ping"})

    assert reply == {"jsonrpc": "2.0", "id": 8, "result": {}}


async def appeared(path: Path) -> None:
    """Wait until a file is there."""
    deadline = time.monotonic() + PATIENCE_S
    while not path.exists():  # noqa: ASYNC240 - it is on this machine
        assert time.monotonic() < deadline, f"there is no {path.name}"
        await asyncio.sleep(0.002)


NONSENSE = """
import signet


@signet.tool
def report(context: signet.Context) -> str:
    '''Report nonsense from a thread.'''
    context.progress("canary", object(), 5)
    context.progress(float("nan"), total=float("inf"), message="canary")
    return "reported"


@signet.tool
async def report_async(context: signet.Context) -> str:
    '''Report nonsense from the event loop.'''
    context.progress("canary", object(), 5)
    context.progress(float("nan"), total=float("inf"), message="canary")
    return "reported"
"""


@pytest.mark.parametrize("tool", ["report", "report_async"])
@pytest.mark.parametrize("meta", [{}, {"_meta": {"progressToken": 1}}])
def test_reports_that_make_no_sense_harm_nobody(tmp_path: Path, tool: str, meta: dict[str, Any]) -> None:
    """The call has the same answer, whether its client asked for reports or not."""
    (tmp_path / "nonsense.py").write_text(NONSENSE, encoding="utf-8")
    params = {"name": tool, "arguments": {}, **meta}

    with piping(SIGNET, "stdio", "--toolsets", str(tmp_path / "nonsense.py"), "--no-journal") as pipe:
        reply = pipe.ask({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params})
        _, _, err = pipe.finish()

    assert reply["result"]["structuredContent"] == {"result": "reported"}
    assert b"canary" not in err
    assert b"Traceback" not in err
