"""A recorded service with pages, counters and credentials: a replay without the service gives the recorded results."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from own_toolsets import ServiceHarness
from processes import run
from signet.sandbox.message import Sandbox, SandboxRequest, SandboxResponse, json_response
from upstream_harness import DIRECT, playing

TOOLS = """
import os
import signet

api = signet.Upstream(os.environ["API"], name="api")


@signet.tool
async def by_query() -> list[int]:
    '''List all items, page by page.'''
    return await pages(lambda token: api.get("/items", params={"page_token": token} if token else {}))


@signet.tool
async def by_body() -> list[int]:
    '''List all items by requests with a body.'''
    return await pages(lambda token: api.post("/items", json={"pageToken": token, "max_tokens": 5}))


@signet.tool
async def total() -> int:
    '''Count the tokens.'''
    return (await api.get("/items")).json()["usage"]["total_tokens"]


@signet.tool
async def log_in() -> str:
    '''Log in, and give back no more than the kind of the credential.'''
    return type((await api.get("/items")).json()["access_token"]).__name__


async def pages(ask) -> list[int]:
    items, token = [], None
    for _ in range(10):
        page = (await ask(token)).json()
        items, token = items + page["items"], page["next_page_token"]
        if not token:
            break
    return items
"""
PAGES: dict[str | None, tuple[list[int], str | None]] = {None: ([1, 2], "t1"), "t1": ([3, 4], "t2"), "t2": ([5], None)}
CREDENTIAL = "canary-access-7f"


def page(request: SandboxRequest) -> SandboxResponse:
    """Return the page that a request names in its query or in its body."""
    token = parse_qs(request.query).get("page_token", [None])[0] or json.loads(request.body or b"{}").get("pageToken")
    items, after = PAGES[token]
    answer = {"items": items, "next_page_token": after, "usage": {"total_tokens": 123}, "access_token": CREDENTIAL}
    return json_response(answer)


@pytest.mark.parametrize(
    ("tool", "result"),
    [("by_query", [1, 2, 3, 4, 5]), ("by_body", [1, 2, 3, 4, 5]), ("total", 123), ("log_in", "str")],
)
def test_a_replay_gives_the_recorded_result(tmp_path: Path, tool: str, result: object) -> None:
    target, tape = tmp_path / "tools.py", tmp_path / "tape"
    target.write_text(TOOLS, encoding="utf-8")
    with playing(Sandbox("pages", page), ServiceHarness) as service:
        environ = {**DIRECT, "API": service.url}
        live = run("call", "--toolsets", str(target), tool, "--record", str(tape), env=environ)

    again = run("call", "--toolsets", str(target), tool, "--replay", str(tape), env=environ)
    compared = run("replay", str(tape), "--toolsets", str(target), env=environ)

    assert (live.returncode, json.loads(live.stdout)) == (0, {"result": result}), live.stderr
    assert (again.returncode, again.stdout) == (0, live.stdout), again.stderr
    assert compared.returncode == 0, compared.stdout
    written = b"".join(path.read_bytes() for path in tape.rglob("*") if path.is_file())
    assert CREDENTIAL.encode() not in written + live.stderr
    (reported,) = [line for line in live.stderr.decode().splitlines() if "record.redacted" in line]
    assert " what=access_token " in reported
    assert again.stderr == b""
