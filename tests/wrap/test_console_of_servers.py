"""The console, the journal and the audit log of a wrapped server: as those of one's own tools."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect, sync_playwright

from browser import HEIGHT, WIDTH, Visitor, launch
from commands_in_process import run_here
from processes import PATIENCE_S, ROOT, SIGNET, Server, serving_command

WEATHER = (sys.executable, str(ROOT / "tests/wrap/weather_server.py"))
MODERN = "2026-07-28"
SECRET = "wrapped-secret-0123456789"
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of journal and audit log."""
    return tmp_path_factory.mktemp("wrapped")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    """Serve a wrapped server with everything that is written down of calls."""
    flags = ("--log-dir", str(folder), "--audit-log", str(folder / "audit.jsonl"), "--access-log")
    words = ("--env", "API_KEY", "--metrics-port", "0", "--name", "weather")
    with serving_command(
        SIGNET, "wrap", "--serve", "--port", "0", *flags, *words, "--", *WEATHER, env={"API_KEY": SECRET}
    ) as running:
        yield running


@pytest.fixture(scope="module")
def looker(server: Server) -> Iterator[Visitor]:
    """Somebody who looks at one view after the other."""
    expect.set_options(timeout=PATIENCE_S * 1000)
    with sync_playwright() as playwright:
        browser = launch(playwright)
        context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}, reduced_motion="reduce")
        yield Visitor(context.new_page(), server.url)
        browser.close()


def ask(server: Server, method: str, **params: Any) -> Any:
    """Send one request of the modern era, and return its response."""
    named = params.get("uri") or params.get("name")
    headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": MODERN, "mcp-method": method}
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}
    return server.post("/mcp", message, {**headers, **({"mcp-name": named} if named else {})}).json()


def records(server: Server, count: int) -> list[dict[str, Any]]:
    """Return the latest records of the live journal, as soon as there are so many."""
    deadline = time.monotonic() + PATIENCE_S
    while len(found := server.post("/-/journal", {}).json()["records"]) < count:
        assert time.monotonic() < deadline, found
        time.sleep(0.02)
    assert isinstance(found, list)
    return found


def test_each_server_is_a_group_of_the_catalogue(server: Server) -> None:
    """The tools of a server are known when it runs, and stand below its name."""
    listed = server.ask("GET", "/-/tools").json()["toolsets"]

    assert [(one["name"], one["title"], [tool["name"] for tool in one["tools"]]) for one in listed] == [
        ("weather", "weather", ["weather", "say", "note", "liar"])
    ]
    page = server.ask("GET", "/-/tools/weather").json()
    assert (page["toolset"], page["slug"], page["examples"]) == ("weather", "weather.weather", [])
    assert server.ask("GET", "/").json()["tools"] == ["weather", "say", "note", "liar"]
    assert "/api/tools/weather" in server.ask("GET", "/openapi.json").json()["paths"]


def test_the_settings_shown_are_those_in_force_and_only_given_ones_have_an_origin(server: Server) -> None:
    """The command has defaults of its own, which its help states too."""
    told = server.ask("GET", "/-/settings").json()["settings"]
    help_text = " ".join(run_here("wrap", "--help").stdout.decode().split())

    shown = {one["name"]: (one["value"], one["isHidden"], one["origin"]) for one in told}
    assert shown["call_timeout_s"] == (600.0, False, "default")
    assert shown["log"] == ("warn,server=info", False, "default")
    assert shown["store"] == ("memory:", False, "default")
    assert shown["log_dir"][2] == "--log-dir"
    limits = server.ask("GET", "/-/health").json()["limits"]
    assert [one["limit"] for one in limits if one["name"] == "time"] == ["600 s"]
    assert "seconds that a call may take (default: 600)" in help_text
    assert "or target=level (default: warn,server=info)" in help_text


def test_variables_win_over_the_defaults_of_the_command() -> None:
    env = {"SIGNET_CALL_TIMEOUT_S": "7", "SIGNET_LOG": "error", "SIGNET_JOURNAL": "no"}
    with serving_command(SIGNET, "wrap", "--serve", "--port", "0", "--", *WEATHER, env=env) as running:
        told = running.ask("GET", "/-/settings").json()["settings"]

    shown = {one["name"]: (one["value"], one["origin"]) for one in told}
    assert shown["call_timeout_s"] == (7.0, "SIGNET_CALL_TIMEOUT_S")
    assert shown["log"] == ("error", "SIGNET_LOG")


@pytest.mark.parametrize(
    ("tool", "city", "outcome"),
    [
        ("weather", "Oslo", "OK"),
        ("say", "Oslo", "OK"),
        ("say", "Atlantis", "INTERNAL_ERROR"),
        ("weather", "", "INVALID_INPUT"),
        ("liar", "Oslo", "INVALID_OUTPUT"),
    ],
)
def test_all_doors_agree_on_a_tool_of_a_server(server: Server, tool: str, city: str, outcome: str) -> None:
    """Structured results, texts, errors of the tool, and broken contracts."""
    compared = server.post("/-/doors", {"tool": tool, "arguments": {"city": city}}).json()

    assert (compared["outcome"], compared["differences"]) == (outcome, [])
    assert [door["outcome"] for door in compared["doors"]] == [outcome] * 7


def test_what_is_relayed_is_written_down_by_method_and_target(server: Server, folder: Path) -> None:
    """A resource that is read is a record of the journal, and no tool; no file has the server's secrets."""
    before = len(records(server, 0))
    called = ask(server, "tools/call", name="weather", arguments={"city": "Oslo"})
    read = ask(server, "resources/read", uri="weather://today")
    prompted = ask(server, "prompts/get", name="report")
    wrong = ask(server, "tools/call", name="weather", arguments={"city": SECRET, "api_key": SECRET})
    leaking = ask(server, "resources/read", uri=f"weather://{SECRET}")

    assert "structuredContent" in called["result"]
    assert read["result"]["contents"][0]["text"] == "clear"
    assert prompted["result"]["messages"][0]["role"] == "user"
    assert wrong["result"]["isError"] is True
    assert "result" in leaking
    told = [(one["tool"], one["route"], one["code"]) for one in reversed(records(server, before + 5)[:5])]
    assert told == [
        ("weather", "/mcp", "OK"),
        ("weather://today", "resources/read", "OK"),
        ("report", "prompts/get", "OK"),
        ("weather", "/mcp", "INVALID_INPUT"),
        ("weather://[redacted]", "resources/read", "OK"),
    ]
    audited = [json.loads(line) for line in (folder / "audit.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [one["tool"] for one in audited if one.get("door") == "http mcp"][-5:] == [
        "weather.weather",
        None,
        None,
        "weather.weather",
        None,
    ]
    assert 'door="http mcp" tool=weather.weather' in server.stderr()
    assert [one.name for one in folder.rglob("*") if one.is_file() and SECRET.encode() in one.read_bytes()] == []
    assert SECRET not in server.stderr()


def test_metrics_name_the_tool(server: Server) -> None:
    """A call of a wrapped tool is counted under its name, and what is relayed under its method."""
    ask(server, "tools/call", name="say", arguments={"city": "Oslo"})
    ask(server, "resources/read", uri="weather://today")
    port = re.search(r"Metrics are at http://[^ ]*:(\d+)/metrics", server.stderr())
    assert port is not None
    exposed = Server(server.process, int(port[1]), server.log).ask("GET", "/metrics").body.decode()

    counts = re.findall(r'_count\{mcp_method_name="([a-z/]+)",gen_ai_tool_name="([a-z]*)"', exposed)
    assert {("tools/call", "say"), ("resources/read", "")} <= set(counts)


def test_every_view_shows_a_wrapped_server(server: Server, looker: Visitor) -> None:
    """A person tries a tool, compares the doors, and looks at records of what is no call."""
    ask(server, "resources/read", uri="weather://today")
    page = looker.go("tools")
    expect(page.get_by_role("region", name="weather 4")).to_be_visible()
    page = looker.go("tools/weather")
    page.get_by_label("city").fill("Oslo")
    page.get_by_role("button", name="Call", exact=True).click()
    expect(page.get_by_role("list", name="The road of the call")).to_be_visible()
    page.get_by_role("button", name="Same call through all doors").click()
    expect(page.get_by_text("✓ All 7 doors agree")).to_be_visible()
    page = looker.go("journal")
    region = page.get_by_role("region", name="Records")
    region.get_by_role("link").filter(has_text="weather://today").first.click()
    expect(page.get_by_role("region", name="Record", exact=True)).to_be_visible()
    for view in ("health", "contracts", "clients"):
        looker.go(view)

    looker.assert_quiet()


@pytest.mark.parametrize("is_recorded", [True, False])
def test_the_journal_of_a_wrapped_server_has_the_arguments_if_it_is_recorded(tmp_path: Path, is_recorded: bool) -> None:
    tape = ("--record", str(tmp_path / "tape")) if is_recorded else ()
    words = ("--port", "0", "--log-dir", str(tmp_path / "log"), *tape)
    with serving_command(SIGNET, "wrap", "--serve", *words, "--", *WEATHER) as running:
        running.post("/api/tools/weather", {"city": "Oslo"})
        (record,) = records(running, 1)
        page = running.ask("GET", f"/-/journal/{record['requestId']}").json()
        about = running.ask("GET", "/-/about").json()

    assert about["isRecording"] is is_recorded
    assert page["hasArguments"] is is_recorded
    assert page["arguments"] == ({"city": "Oslo"} if is_recorded else None)
    assert ("the server does not record" in page["why"]) is not is_recorded
