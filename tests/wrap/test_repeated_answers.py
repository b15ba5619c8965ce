"""Idempotency keys of wrapped tools: the repeated answer is the first one, byte for byte, through every door."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from door_calls import invocation, modern_headers, rpc
from processes import ROOT, SIGNET, Pipe, Server, piping, serving_command
from redis_server import redis_server

PICTURES = (sys.executable, str(ROOT / "tests/wrap/picture_server.py"))
WRAP = (SIGNET, "wrap", "--no-journal", "--name", "pictures")
DOORS = ("rest", "envelope", "mcp, handshake", "mcp, modern")
TOOLS = ("blocks", "structured", "missing")
IMAGE = b'{"data":"iVBORw0KGgo=","type":"image","mimeType":"image/png","_meta":{"k":1.0}}'


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of the calls that reached the server."""
    return tmp_path_factory.mktemp("seen") / "calls"


@pytest.fixture(scope="module", params=["memory", "redis"])
def server(request: pytest.FixtureRequest, seen: Path) -> Iterator[Server]:
    """Serve the wrapped server, with keys in the process or in Redis."""
    flags = ("--serve", "--port", "0", "--no-console")
    if request.param == "memory":
        with serving_command(*WRAP, *flags, "--", *PICTURES, str(seen)) as running:
            yield running
        return
    with redis_server() as redis:
        env = {"SIGNET_STORE": redis.url}
        with serving_command(*WRAP, *flags, "--", *PICTURES, str(seen), env=env) as running:
            yield running


def ask(server: Server, door: str, tool: str, key: str) -> tuple[int, bytes]:
    """Return the status and the body of the answer to one call with a key."""
    header = {"idempotency-key": key}
    if door == "rest":
        reply = server.post(f"/api/tools/{tool}", {}, header)
    elif door == "envelope":
        reply = server.post(f"/mcp/tool/pictures.{tool}", invocation(f"pictures.{tool}", {}), header)
    else:
        message, modern = mcp_call(tool, key, modern=door.endswith("modern")), door.endswith("modern")
        reply = server.post("/mcp", message, modern_headers("tools/call", tool) if modern else {})
    return reply.status, reply.body


def mcp_call(tool: str, key: str, *, modern: bool) -> dict[str, Any]:
    message = rpc("tools/call", {"name": tool, "arguments": {}}, modern=modern)
    message["params"]["_meta"] = {**message["params"].get("_meta", {}), "idempotencyKey": key}
    return message


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("door", DOORS)
def test_a_repeated_answer_is_the_first_one(server: Server, seen: Path, door: str, tool: str) -> None:
    key = f"{door} {tool}"
    first = ask(server, door, tool, key)
    runs = len(seen.read_text().splitlines())
    again = [ask(server, door, tool, key) for _ in range(2)]

    assert again == [first, first]
    assert len(seen.read_text().splitlines()) == runs
    if tool == "blocks" and door != "mcp, modern":
        assert IMAGE in first[1]
        assert b"structuredContent" not in first[1]


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("first", DOORS)
def test_through_another_door_it_is_what_that_door_would_have_said(server: Server, first: str, tool: str) -> None:
    """Two keys, each begun at another door: apart from the number of the run, every door says the same."""
    ask(server, first, tool, f"from {first} {tool}")

    for door in DOORS:
        own = ask(server, door, tool, f"at {door} {tool}")
        repeated = ask(server, door, tool, f"from {first} {tool}")

        assert without_numbers(repeated) == without_numbers(own)


def without_numbers(answer: tuple[int, bytes]) -> tuple[int, bytes]:
    return answer[0], re.sub(rb'(/ |"n":|thing )\d+', rb"\1N", answer[1])


@pytest.mark.parametrize("tool", TOOLS)
def test_on_stdio_too(seen: Path, tool: str) -> None:
    with piping(*WRAP, "--", *PICTURES, str(seen)) as pipe:
        lines = [line_of(pipe, mcp_call(tool, "k", modern=modern)) for modern in (False, False, True, True)]

    assert lines[0] == lines[1]
    assert lines[2] == lines[3]
    assert runs_of(lines) == runs_of(lines[:1]) * 4


def runs_of(lines: list[bytes]) -> list[bytes]:
    """Return the number of the run in each answer."""
    return [one for line in lines for one in re.findall(rb'(?:/ |"n":|thing )(\d+)', line)]


def line_of(pipe: Pipe, message: dict[str, Any]) -> bytes:
    pipe.send(message)
    return pipe.line()
