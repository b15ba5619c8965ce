"""Scopes, limits, idempotency keys and spans hold for the tools of wrapped servers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from channels import modern_headers, rpc
from otlp_collector import collecting
from processes import ROOT, SIGNET, Server, run, serving_command

WEATHER = (sys.executable, str(ROOT / "tests/wrap/weather_server.py"))
WRAP = (SIGNET, "wrap", "--serve", "--port", "0", "--no-journal", "--no-console", "--name", "weather")
OSLO = {"city": "Oslo"}


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Make a token for all tools, and one for a single tool; `file` is the file of them."""
    path = str(tmp_path_factory.mktemp("tokens") / "tokens")
    made = {"file": path}
    for name, scopes in {"all": "tools:call", "one": "tools:call:weather.weather"}.items():
        done = run("token", "new", name, "--scopes", scopes, "--tokens-file", path)
        made[name] = done.stdout.decode().split()[-1]
    return made


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of the calls that reached the server."""
    return tmp_path_factory.mktemp("seen") / "calls"


@pytest.fixture(scope="module")
def server(tokens: dict[str, str], seen: Path) -> Iterator[Server]:
    """Serve a wrapped server to callers with tokens, each of whom may make few calls."""
    flags = ("--tokens-file", tokens["file"], "--rate-limit", "6/min")
    with serving_command(*WRAP, *flags, "--", *WEATHER, str(seen)) as running:
        yield running


def bearer(tokens: dict[str, str], name: str) -> dict[str, str]:
    return {"authorization": f"Bearer {tokens[name]}"}


def read(server: Server, headers: dict[str, str]) -> Any:
    """Read a resource, and return the response."""
    message = rpc("resources/read", {"uri": "weather://today"}, modern=True)
    return server.post("/mcp", message, {**modern_headers("resources/read", "weather://today"), **headers}).json()


def test_a_token_for_one_tool_calls_that_tool_alone(server: Server, tokens: dict[str, str], seen: Path) -> None:
    """The scopes name the slug of a wrapped tool; what is no tool needs the scope of all."""
    one, everything = bearer(tokens, "one"), bearer(tokens, "all")

    assert server.post("/api/tools/weather", OSLO).status == 401
    assert server.post("/api/tools/weather", OSLO, one).status == 200
    refused = server.post("/api/tools/note", OSLO, one)
    assert (refused.status, refused.json()["error"]["code"]) == (403, "INSUFFICIENT_SCOPE")
    assert read(server, one)["error"]["data"]["scope"] == "tools:call"
    assert read(server, everything)["result"]["contents"][0]["text"] == "clear"
    assert seen.read_text(encoding="utf-8").split() == ["weather"]


def test_a_call_with_one_key_reaches_the_server_once_and_the_rate_is_kept(
    server: Server, tokens: dict[str, str], seen: Path
) -> None:
    """A repeated call is answered as before; after so many calls a caller waits."""
    everything = bearer(tokens, "all")
    before = seen.read_text(encoding="utf-8").split().count("note")

    twice = [server.post("/api/tools/note", OSLO, {**everything, "idempotency-key": "k-1"}) for _ in range(2)]
    many = [server.post("/api/tools/say", OSLO, everything).status for _ in range(8)]

    assert [one.status for one in twice] == [200, 200]
    assert twice[0].body == twice[1].body
    assert seen.read_text(encoding="utf-8").split().count("note") == before + 1
    assert set(many) == {200, 429}


def test_a_call_of_a_wrapped_tool_is_a_span() -> None:
    """Each message that is relayed is an operation, from its first byte to its last."""
    with collecting() as collector, serving_command(*WRAP, "--", *WEATHER, env=collector.env) as server:
        headers = modern_headers("tools/call", "weather")
        called = server.post("/mcp", rpc("tools/call", {"name": "weather", "arguments": OSLO}, modern=True), headers)
        resource = read(server, {})
        collector.once(lambda now: len(now.spans) >= 2)
        spans = {span.name: span.attributes for span in collector.spans}

    assert called.json()["result"]["structuredContent"] == {"celsius": 21.5, "sky": "clear"}
    assert "result" in resource
    assert set(spans) == {"tools/call weather", "resources/read"}
    assert spans["tools/call weather"]["gen_ai.tool.name"] == "weather"


@pytest.mark.parametrize("flags", [("--host", "0.0.0.0"), ("--allowed-hosts", "*")])
def test_a_server_is_not_open_to_others_without_a_token(flags: tuple[str, ...]) -> None:
    """What it lists is not known before it runs, and nothing of it is public."""
    done = run("wrap", "--serve", "--port", "0", "--no-journal", *flags, "--", *WEATHER)

    assert done.returncode == 2
    assert b"set SIGNET_TOKEN" in done.stderr


def test_another_page_cannot_make_the_first_call() -> None:
    """A tool that is not known yet may be one of the server, which no page of another origin may call."""
    body, headers = b'{"city": "Oslo"}', {"origin": "https://evil.example", "content-type": "text/plain"}
    with serving_command(*WRAP, "--", *WEATHER) as server:
        statuses = [server.ask("POST", "/api/tools/weather", body, headers).status for _ in range(2)]

    assert statuses == [403, 403]
