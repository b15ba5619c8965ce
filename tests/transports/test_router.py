"""The router: which door a path leads to, and who may use it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import misbehaving_server
from signet.kernel.wire import Headers
from signet.transports.messages import Request, Response
from signet.transports.rest import refuse
from signet.transports.router import Router
from signet.transports.routes import FOR_PEOPLE, Route


@pytest.fixture(scope="module")
def router(tmp_path_factory: pytest.TempPathFactory) -> Router:
    server = misbehaving_server.build(str(tmp_path_factory.mktemp("contracts")))
    return Router(server, {"version": "1"}, {"/old/fine": "fine"}, (), secured=False)


@pytest.mark.parametrize(
    ("path", "door"),
    [
        ("/mcp", "http mcp"),
        ("/api/tools/fine", "rest"),
        ("/api/tools/unknown", "rest"),
        ("/old/fine", "rest, legacy"),
        ("/mcp/tool/odd.fine", "http envelope"),
        ("/mcp/tool/unknown", "http envelope"),
        ("/healthz", "http"),
        ("/nowhere", "http"),
    ],
)
def test_a_path_leads_to_its_door(router: Router, path: str, door: str) -> None:
    assert (router.routes.get(path) or router.find(path)).door == door


def test_balancers_need_no_token_and_callers_send_json(router: Router) -> None:
    assert router.routes["/readyz"].access.no_token
    assert router.routes["/mcp"].access.json_only
    assert not router.find("/nowhere").access.no_token


class House:
    """A console with one page, the same at each of its paths."""

    home = Route(FOR_PEOPLE, lambda _: Response(200), refuse, door="console")

    def find(self, path: str) -> Route:
        assert path.startswith("/-/")
        return self.home

    def describe(self) -> dict[str, Any]:
        return {"tag": {"name": "console"}, "paths": {}, "schemas": {}}


@pytest.mark.parametrize(
    ("method", "path", "accept", "door"),
    [
        ("GET", "/", "text/html,application/xhtml+xml", "console"),
        ("HEAD", "/", "TEXT/HTML", "console"),
        ("POST", "/", "text/html", "http"),
        ("GET", "/", "application/json", "http"),
        ("GET", "/", "", "http"),
        ("GET", "/-/about", "", "console"),
        ("GET", "/nowhere", "text/html", "http"),
    ],
)
def test_browsers_find_the_console_at_the_root_and_programs_do_not(
    method: str, path: str, accept: str, door: str, tmp_path: Path
) -> None:
    server = misbehaving_server.build(str(tmp_path))
    with_console = Router(server, {"version": "1"}, {}, (), secured=False, console=House())
    without = Router(server, {"version": "1"}, {}, (), secured=False)
    request = Request(method, path, Headers(["accept"], [accept]))

    assert with_console.find_for(request).door == door
    assert without.find_for(request).door == "http"
