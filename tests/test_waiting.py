"""What a client that gave a progress token hears while its call waits, from each server and through each door."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from boj_harness import CALL_RATE, CODE, DEPOSITS, LAYER, METADATA, SPOT, SPOT_TARGET, BojHarness
from door_calls import META, rpc
from oj_harness import SAMPLE, OjHarness
from processes import ROOT, Pipe, Server, piping, serving_command
from signet.kernel.pipeline import CALL_TIMEOUT_S
from signet.settings.model import Settings
from upstream_harness import DIRECT

EAGER = (sys.executable, str(ROOT / "tests/support/quick_progress_server.py"))
ANSWER = re.compile(r"waiting for the Bank of Japan's answer \(\d+ s\)")
EVENTS = {"accept": "application/json, text/event-stream"}


def eager(*command: str, env: Mapping[str, str] | None = None) -> AbstractContextManager[Pipe]:
    return piping(*EAGER, *command, env={**DIRECT, "RUST_LOG": "off", **(env or {})})


def signet_on(bank: BojHarness, *flags: str, env: Mapping[str, str] | None = None) -> AbstractContextManager[Pipe]:
    settings = {"BOJ_BASE_URL": bank.url, "BOJ_RETRY_MAX": "2", **(env or {})}
    return eager("signet", "stdio", "--toolsets", "boj", *flags, env=settings)


def asking(name: str, arguments: Mapping[str, Any], token: str, meta: Mapping[str, Any] | None = None) -> Any:
    """Return a call whose id and progress token are the same."""
    params = {"name": name, "arguments": dict(arguments), "_meta": {"progressToken": token, **(meta or {})}}
    return rpc("tools/call", params, request_id=token)


def heard(pipe: Pipe, token: str, pattern: str | re.Pattern[str]) -> list[dict[str, Any]]:
    """Read until a report of a call has a message like this; return all reports of the call until then."""
    seen: list[dict[str, Any]] = []
    while True:
        message = pipe.receive()
        assert message.get("method") == "notifications/progress", message
        if message["params"]["progressToken"] == token:
            seen.append(message["params"])
            if re.fullmatch(pattern, seen[-1]["message"]):
                return seen


def test_a_call_ends_before_the_clients_of_the_sdks_give_up() -> None:
    """Their limit is 60 s; an attempt of the judge takes 30 s, three of the Bank 30.6 s."""
    assert Settings().call_timeout_s == CALL_TIMEOUT_S == 50.0


@pytest.mark.parametrize("meta", [{}, META], ids=["handshake", "modern"])
def test_a_silent_upstream_is_told_again_and_again(bank: BojHarness, meta: dict[str, Any]) -> None:
    bank.order("hang")

    with signet_on(bank) as pipe:
        pipe.send(asking(CODE, SPOT, "slow", meta))
        seen = heard(pipe, "slow", ANSWER) + heard(pipe, "slow", ANSWER) + heard(pipe, "slow", ANSWER)

    numbers = [report["progress"] for report in seen]
    assert numbers == sorted(set(numbers))


def test_each_drop_in_server_tells_it_too(bank: BojHarness, judge: OjHarness) -> None:
    bank.order("hang")
    judge.order("hang")

    with eager("boj-mcp-server", "--base-url", bank.url) as pipe:
        pipe.send(asking(CODE, SPOT, "slow"))
        heard(pipe, "slow", ANSWER)
    with eager("oj-mcp-rs", "--base-url", judge.url) as pipe:
        pipe.send(asking("get_problem", {"source": SAMPLE[0], "id": SAMPLE[1]}, "slow"))
        heard(pipe, "slow", r"waiting for the online-judge backend's answer \(\d+ s\)")


def test_a_client_without_a_token_hears_nothing(bank: BojHarness) -> None:
    bank.order("slow", delay_s=0.5)

    with signet_on(bank) as pipe:
        answer = pipe.ask(rpc("tools/call", {"name": CODE, "arguments": SPOT}))

    assert answer["result"]["isError"] is False


def test_each_who_waits_for_a_turn_hears_how_many_are_ahead(bank: BojHarness) -> None:
    with signet_on(bank, env={"BOJ_MIN_INTERVAL_MS": "60000"}) as pipe:
        first = pipe.ask(rpc("tools/call", {"name": CODE, "arguments": SPOT}, request_id="first"))
        pipe.send(asking(LAYER, DEPOSITS, "second"), asking(METADATA, CALL_RATE, "third"))
        turn = "waiting for a turn: one request every 60 s to the Bank of Japan, {} ahead"
        heard(pipe, "second", re.escape(turn.format(0)))
        heard(pipe, "third", re.escape(turn.format(1)))
        pipe.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "second"}})
        heard(pipe, "third", re.escape(turn.format(0)))

    assert first["id"] == "first"
    assert bank.targets() == [SPOT_TARGET]


def test_a_call_whose_turn_does_not_come_in_time_says_so(bank: BojHarness) -> None:
    turn = "waiting for a turn: one request every 60 s to the Bank of Japan"
    told = f"did not answer within 3 s; its last state was: {turn}"
    with signet_on(bank, env={"BOJ_MIN_INTERVAL_MS": "60000", "SIGNET_CALL_TIMEOUT_S": "3"}) as pipe:
        pipe.ask(rpc("tools/call", {"name": CODE, "arguments": SPOT}))
        pipe.send(
            rpc("tools/call", {"name": LAYER, "arguments": DEPOSITS}, request_id="next"),
            rpc("tools/call", {"name": METADATA, "arguments": CALL_RATE}, request_id="last"),
        )
        answers = {answer["id"]: json.dumps(answer) for answer in (pipe.receive(), pipe.receive())}

    assert f"boj_get_data_layer {told}, 0 ahead" in answers["next"]
    assert re.search(re.escape(f"boj_get_metadata {told}") + r", [01] ahead", answers["last"])


def test_a_retry_says_why_and_when(bank: BojHarness) -> None:
    bank.refuses("M181091S")

    with signet_on(bank, env={"BOJ_RETRY_BACKOFF_MS": "600000"}) as pipe:
        pipe.send(asking(CODE, SPOT, "again"))
        heard(pipe, "again", r"the Bank of Japan answered 503: trying again in (600|599) s \(2 of 3\)")
    bank.clear()
    bank.order("close")
    with signet_on(bank, env={"BOJ_RETRY_BACKOFF_MS": "600000"}) as pipe:
        pipe.send(asking(CODE, SPOT, "again"))
        heard(pipe, "again", r"the Bank of Japan could not be asked: trying again in (600|599) s \(2 of 3\)")


def test_each_who_waits_for_a_shared_request_hears_it(bank: BojHarness) -> None:
    bank.order("hang")

    with signet_on(bank) as pipe:
        pipe.send(asking(CODE, SPOT, "one"), asking(CODE, SPOT, "other"))
        heard(pipe, "one", ANSWER)
        heard(pipe, "other", ANSWER)
        seen = bank.once(bool)

    assert [request.target for request in seen] == [SPOT_TARGET]


def test_a_recorded_call_tells_it_too(bank: BojHarness, tmp_path: Path) -> None:
    bank.order("hang")

    with signet_on(bank, "--record", str(tmp_path / "cassette")) as pipe:
        pipe.send(asking(CODE, SPOT, "slow"))
        heard(pipe, "slow", ANSWER)


# --- over HTTP


@pytest.fixture
def server(bank: BojHarness) -> Any:
    env = {**DIRECT, "BOJ_BASE_URL": bank.url}
    with serving_command(*EAGER, "signet", "serve", "--port", "0", "--toolsets", "boj", env=env) as running:
        yield running


def test_over_http_the_reports_come_as_events_before_the_answer(bank: BojHarness, server: Server) -> None:
    bank.order("slow", delay_s=1)

    reply = server.post("/mcp", asking(CODE, SPOT, "slow"), EVENTS)
    events = [json.loads(line[6:]) for line in reply.body.decode().split("\r\n") if line.startswith("data: ")]

    assert reply.headers["content-type"] == "text/event-stream"
    assert {event.get("method") for event in events[:-1]} == {"notifications/progress"}
    assert any(ANSWER.fullmatch(event["params"]["message"]) for event in events[:-1])
    assert events[-1]["result"]["structuredContent"]["series_count"] == 1


def test_over_http_a_client_that_takes_no_events_gets_plain_json(bank: BojHarness, server: Server) -> None:
    bank.order("slow", delay_s=0.5)

    reply = server.post("/mcp", asking(CODE, SPOT, "slow"), {"accept": "application/json"})

    assert reply.headers["content-type"] == "application/json"
    assert reply.json()["result"]["structuredContent"]["series_count"] == 1
