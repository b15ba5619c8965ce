"""Scopes, limits, idempotency keys and spans hold for the tools of wrapped servers."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from audit_logs import wait_for_requests
from door_calls import INITIALIZE, modern_headers, rpc
from otlp_collector import collecting
from processes import ROOT, SIGNET, Reply, Server, run, serving_command

WEATHER = (sys.executable, str(ROOT / "tests/wrap/weather_server.py"))
WRAP = (SIGNET, "wrap", "--serve", "--port", "0", "--no-journal", "--no-console", "--name", "weather")
OSLO = {"city": "Oslo"}
FORBIDDEN = {
    "resources/read": {"uri": "weather://today"},
    "prompts/get": {"name": "report"},
    "completion/complete": {"ref": {"type": "ref/prompt", "name": "report"}, "argument": {"name": "a", "value": ""}},
    "resources/subscribe": {"uri": "weather://today"},
}
"""Requests that a token for one tool does not allow."""
CHALLENGE = 'Bearer error="insufficient_scope", scope="{}"'
LISTING = b"".join(json.dumps(one).encode() + b"\n" for one in (INITIALIZE, rpc("tools/list", {}, request_id=2)))


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


def in_session(
    server: Server, method: str, params: dict[str, Any], headers: dict[str, str], escape: bytes = b"/"
) -> Reply:
    """Open a session, send one request in it that takes a stream, and return the response."""
    headers = {**headers, "accept": "application/json, text/event-stream", "content-type": "application/json"}
    version = "2025-11-25"
    hello = {**INITIALIZE, "params": {**INITIALIZE["params"], "protocolVersion": version}}
    opened = server.post("/mcp", hello, headers)
    held = {"mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": version}
    body = json.dumps(rpc(method, params, request_id=2)).encode().replace(b"/", escape)
    return server.ask("POST", "/mcp", body, {**headers, **held})


def escaped_in_session(server: Server, method: str, params: dict[str, Any], headers: dict[str, str]) -> Reply:
    """Do the same with a method whose slash is escaped, as some encoders of JSON write it."""
    return in_session(server, method, params, headers, escape=b"\\/")


def alone(server: Server, method: str, params: dict[str, Any], headers: dict[str, str]) -> Reply:
    """Send one request of the modern era, and return the response."""
    name = params.get("uri") or params.get("name")
    return server.post("/mcp", rpc(method, params, modern=True), {**modern_headers(method, name), **headers})


@pytest.mark.parametrize(
    ("send", "method"),
    [*((in_session, method) for method in FORBIDDEN), *((alone, method) for method in list(FORBIDDEN)[:3])],
)
def test_a_request_that_the_scopes_do_not_allow_is_refused_alike_in_the_answer_and_in_the_audit_log(
    tokens: dict[str, str], tmp_path: Path, send: Callable[..., Reply], method: str
) -> None:
    """The status and the challenge are those of a refused call, and the audit log files a refused access."""
    log = tmp_path / "audit.jsonl"
    flags = ("--tokens-file", tokens["file"], "--audit-log", str(log))
    with serving_command(*WRAP, *flags, "--", *WEATHER) as server:
        reply = send(server, method, FORBIDDEN[method], bearer(tokens, "one"))
        lines = wait_for_requests(log, 2 if send is in_session else 1)

    data = {"canonical_code": "UNAUTHORIZED", "code": "INSUFFICIENT_SCOPE", "scope": "tools:call"}
    assert (reply.status, reply.headers["www-authenticate"]) == (403, CHALLENGE.format("tools:call"))
    assert reply.json()["error"]["data"] == data
    last = lines[-1]
    assert (last["principal"], last["status"]) == ("one", 403)
    assert (last["code"], last["refusal"]) == ("UNAUTHORIZED", "INSUFFICIENT_SCOPE")


@pytest.mark.parametrize("send", [in_session, escaped_in_session, alone])
def test_the_first_call_of_a_server_that_has_not_started_is_refused_before_a_stream_begins(
    tokens: dict[str, str], tmp_path: Path, send: Callable[..., Reply]
) -> None:
    """The tools of a server are known once it runs; a caller whose token allows some tools waits until then."""
    log = tmp_path / "audit.jsonl"
    flags = ("--tokens-file", tokens["file"], "--audit-log", str(log))
    with serving_command(*WRAP, *flags, "--", *WEATHER) as server:
        reply = send(server, "tools/call", {"name": "note", "arguments": OSLO}, bearer(tokens, "one"))
        allowed = send(server, "tools/call", {"name": "weather", "arguments": OSLO}, bearer(tokens, "one"))
        lines = [line for line in wait_for_requests(log, 2 if send is alone else 4) if line["tool"]]

    assert (reply.status, reply.headers["www-authenticate"]) == (403, CHALLENGE.format("tools:call:weather.note"))
    assert allowed.status == 200
    told = [(line["tool"], line["code"], line["refusal"], line["status"]) for line in lines]
    refused = ("weather.note", "UNAUTHORIZED", "INSUFFICIENT_SCOPE", 403)
    assert told == [refused, ("weather.weather", "OK", None, 200)]


def test_a_call_of_a_server_that_is_late_is_refused_before_a_stream_begins(
    tokens: dict[str, str], tmp_path: Path
) -> None:
    """The others are served meanwhile, so that some tools are known."""
    start, config = tmp_path / "start", tmp_path / "mcp.json"
    os.mkfifo(start)
    late = ["-c", f"read word < {shlex.quote(str(start))}; exec {shlex.join(WEATHER)}"]
    config.write_text(json.dumps({"mcpServers": {
        "good": {"command": WEATHER[0], "args": WEATHER[1:]}, "late": {"command": "/bin/sh", "args": late},
    }}))  # fmt: skip
    allowed = bearer(tokens, "one")
    flags = ("--tokens-file", tokens["file"], "--config", str(config))
    with serving_command(*WRAP[:-2], *flags) as server, ThreadPoolExecutor() as callers:
        listed = alone(server, "tools/list", {}, allowed).json()["result"]["tools"]
        call = callers.submit(in_session, server, "tools/call", {"name": "late_note", "arguments": OSLO}, allowed)
        # A request that is answered now came after the call.
        assert in_session(server, "ping", {}, allowed).status == 200
        start.write_text("begin\n")
        reply = call.result()

    assert [one["name"] for one in listed] == ["good_weather", "good_say", "good_note", "good_liar"]
    assert (reply.status, reply.headers["www-authenticate"]) == (403, CHALLENGE.format("tools:call:late.note"))


def test_a_subscription_of_the_modern_era_asks_for_the_scope_where_it_names_resources(tokens: dict[str, str]) -> None:
    """As `resources/subscribe` does; to hear of changed lists, no scope is needed."""
    wanted = {"notifications": {"resourceSubscriptions": ["weather://today"]}}
    with serving_command(*WRAP, "--tokens-file", tokens["file"], "--", *WEATHER) as server:
        reply = alone(server, "subscriptions/listen", wanted, bearer(tokens, "one"))

    assert (reply.status, reply.headers["www-authenticate"]) == (403, CHALLENGE.format("tools:call"))


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


LIMITED = '[limits.tools."{name}"]\nquota = 2\nshared = true\n'
NAMES = ["weather.weather", "weather_weather"]


def called(server: Server, tool: str, times: int) -> list[int]:
    return [server.post(f"/api/tools/{tool}", OSLO).status for _ in range(times)]


@pytest.mark.parametrize("name", NAMES)
def test_the_limits_of_one_tool_of_a_server_count(tmp_path: Path, name: str) -> None:
    """A server of `signet.toml`: by the slug of a tool, or by the name under which it is listed."""
    table = f"toolsets = []\n[servers.weather]\ncommand = {json.dumps([*WEATHER, str(tmp_path / 'seen')])}\n"
    (tmp_path / "signet.toml").write_text(table + LIMITED.format(name=name), encoding="utf-8")
    flags = ("--port", "0", "--no-journal", "--no-console", "--config", str(tmp_path / "signet.toml"))

    with serving_command(SIGNET, "serve", *flags) as server:
        statuses = called(server, "weather_weather", 3), called(server, "weather_note", 3)

    assert statuses == ([200, 200, 429], [200, 200, 200])


@pytest.mark.parametrize("name", ["weather.Weather", "weather"])
def test_the_limits_of_one_tool_of_a_wrapped_server_count(tmp_path: Path, name: str) -> None:
    """A server of the command line beside a `signet.toml`: its tools may be written as the server has them."""
    (tmp_path / "signet.toml").write_text(LIMITED.format(name=name), encoding="utf-8")
    environ = {"SIGNET_CONFIG": str(tmp_path / "signet.toml")}

    with serving_command(*WRAP, "--", *WEATHER, str(tmp_path / "seen"), env=environ) as server:
        statuses = called(server, "weather", 3), called(server, "note", 3)

    assert statuses == ([200, 200, 429], [200, 200, 200])


def test_a_name_in_settings_that_no_tool_has_is_told_with_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "signet.toml").write_text(
        "toolsets = []\n"
        f"[servers.weather]\ncommand = {json.dumps([*WEATHER, str(tmp_path / 'seen')])}\n"
        'validation = {wether = "off", note = "shadow"}\n' + LIMITED.format(name="weather.wether"),
        encoding="utf-8",
    )
    by_file = run("tools", "--config", str(tmp_path / "signet.toml"))
    by_flag = run("call", "--validation", "shadow", "weather", "city=Oslo", "--", *WEATHER, str(tmp_path / "seen"))
    wrapped = run("wrap", "--no-journal", "--validation", "wether=off", "--", *WEATHER, stdin=LISTING)

    assert (by_file.returncode, by_flag.returncode) == (0, 0)
    warned = [line for line in by_file.stderr.decode().splitlines() if "server.unknown_tool" in line]
    why = "the server has no such tool; did you mean"
    assert [line.partition("unknown_tool ")[2] for line in warned] == [
        f'server=weather key=validation tool=wether why="{why} weather?"',
        f'server=weather key=limits.tools tool=weather.wether why="{why} weather.weather or weather_weather?"',
    ]
    assert b"server.unknown_tool server=weather_server key=validation tool=wether" in wrapped.stderr
    assert b"unknown_tool" not in by_flag.stderr


DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Pets", "version": "1"},
    "servers": [{"url": "https://pets.example"}],
    "paths": {"/pets": {"get": {"operationId": "list_pets", "responses": {}}}},
}


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ('validation = {list_pet = "off"}', "validation: pets has no tool 'list_pet'; did you mean list_pets?"),
        (LIMITED.format(name="pets.list_pet"), "there is no such tool; did you mean pets.list_pets?"),
        (LIMITED.format(name="pet.list_pets"), "there is no such tool; did you mean pets.list_pets?"),
    ],
)
def test_a_name_that_is_known_to_be_wrong_at_the_start_stops_it(tmp_path: Path, more: str, why: str) -> None:
    (tmp_path / "api.json").write_text(json.dumps(DOCUMENT), encoding="utf-8")
    path = tmp_path / "signet.toml"
    path.write_text(f'toolsets = []\n[servers.pets]\nopenapi = "api.json"\n{more}', encoding="utf-8")

    done = run("tools", "--config", str(path))

    assert (done.returncode, why in done.stderr.decode()) == (2, True), done.stderr.decode()
