"""The router: which door a path leads to, and who may use it."""

from __future__ import annotations

import pytest

import misbehaving_server
from signet.transports.router import Router


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
