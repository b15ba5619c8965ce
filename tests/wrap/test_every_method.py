"""Limits, scopes, the audit log, the access log and the metrics see every request to a wrapped server."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from audit_logs import wait_for_requests
from door_calls import INITIALIZE, modern_headers, rpc
from processes import ROOT, SIGNET, Server, free_port, piping, run, serving_command

WEATHER = (sys.executable, str(ROOT / "tests/wrap/weather_server.py"))
WRAP = (SIGNET, "wrap", "--serve", "--port", "0", "--no-journal", "--no-console", "--name", "weather")
SECRET = "ghp_" + "a1" * 18
REQUESTS: dict[str, tuple[str, dict[str, Any], str | None]] = {
    "read": ("resources/read", {"uri": "weather://today"}, "weather://today"),
    "prompt": ("prompts/get", {"name": "report"}, "report"),
    "completion": (
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": "report"}, "argument": {"name": "a", "value": ""}},
        "report",
    ),
    "unknown": ("anything/else", {"name": "what"}, "what"),
    "nameless": ("anything/else", {}, None),
    "call": ("tools/call", {"name": "say", "arguments": {"city": "Oslo"}}, "say"),
}
"""Requests that reach the server: the method, the params, and what they name."""


def post(server: Server, method: str, params: dict[str, Any], *, modern: bool = False, **headers: str) -> Any:
    name = params.get("uri") or params.get("name")
    more = modern_headers(method, name) if modern else {}
    return server.post("/mcp", rpc(method, params, modern=modern), {**more, **headers})


@pytest.mark.parametrize("modern", [False, True])
@pytest.mark.parametrize("kind", REQUESTS)
def test_each_request_that_reaches_the_server_counts_to_the_limits(kind: str, modern: bool) -> None:
    method, params, _ = REQUESTS[kind]
    with serving_command(*WRAP, "--rate-limit", "3/day", "--", *WEATHER) as server:
        replies = [post(server, method, params, modern=modern) for _ in range(5)]
        listed = [post(server, "tools/list", {}, modern=modern).status for _ in range(3)]
        called = server.post("/api/tools/say", {"city": "Oslo"})

    said = [reply.json() for reply in replies[3:]]
    if method == "tools/call":
        assert all(one["result"]["_meta"]["code"] == "RATE_LIMITED" for one in said)
    else:
        assert [reply.status for reply in replies[3:]] == [429, 429]
        assert all(reply.headers["retry-after"] for reply in replies[3:])
        assert all(one["error"]["data"]["code"] == "RATE_LIMITED" for one in said)
    assert not [reply for reply in replies[:3] if b"RATE_LIMITED" in reply.body]
    assert listed == [200] * 3
    assert called.status == 429


def test_subscriptions_count_too(tmp_path: Path) -> None:
    with piping(*WRAP[:2], "--no-journal", "--rate-limit", "2/day", "--", *WEATHER) as pipe:
        pipe.ask(INITIALIZE)
        uri = {"uri": "weather://today"}
        methods = ("resources/subscribe", "resources/unsubscribe", "resources/subscribe")
        answers = [pipe.ask(rpc(method, uri, request_id=n)) for n, method in enumerate(methods, 2)]

    assert ["RATE_LIMITED" in str(one) for one in answers] == [False, False, True]


def test_a_place_is_given_back_when_such_a_request_has_ended(tmp_path: Path) -> None:
    config = tmp_path / "signet.toml"
    command = [sys.executable, str(ROOT / "tests/wrap/weather_server.py")]
    config.write_text(
        "journal = false\n[limits]\nconcurrency = 1\nqueue = 0\n"
        f'[servers.weather]\ncommand = "{command[0]}"\nargs = ["{command[1]}"]\n'
    )
    with serving_command(SIGNET, "serve", "--port", "0", "--config", str(config)) as server:
        statuses = [post(server, "resources/read", {"uri": "weather://today"}).status for _ in range(5)]

    assert statuses == [200] * 5


@pytest.mark.parametrize("kind", REQUESTS)
def test_the_audit_log_has_the_method_and_what_it_names(tmp_path: Path, kind: str) -> None:
    method, params, target = REQUESTS[kind]
    http, stdio = tmp_path / "http", tmp_path / "stdio"
    with serving_command(*WRAP, "--audit-log", str(http), "--", *WEATHER) as server:
        post(server, method, params)
        post(server, method, params, modern=True)
        lines = wait_for_requests(http, 2)
    with piping(*WRAP[:2], "--no-journal", "--audit-log", str(stdio), "--", *WEATHER) as pipe:
        pipe.ask(rpc(method, params))
        lines += wait_for_requests(stdio, 1)

    assert [(line["method"], line["target"]) for line in lines] == [(method, target)] * 3


@pytest.mark.parametrize(
    ("method", "params", "target"),
    [
        ("prompts/get", {"name": "report", "uri": "decoy://"}, "report"),
        ("resources/read", {"uri": "weather://today", "name": "decoy", "taskId": "decoy"}, "weather://today"),
        (
            "completion/complete",
            {"ref": {"type": "ref/resource", "name": "decoy", "uri": "weather://today"}, "name": "decoy"},
            "weather://today",
        ),
        ("tasks/get", {"taskId": "task-1", "uri": "decoy://"}, "task-1"),
        ("danger", {"name": "what"}, "what"),
        ("vendor/\u00fc \n", {}, None),
    ],
)
def test_no_member_or_spelling_hides_what_a_request_is(
    tmp_path: Path, method: str, params: dict[str, Any], target: str | None
) -> None:
    with serving_command(*WRAP, "--audit-log", str(tmp_path / "log"), "--", *WEATHER) as server:
        post(server, method, params)
        [line] = wait_for_requests(tmp_path / "log", 1)

    assert (line["method"], line["target"]) == (method, target)


def test_what_a_request_names_is_cut_and_has_no_secrets(tmp_path: Path) -> None:
    log = tmp_path / "log"
    uris = [f"https://ann:pass-word@host/{SECRET}?token=abcdefgh&a=1", "mem://" + "\U0001f600" * 5000, "\u202e"]
    with serving_command(*WRAP, "--audit-log", str(log), "--", *WEATHER) as server:
        for uri in uris:
            post(server, "resources/read", {"uri": uri})
            post(server, "a" * 300 + "/b", {"uri": uri})
            post(server, "evil/\u202e", {"uri": uri})
        lines = wait_for_requests(log, 9)

    assert not [word for word in (SECRET, "pass-word", "abcdefgh") if word in log.read_text()]
    assert lines[0]["target"].startswith("https://…@host/")
    assert all(len(line["target"] or "") <= 255 for line in lines)
    assert {line["method"] for line in lines} == {"resources/read", "a" * 128, "evil/\u202e"}
    assert log.read_text().isascii()
    assert run("audit", "verify", str(log)).returncode == 0


def test_a_refused_request_has_its_method_and_target_too(tmp_path: Path) -> None:
    tokens, log = str(tmp_path / "tokens"), tmp_path / "log"
    made = run("token", "new", "one", "--scopes", "tools:call:weather.weather", "--tokens-file", tokens)
    bearer = "Bearer " + made.stdout.decode().split()[-1]
    with serving_command(*WRAP, "--tokens-file", tokens, "--audit-log", str(log), "--", *WEATHER) as server:
        replies = [post(server, *REQUESTS[kind][:2], authorization=bearer) for kind in ("read", "prompt", "unknown")]
        lines = wait_for_requests(log, 3)

    assert [reply.status for reply in replies] == [403] * 3
    told = [(line["principal"], line["method"], line["target"], line["refusal"]) for line in lines]
    assert told == [
        ("one", "resources/read", "weather://today", "INSUFFICIENT_SCOPE"),
        ("one", "prompts/get", "report", "INSUFFICIENT_SCOPE"),
        ("one", "anything/else", "what", "INSUFFICIENT_SCOPE"),
    ]


def test_metrics_and_the_access_log_have_the_method_alone() -> None:
    port = free_port()
    flags = ("--metrics-port", str(port), "--access-log", "--log", "access=info")
    with serving_command(*WRAP, *flags, "--", *WEATHER) as server:
        for method, params, _ in REQUESTS.values():
            post(server, method, params)
        server.wait_for("method=anything/else")
        page = Server(server.process, port, server.log).ask("GET", "/metrics").body.decode()
        log = server.stderr()

    methods = {
        line.split('mcp_method_name="')[1].split('"')[0] for line in page.splitlines() if "mcp_method_name" in line
    }
    assert methods == {"resources/read", "prompts/get", "completion/complete", "tools/call", "_other"}
    assert "weather://today" not in page + log
    assert [log.count(f"method={method}") for method in ("resources/read", "prompts/get", "tools/call")] == [1, 1, 1]
