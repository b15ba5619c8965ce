"""How a tool of a user's own runs: on the loop or in a thread, whichever the size of its message and of its result."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from processes import SIGNET, Pipe, Server, piping, serving

TOOLS = """
import asyncio
import threading
import signet


@signet.tool
def plain(text: str) -> int:
    '''Count in a thread.'''
    return len(text)


@signet.tool(inline=True)
def inline(text: str) -> int:
    '''Count on the event loop.'''
    return len(text)


@signet.tool
async def at_once(text: str) -> int:
    '''Count on the event loop, and wait for nothing.'''
    return len(text)


@signet.tool
async def later(text: str) -> int:
    '''Count after a while.'''
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        counted = tasks.create_task(asyncio.sleep(0.001, len(text)))
    return counted.result()


@signet.tool
async def much(size: int) -> str:
    '''Return a large text without waiting.'''
    return "x" * size


@signet.tool
async def thread() -> str:
    '''Tell where a coroutine runs.'''
    return threading.current_thread().name
"""
NAMES = ["plain", "inline", "at_once", "later"]


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> str:
    file: Path = tmp_path_factory.mktemp("own") / "tools.py"
    file.write_text(TOOLS, encoding="utf-8")
    return str(file)


@pytest.fixture(scope="module")
def server(target: str) -> Iterator[Server]:
    with serving(target) as running:
        yield running


@pytest.fixture(scope="module")
def pipe(target: str) -> Iterator[Pipe]:
    with piping(SIGNET, "stdio", target, "--no-journal") as running:
        yield running


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [10, 200_000])
def test_over_http_a_message_of_any_size_is_served(server: Server, name: str, size: int) -> None:
    """A large one is read in a thread, where no event loop runs."""
    answer = server.post(f"/api/tools/{name}", {"text": "x" * size}).json()

    assert answer["result"] == {"result": size}


@pytest.mark.parametrize("name", NAMES)
def test_on_stdio_many_calls_in_one_write_are_all_answered(pipe: Pipe, name: str) -> None:
    params = {"name": name, "arguments": {"text": "four"}}
    pipe.send(*[{"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params} for number in range(200)])

    answers = [pipe.receive() for _ in range(200)]

    assert sorted(answer["id"] for answer in answers) == [*range(200)]
    assert all(answer["result"]["structuredContent"] == {"result": 4} for answer in answers)


def test_a_coroutine_that_waits_for_nothing_may_return_much(pipe: Pipe) -> None:
    params = {"name": "much", "arguments": {"size": 1_000_000}}

    answer = pipe.ask({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})

    assert answer["result"]["structuredContent"] == {"result": "x" * 1_000_000}


def test_a_coroutine_runs_on_the_event_loop_however_large_its_message(server: Server) -> None:
    answer = server.post("/api/tools/thread", {"ignored": "x" * 200_000}).json()

    assert answer["result"] == {"result": "MainThread"}
