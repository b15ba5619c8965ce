"""Servers in this process for the targets of the wire: real sockets and pipes, with an event loop that is watched."""

from __future__ import annotations

import asyncio
import contextlib
import json
import tempfile
from collections.abc import Iterator
from typing import Any

from signet.app import build_server
from signet.authoring.declaration import ToolsetDeclaration, tool
from signet.authoring.toolset import build_toolset
from signet.kernel.server import Server
from signet.settings import catalogue
from signet.settings.model import Settings

from .target import TooSlow, Violation, expect
from .watch import WatchedSelector

__all__ = ["ERROR_CODES", "TOOLSETS", "LoopWatch", "a_server", "check_message", "loop_watched"]

TOOLSETS = "plantuml,fuzzed"
MAX_BLOCK_S = 0.05
"""The CPU time for which nothing may hold the event loop."""
ERROR_CODES = frozenset({-32700, -32600, -32601, -32602, -32603, -32001, -32002, -32004, -32020, -32021, -32022})
"""The codes of JSON-RPC, of the canonical table (spec 5) and of MCP."""


def repeat(text: str, times: int = 1) -> str:
    """Return a text so many times, up to 100."""
    return text * min(max(times, 0), 100)


async def wait_a_turn(value: dict[str, Any]) -> dict[str, Any]:
    """Return an object after a turn of the event loop."""
    await asyncio.sleep(0)
    return value


def fail(why: str) -> str:
    """Fail with an exception that no rule knows."""
    raise RuntimeError(why)


@contextlib.contextmanager
def a_server() -> Iterator[tuple[Server, Settings]]:
    """Build a server with tools that answer at once, later and never well, and a journal in a folder of its own."""
    tools = [tool(repeat), tool(wait_a_turn), tool(fail)]
    catalogue.register(build_toolset(ToolsetDeclaration(name="fuzzed", tools=tools), None))
    with tempfile.TemporaryDirectory(prefix="signet-fuzz-") as folder:
        try:
            settings = Settings.read({}, {"toolsets": TOOLSETS, "log": "off", "log_dir": folder, "console": False})
            yield build_server(settings), settings
        finally:
            catalogue.TOOLSETS.remove("fuzzed")
            del catalogue._registered["fuzzed"]  # noqa: SLF001 - nobody else forgets a toolset
            catalogue.find_toolset.cache_clear()


class LoopWatch:
    """An event loop that says when it was held, and what was raised in it."""

    def __init__(self) -> None:
        self._selector = WatchedSelector()
        self.loop = asyncio.SelectorEventLoop(self._selector)
        self._raised: list[BaseException] = []
        self.loop.set_exception_handler(self._note)

    def _note(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self._raised.append(context.get("exception") or Violation(f"the event loop says: {context.get('message')}"))

    def run(self, work: Any) -> Any:
        """Run a coroutine to its end; raise what was raised in the loop meanwhile, or `TooSlow` if it was held."""
        self._raised.clear()
        self._selector.forget()
        result = self.loop.run_until_complete(work)
        if self._raised:
            raise self._raised[0]
        if self._selector.longest_s > MAX_BLOCK_S:
            raise TooSlow(f"the event loop was held: {self._selector.longest_s:.3f} s")
        return result


@contextlib.contextmanager
def loop_watched() -> Iterator[LoopWatch]:
    """Open a watched event loop until the block ends."""
    watch = LoopWatch()
    try:
        yield watch
    finally:
        watch.loop.run_until_complete(watch.loop.shutdown_default_executor())
        watch.loop.close()


def check_message(body: bytes) -> dict[str, Any]:
    """Return a JSON-RPC message that a server sent; raise Violation if it is none, or has a code of no table."""
    try:
        message = json.loads(body.decode(), parse_constant=_no_constant)
    except ValueError as error:
        raise Violation(f"an answer is no JSON: {error}: {body[:200]!r}") from None
    expect(isinstance(message, dict) and message.get("jsonrpc") == "2.0", "an answer is no JSON-RPC", message)
    if "method" in message:
        expect("id" not in message, "a server without relay asks nothing", message)
        return dict(message)
    expect(("result" in message) != ("error" in message), "an answer has a result or an error", message)
    expect("id" in message and type(message["id"]) in {int, float, str, type(None)}, "an answer has an id", message)
    if "error" in message:
        error = message["error"]
        is_whole = isinstance(error, dict) and type(error.get("code")) is int and isinstance(error.get("message"), str)
        expect(is_whole and error["code"] in ERROR_CODES, "an error is of the table", message)
    return dict(message)


def _no_constant(word: str) -> None:
    raise ValueError(f"{word} is no JSON")
