"""A toolset outside the package, complete, through every door: nothing in `src/` knows of it."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from door_calls import rpc
from example_toolset import TOOLSET
from example_toolset.sandbox import build
from processes import PATIENCE_S, ROOT, Server, clean_env, piping, serving_command
from signet.commands.parity.corpus import built_in, with_slugs
from signet.commands.parity.engine import run_corpus
from signet.sandbox.hosting import host_in_thread
from signet.sandbox.server import Running
from signet.settings import catalogue

PROGRAM = (sys.executable, str(ROOT / "tests/support/extended_server.py"))
TOKEN = "a-token-for-the-station"


@pytest.fixture(scope="module")
def station() -> Iterator[Running]:
    running, stop = host_in_thread(build(TOKEN))
    yield running
    stop()


@pytest.fixture(scope="module")
def server(station: Running) -> Iterator[Server]:
    env = {"STATION_BASE_URL": station.url, "STATION_TOKEN": TOKEN}
    with serving_command(*PROGRAM, "serve", "--port", "0", "--toolsets", "station", env=env) as running:
        yield running


@contextlib.contextmanager
def registered() -> Iterator[None]:
    """Let this process know the toolset, for as long as the block lasts."""
    catalogue.register(TOOLSET)
    try:
        yield
    finally:
        catalogue.TOOLSETS.remove("station")
        catalogue.find_toolset.cache_clear()


def run(*args: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *args],
        capture_output=True,
        encoding="utf-8",
        env=clean_env(env),
        timeout=PATIENCE_S,
        stdin=subprocess.DEVNULL,
        check=False,
    )


def test_nothing_in_the_source_names_it() -> None:
    sources = [path.read_text() for path in (ROOT / "src").rglob("*.py")]

    assert not [text for text in sources if "station" in text.lower()]


def test_it_is_listed_and_its_settings_are_flags_with_help() -> None:
    help_text = " ".join(run("serve", "--help").stdout.split())

    assert (
        "toolsets to serve, of: plantuml, plantuml-tools, boj, boj-explore, oj, oj-practice, conformance, station"
        in help_text
    )
    assert "--station-base-url URL origin of the station's API; enables station" in help_text
    assert "--station-token TOKEN bearer token for the station's API" in help_text
    assert "--station-timeout-s" not in help_text
    tools = json.loads(run("tools", "--json", STATION_BASE_URL="http://127.0.0.1:1").stdout)
    assert [tool["name"] for tool in tools][-2:] == ["station_read", "station_note"]


def test_without_its_address_it_is_not_enabled_and_says_what_to_set() -> None:
    assert "station_read" not in run("tools").stdout
    assert run("tools", "--toolsets", "station").stderr == (
        "signet: the station toolset has no backend: write --station-base-url or set STATION_BASE_URL\n"
    )


@pytest.mark.parametrize(
    ("env", "sentence"),
    [
        ({"STATION_TIMEOUT_S": "31"}, "STATION_TIMEOUT_S: '31' cannot be used; write a number above 0, at most 30"),
        ({"SIGNET_STATION_TIMEOUT_S": "x"}, "SIGNET_STATION_TIMEOUT_S: 'x' cannot be used; write a number above 0"),
    ],
)
def test_a_setting_of_its_own_is_checked_like_any_other(env: dict[str, str], sentence: str) -> None:
    done = run("tools", **env)

    assert done.returncode == 2
    assert sentence in done.stderr


def test_every_door_gives_the_same_reading(server: Server, station: Running) -> None:
    arguments = {"sensor": "roof", "unit": "kelvin"}
    envelope = {"jsonrpc": "2.0", "id": 1, "method": "mcp.tool.invoke"}
    envelope["params"] = {"tool": "mcp.tool:station.read", "input": arguments}  # type: ignore[assignment]
    env = {"STATION_BASE_URL": station.url, "STATION_TOKEN": TOKEN}

    by_rest = server.post("/api/tools/station_read", arguments).json()["result"]
    by_mcp = server.post("/mcp", rpc("tools/call", {"name": "station_read", "arguments": arguments})).json()
    by_envelope = server.post("/mcp/tool/station.read", envelope).json()["result"]
    legacy = server.post("/station/v0/reading", arguments).json()
    with piping(*PROGRAM, "stdio", env=env) as pipe:
        by_stdio = pipe.ask(rpc("tools/call", {"name": "station_read", "arguments": arguments}))
    by_call = json.loads(run("call", "station_read", "sensor=roof", "unit=kelvin", **env).stdout)

    assert (by_rest["value"], by_rest["unit"]) == (294.65, "kelvin")
    assert by_mcp["result"]["structuredContent"] == by_rest
    assert by_envelope == by_stdio["result"]["structuredContent"] == by_call == by_rest
    assert legacy == {"status": "success", **by_rest}
    assert "/station/v0/reading" in server.ask("GET", "/openapi.json").json()["paths"]


def test_a_request_may_have_any_method_headers_and_a_body(server: Server, station: Running) -> None:
    station.clear()

    result = server.post("/api/tools/station_note", {"text": "all is well"}).json()

    [seen] = station.requests
    assert result == {"success": True, "result": {"number": len("all is well" + "north")}}
    assert (seen.method, seen.target) == ("PUT", "/v1/notes?draft=no")
    assert seen.headers["content-type"] == "application/json"
    assert seen.headers["x-station"] == "north"


def test_parity_holds_for_its_corpus() -> None:
    commands = {"stdio": (*PROGRAM, "stdio"), "serve": (*PROGRAM, "serve", "--port", "0", "--quiet")}
    commands["call"] = (*PROGRAM, "cli_worker")
    with registered():
        calls = with_slugs(built_in(["station"]), TOOLSET.tools())

        report = run_corpus(calls, ["station"], commands=commands)

    assert report.first is None, report.first
    outcomes = [row.outcome for row in report.rows]
    assert outcomes[:4] == ["OK", "OK", "OK", "NOT_FOUND"]
    assert outcomes[4:7] == ["INVALID_INPUT", "INTERNAL_ERROR", "INTERNAL_ERROR"]


def test_its_sandbox_is_served_and_used() -> None:
    done = run("call", "station_read", "sensor=cellar", "--toolsets", "station", "--sandbox")

    assert json.loads(done.stdout)["value"] == 11.25
    with serving_command(*PROGRAM, "sandbox", "station") as running:
        assert running.ask("GET", "/v1/sensors/roof").json()["value"] == 21.5
        assert running.ask("GET", "/_sandbox").json()["plays"] == "a weather station"


def test_a_run_is_recorded_and_replayed_without_the_station(station: Running, tmp_path: Path) -> None:
    """A PUT is told apart from a GET, and one body from another."""
    env = {"STATION_BASE_URL": station.url, "STATION_TOKEN": TOKEN, "STATION_UNIT": "kelvin"}
    calls: list[dict[str, Any]] = [
        rpc("tools/call", {"name": "station_note", "arguments": {"text": "one"}}),
        rpc("tools/call", {"name": "station_note", "arguments": {"text": "three"}}),
        rpc("tools/call", {"name": "station_read", "arguments": {"sensor": "roof"}}),
    ]
    with piping(*PROGRAM, "stdio", "--toolsets", "station", "--record", str(tmp_path / "tape"), env=env) as pipe:
        recorded = [pipe.ask(call)["result"]["structuredContent"] for call in calls]
        pipe.finish()

    with piping(*PROGRAM, "stdio", "--replay", str(tmp_path / "tape")) as pipe:
        replayed = [pipe.ask(call)["result"]["structuredContent"] for call in reversed(calls)][::-1]
        unknown = pipe.ask(rpc("tools/call", {"name": "station_note", "arguments": {"text": "two"}}))

    assert [result.get("number") for result in recorded] == [8, 10, None]
    assert replayed == recorded
    assert replayed[2]["unit"] == "kelvin"
    assert "not recorded" in unknown["error"]["message"]
    assert TOKEN not in "".join(path.read_text() for path in (tmp_path / "tape").rglob("*") if path.is_file())
