"""A server for calls: the Bank and the judge are played in the test's process, and a file has tools of a user."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from playwright.sync_api import Page

from boj_harness import BojHarness, boj_sandbox
from oj_harness import oj_sandbox
from processes import Reply, Server, serving
from upstream_harness import DIRECT, UpstreamHarness

SECRET = "a-secret-of-the-service"

TOOLS = '''
from typing import TypedDict

import signet


class Text(TypedDict):
    markdown: str


@signet.tool
def page(text: str) -> Text:
    """Return a text as a page."""
    return {"markdown": text}


@signet.tool
def lie(value: str) -> dict[str, list[int]]:
    """Return what breaks the contract."""
    return {"ok": [1], "numbers": [1, value]}


@signet.tool
def wide(count: int) -> dict[str, list[dict[str, int]]]:
    """Return many members."""
    return {"items": [{"number": number} for number in range(count)]}


@signet.tool
def fail() -> int:
    """Fail."""
    raise RuntimeError("the text of an exception")


@signet.tool
def change(name: str) -> str:
    """Change something."""
    return name
'''

SHOW = """async ([tool, sent]) => {
    const { post } = await import("./-/files/api.js");
    const { showCall } = await import("./-/files/result.js");
    const place = document.createElement("div");
    document.getElementById("view").replaceChildren(place);
    showCall(place, await post("-/call", { tool, arguments: sent }), {});
}"""


_VALIDATORS: dict[tuple[int, str], Draft202012Validator] = {}
"""The shape of each answer by the server's port and the path."""


@dataclass
class House:
    """The server, and who is behind it."""

    server: Server
    boj: BojHarness
    oj: UpstreamHarness

    def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool in the console; the answer must be as the OpenAPI page says."""
        return checked(self.server, "/-/call", self.server.post("/-/call", {"tool": tool, "arguments": arguments}))

    def doors(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool through every door."""
        return checked(self.server, "/-/doors", self.server.post("/-/doors", {"tool": tool, "arguments": arguments}))


def checked(server: Server, path: str, reply: Reply) -> dict[str, Any]:
    """Return an answer that is as the OpenAPI page says."""
    assert reply.status == 200, reply.body
    value = reply.json()
    if (server.port, path) not in _VALIDATORS:
        page = server.ask("GET", "/openapi.json").json()
        schema = page["paths"][path]["post"]["responses"]["200"]["content"]["application/json"]["schema"]
        _VALIDATORS[server.port, path] = Draft202012Validator({**schema, "components": page["components"]})
    _VALIDATORS[server.port, path].validate(value)
    assert isinstance(value, dict)
    return value


def show(page: Page, tool: str, /, **arguments: Any) -> None:
    """Make a call in the page and show what became of it."""
    page.evaluate(SHOW, [tool, json.loads(json.dumps(arguments))])
    page.get_by_role("heading", name="Road").wait_for()


class Drawer(BaseHTTPRequestHandler):
    """A PlantUML server that has one picture: an engine would take seconds for each."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "image/svg+xml")
        self.end_headers()
        self.wfile.write(b'<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"></svg>')

    def log_message(self, *_: object) -> None: ...


@contextlib.contextmanager
def drawing() -> Iterator[str]:
    """Run such a server until the block ends; return its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Drawer) as drawer:
        threading.Thread(target=drawer.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield f"http://127.0.0.1:{drawer.server_port}/plantuml"
        drawer.shutdown()


@contextlib.contextmanager
def opened(folder: Path) -> Iterator[House]:
    """Serve the Bank, the judge, diagrams and the user's tools until the block ends."""
    file = folder / "own.py"
    file.write_text(TOOLS, encoding="utf-8")
    with boj_sandbox() as boj, oj_sandbox() as oj:
        env = {
            **DIRECT,
            "BOJ_BASE_URL": boj.url,
            "BOJ_RETRY_BACKOFF_MS": "0",
            "BOJ_MIN_INTERVAL_MS": "0",
            "OJ_BASE_URL": oj.url,
            "OJ_TOKEN": SECRET,
        }
        flags = ("--toolsets", f"plantuml,boj,oj,{file}", "--log-dir", str(folder / "runs"))
        with serving(*flags, env=env) as server:
            yield House(server, boj, oj)
