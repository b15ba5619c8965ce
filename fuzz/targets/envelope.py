"""Envelopes: the request of spec 5, through stdio and through HTTP, with one answer at both doors."""

from __future__ import annotations

import contextlib
import json
import random
from collections.abc import Iterator
from typing import Any

from fuzz.odd_values import json_text, json_value, number, text
from fuzz.serving import LoopWatch, a_server, check_message, loop_watched
from fuzz.target import Run, Target, expect
from signet.kernel.channel import ClientChannel
from signet.kernel.server import Pending, Server
from signet.kernel.wire import Reply

from .frames import TOKENS as FRAME_TOKENS

__all__ = ["TARGET"]

INVOKE = "mcp.tool.invoke"
CANONICAL = {
    "INVALID_INPUT": (-32602, "Invalid params"),
    "INVALID_OUTPUT": (-32002, "Invalid tool output"),
    "NOT_FOUND": (-32004, "Resource not found"),
    "UNAUTHORIZED": (-32001, "Unauthorized"),
    "INTERNAL_ERROR": (-32603, "Internal error"),
}
"""Spec 5's JSON-RPC code and message of each canonical code."""
OTHERS = {-32700, -32601}
"""What is refused before it is an envelope: no JSON, another method."""
TOOLS = (
    "mcp.tool:plantuml.encode",
    "plantuml.encode",
    "mcp.tool:fuzzed.repeat",
    "mcp.tool:fuzzed.wait_a_turn",
    "mcp.tool:fuzzed.fail",
    "mcp.tool:",
    "x",
    "",
)
INPUTS: tuple[dict[str, Any], ...] = (
    {"plantumlCode": "A -> B"},
    {"text": "a", "times": 2},
    {"value": {"a": None}},
    {"why": "x"},
    {},
)
PATHS = (
    "plantuml.encode",
    "fuzzed.repeat",
    "fuzzed.wait_a_turn",
    "fuzzed.fail",
    "mcp.tool:plantuml.encode",
    "unknown",
    "",
)
TOKENS = (
    *FRAME_TOKENS,
    b'"mcp.tool.invoke"',
    *[f'"{name}"'.encode() for name in (*TOOLS, "tool", "input")],
    b"1.0",
    b"1e0",
    b"-0",
)


def _value(chance: random.Random) -> Any:
    params: Any = {"tool": chance.choice(TOOLS), "input": dict(chance.choice(INPUTS))}
    value: dict[str, Any] = {
        "jsonrpc": "2.0",
        "id": chance.choice((1, "a", 1.0, number(chance), text(chance))),
        "method": INVOKE,
        "params": params,
    }
    if chance.random() < 0.3:
        place = chance.choice((value, params, params["input"]))
        name = chance.choice([*place, text(chance)])
        place[name] = json_value(chance)
    if chance.random() < 0.15:
        value.pop(chance.choice(list(value)))
    return value


def _generate(chance: random.Random) -> bytes:
    return json_text(_value(chance), chance).encode("utf-8", "surrogatepass").replace(b"\n", b" ")


def _seeds() -> list[bytes]:
    return [
        json_text(
            {"jsonrpc": "2.0", "id": "req-1", "method": INVOKE, "params": {"tool": tool, "input": given}}
        ).encode()
        for tool in TOOLS
        for given in INPUTS
    ]


async def _body(reply: Reply | Pending | None) -> bytes:
    """Return the bytes of a reply, whenever it comes."""
    if isinstance(reply, Pending):
        reply = await reply.reply
    return reply.body if isinstance(reply, Reply) else b""


def _check(body: bytes) -> dict[str, Any]:
    """Check that an answer is a result, or an error of the canonical table and nothing beside."""
    message = check_message(body)
    expect(set(message) <= {"jsonrpc", "id", "result", "error"}, "an answer has four members at most", message)
    error = message.get("error")
    if error is not None and error["code"] not in OTHERS:
        code = error.get("data", {}).get("canonical_code")
        expect(
            code in CANONICAL and (error["code"], error["message"]) == CANONICAL[code], "an error is canonical", error
        )
        expect(error["data"] == {"canonical_code": code}, "the data of an error is the canonical code alone", error)
    return message


class _Doors:
    """The two doors of one server."""

    def __init__(self, server: Server, watch: LoopWatch) -> None:
        self._server = server
        self._watch = watch

    def run(self, data: bytes) -> None:
        """Send an input to both doors, and compare the answers."""
        self._watch.run(self._exchange(data))

    async def _exchange(self, data: bytes) -> None:
        path = PATHS[len(data) % len(PATHS)]
        answered = _check(await _body(self._server.invoke(data, path)))
        named = _tool_of(data)
        if named is None:
            return
        # The same envelope at its own path, and as a line: one answer.
        there = _check(await _body(self._server.invoke(data, named)))
        expect(
            there.get("id") == answered.get("id"), "the id is that of the request, whatever the path", there, answered
        )
        if b"\n" in data or _is_other_method(data):
            return
        line = await _body(self._server.receive(data, ClientChannel()))
        expect(line and _check(line) == there, "both doors give one answer", line, there)


def _tool_of(data: bytes) -> str | None:
    """Return the tool that a well-formed envelope names."""
    with contextlib.suppress(ValueError, RecursionError, TypeError, KeyError):
        value = json.loads(data)
        tool = value["params"]["tool"]
        is_plain = data.isascii() and b"\\u" not in data and isinstance(value["params"]["input"], dict)
        return tool.removeprefix("mcp.tool:") if isinstance(tool, str) and tool and is_plain else None
    return None


def _is_other_method(data: bytes) -> bool:
    method = json.loads(data).get("method")
    return not isinstance(method, str) or method != INVOKE


@contextlib.contextmanager
def _open() -> Iterator[Run]:
    with a_server() as (server, _), loop_watched() as watch:
        yield _Doors(server, watch).run
        watch.loop.run_until_complete(server.close())


TARGET = Target(
    name="envelope",
    about="request envelopes of spec 5, through the HTTP door and as lines",
    open=_open,
    seeds=_seeds,
    generate=_generate,
    tokens=TOKENS,
    rooms=(
        "kernel/envelope",
        "kernel/wire",
        "kernel/schemas",
        "kernel/server",
        "kernel/pipeline",
        "kernel/arguments",
        "kernel/places",
    ),
)
