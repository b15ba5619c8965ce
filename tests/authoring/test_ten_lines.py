"""The ten lines, installed from a wheel, in a scratch folder: through every door, and by the official SDK's client."""

from __future__ import annotations

import asyncio
import json
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from fresh_environments import build_wheel, environ_of, make_environment
from processes import PATIENCE_S, Server, serving_command

TEN_LINES = '''
import signet


@signet.tool
def add(a: int, b: int = 0) -> int:
    """Add two integers."""
    return a + b
'''

PYDANTIC = '''
import signet
from pydantic import BaseModel, Field


class Guest(BaseModel):
    name: str = Field(min_length=2, description="full name")
    seats: int = Field(default=1, ge=1, le=8)


class Booking(BaseModel):
    guest: Guest
    number: int


@signet.tool
def book(guest: Guest, notes: list[str] | None = None) -> Booking:
    """Book a table."""
    return Booking(guest=guest, number=len(notes or []))
'''
MODES = ("legacy", "auto", "2026-07-28")
CASES = {
    "tools": (TEN_LINES, "add", {"a": 1, "b": 2}, {"result": 3}, {"a": "x"}),
    "tables": (
        PYDANTIC,
        "book",
        {"guest": {"name": "Ann"}, "notes": ["window"]},
        {"guest": {"name": "Ann", "seats": 1}, "number": 1},
        {"guest": {"name": "A"}},
    ),
}
"""For each file: its code, a tool, arguments, their result, and arguments that break the contract."""


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment with the built wheel and pydantic."""
    folder = tmp_path_factory.mktemp("fresh")
    wheel = build_wheel(folder)
    env = environ_of(make_environment(folder / "env", ("pydantic",)), wheel.parent)
    python = f"{env['VIRTUAL_ENV']}/bin/python"
    subprocess.run([python, "-m", "pip", "install", "-q", "signet-mcp"], env=env, check=True)
    return env


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scratch")
    for name, (code, *_) in CASES.items():
        (folder / f"{name}.py").write_text(code)
    return folder


@pytest.fixture(scope="module")
def server(fresh: dict[str, str], scratch: Path) -> Iterator[Server]:
    files = [str(scratch / f"{name}.py") for name in CASES]
    with serving_command(_signet(fresh), "serve", *files, "--port", "0", env=fresh) as running:
        yield running


def _signet(env: dict[str, str]) -> str:
    return f"{env['VIRTUAL_ENV']}/bin/signet"


@pytest.mark.parametrize("name", CASES)
def test_the_command_line_calls_it(fresh: dict[str, str], scratch: Path, name: str) -> None:
    _, tool, arguments, result, _ = CASES[name]
    command = [_signet(fresh), "call", "--toolsets", f"{name}.py", tool, "--json", json.dumps(arguments)]

    done = subprocess.run(command, cwd=scratch, env=fresh, capture_output=True, timeout=PATIENCE_S, check=True)

    assert json.loads(done.stdout) == result


def test_the_issues_own_words(fresh: dict[str, str], scratch: Path) -> None:
    command = [_signet(fresh), "call", "--toolsets", "tools.py", "add", "a=1", "b=2"]

    done = subprocess.run(command, cwd=scratch, env=fresh, capture_output=True, timeout=PATIENCE_S, check=True)

    assert json.loads(done.stdout) == {"result": 3}


@pytest.mark.parametrize("name", CASES)
def test_rest_and_envelope_answer_alike(server: Server, name: str) -> None:
    _, tool, arguments, result, wrong = CASES[name]
    slug = f"{name}.{tool}"
    envelope: dict[str, Any] = {"id": 1, "jsonrpc": "2.0", "method": "mcp.tool.invoke"}

    rest = server.post(f"/api/tools/{tool}", arguments)
    invoked = server.post(f"/mcp/tool/{slug}", {**envelope, "params": {"tool": f"mcp.tool:{slug}", "input": arguments}})
    refused = server.post(f"/api/tools/{tool}", wrong)
    refused_too = server.post(f"/mcp/tool/{slug}", {**envelope, "params": {"tool": f"mcp.tool:{slug}", "input": wrong}})

    assert (rest.status, rest.json()["result"]) == (200, result)
    assert (invoked.status, invoked.json()["result"]) == (200, result)
    assert (refused.status, refused.json()["error"]["code"]) == (400, "INVALID_INPUT")
    assert refused_too.json()["error"]["data"] == {"canonical_code": "INVALID_INPUT"}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("door", ["stdio", "http"])
def test_the_official_client_calls_it_in_each_mode(
    fresh: dict[str, str], scratch: Path, server: Server, door: str, name: str, mode: str
) -> None:
    """The client checks the result against the published output schema by itself."""
    _, tool, arguments, result, wrong = CASES[name]
    file = str(scratch / f"{name}.py")
    stdio = StdioServerParameters(command=_signet(fresh), args=["stdio", file, "--no-journal"], env=fresh)

    async def session() -> tuple[Any, Any, Any]:
        async with Client(stdio if door == "stdio" else f"{server.url}/mcp", mode=mode) as client:
            listed = await client.list_tools()
            return listed, await client.call_tool(tool, arguments), await client.call_tool(tool, wrong)

    listed, answered, refused = asyncio.run(session())

    assert tool in [one.name for one in listed.tools]
    assert (answered.is_error, answered.structured_content) == (False, result)
    assert refused.is_error
    assert f"Invalid arguments for {tool}" in refused.content[0].text


def test_a_script_is_a_server(fresh: dict[str, str], scratch: Path) -> None:
    script = scratch / "script.py"
    script.write_text(f"{TEN_LINES}\n\nsignet.run()\n")
    python = f"{fresh['VIRTUAL_ENV']}/bin/python"
    server = StdioServerParameters(command=python, args=[str(script), "--no-journal"], env=fresh)

    async def session() -> Any:
        async with Client(server) as client:
            return await client.call_tool("add", {"a": 1, "b": 2})

    assert asyncio.run(session()).structured_content == {"result": 3}


def test_the_openapi_page_has_an_example_only_where_the_author_gave_one(server: Server) -> None:
    page = server.ask("GET", "/openapi.json").json()
    content = page["paths"]["/api/tools/add"]["post"]["requestBody"]["content"]["application/json"]

    assert content.keys() == {"schema"}


RATES = '''
import os

import signet

bank = signet.Upstream(os.environ["RATES_URL"], name="bank")


@signet.tool
async def rate(currency: str) -> float:
    """Tell what a currency costs in yen."""
    response = await bank.get(f"/{currency}.json")
    if response.status == 404:
        raise signet.Fault(signet.Code.NOT_FOUND, f"there is no {currency}")
    return response.json()["yen"]
'''


class Rates(BaseHTTPRequestHandler):
    """A service that knows one currency."""

    def do_GET(self) -> None:
        body = b'{"yen": 150.25}'
        self.send_response(200 if self.path == "/usd.json" else 404)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def _through_every_door(url: str) -> list[Any]:
    """Ask for a currency that is there and one that is not, by REST, envelope and the SDK's client in each mode."""
    answers: list[Any] = []
    for currency in ("usd", "xyz"):
        answers.append(_post(f"{url}/api/tools/rate", {"currency": currency}))
        params = {"tool": "mcp.tool:rates.rate", "input": {"currency": currency}}
        envelope = {"id": 1, "jsonrpc": "2.0", "method": "mcp.tool.invoke", "params": params}
        answers.append(_post(f"{url}/mcp/tool/rates.rate", envelope))

    async def session(mode: str) -> list[Any]:
        async with Client(f"{url}/mcp", mode=mode) as client:
            results = [await client.call_tool("rate", {"currency": currency}) for currency in ("usd", "xyz")]
        return [[one.is_error, one.structured_content or one.content[0].text] for one in results]

    return [*answers, *(asyncio.run(session(mode)) for mode in MODES)]


def _post(url: str, value: Any) -> Any:
    request = urllib.request.Request(url, json.dumps(value).encode(), {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return json.load(error)


def test_an_async_tool_with_an_upstream_is_recorded_and_replayed_without_it(
    fresh: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "rates.py").write_text(RATES)
    command = [_signet(fresh), "serve", str(tmp_path / "rates.py"), "--port", "0"]
    tape = str(tmp_path / "tape")
    service = ThreadingHTTPServer(("127.0.0.1", 0), Rates)
    threading.Thread(target=service.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    env = {**fresh, "RATES_URL": f"http://127.0.0.1:{service.server_port}"}

    with serving_command(*command, "--record", tape, env=env) as running:
        recorded = _through_every_door(running.url)
    service.shutdown()
    service.server_close()
    with serving_command(*command, "--replay", tape, env=env) as running:
        replayed = _through_every_door(running.url)

    assert recorded == replayed
    assert recorded[0] == {"success": True, "result": {"result": 150.25}}
    assert recorded[4] == [[False, {"result": 150.25}], [True, "there is no xyz"]]
