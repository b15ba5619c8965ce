"""Limits and idempotency keys on a real server, through every door."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from commands_in_process import run_here
from door_calls import invocation, modern_headers, rpc
from journals import records_in
from processes import PATIENCE_S, SIGNET, Pipe, Reply, Server, piping, serving

REST = "/api/tools/tally"
TOOLS = '''\
import asyncio
import os

import signet

runs = 0


@signet.tool
def tally(word: str = "") -> str:
    """Count the runs."""
    global runs
    runs += 1
    return f"{word} {runs}"


@signet.tool
async def hold(file: str) -> str:
    """Wait until a file is there."""
    print(f"holding {file}", flush=True)
    while not os.path.exists(file):
        await asyncio.sleep(0.005)
    return "free"


@signet.tool
def large() -> str:
    """Say much."""
    return "x" * 300_000
'''
LIMITS = """\
[limits.tools.hold]
concurrency = 1
queue = 1

[limits.principals.token]
rate = "2/h"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("limits")
    (path / "tools.py").write_text(TOOLS)
    (path / "signet.toml").write_text(LIMITS)
    return path


@pytest.fixture(scope="module")
def limited(folder: Path) -> Iterator[Server]:
    """A server that lets each address make two calls an hour, of which both are made."""
    with serving("--rate-limit", "2/h", "--toolsets", f"plantuml,{folder}/tools.py", "--config", "/dev/null") as server:
        for _ in range(2):
            assert server.post(REST, {}).status == 200
        yield server


@pytest.fixture(scope="module")
def plain(folder: Path) -> Iterator[Server]:
    """A server without limits, whose tools count their runs."""
    flags = ("--toolsets", str(folder / "tools.py"), "--config", "/dev/null", "--log-dir", str(folder / "runs"))
    with serving(*flags) as server:
        yield server


def from_address(server: Server, address: str, path: str) -> Reply:
    """Make a call from another address of this machine."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, PATIENCE_S, source_address=(address, 0))
    try:
        connection.request("POST", path, b"{}", {"content-type": "application/json"})
        answer = connection.getresponse()
        return Reply(answer.status, dict(answer.getheaders()), answer.read())
    finally:
        connection.close()


def check_wait(seconds: float) -> None:
    """Two calls an hour are one in thirty minutes."""
    assert 1700 < seconds <= 1800


@pytest.mark.spec("5.wire.rate-limited")
def test_rest_answers_429_with_the_time_to_wait_in_headers_and_body(limited: Server) -> None:
    refused = limited.post(REST, {})
    error = refused.json()["error"]

    assert refused.status == 429
    assert (refused.json()["success"], error["code"]) == (False, "RATE_LIMITED")
    check_wait(int(refused.headers["retry-after"]))
    assert error["retry_after_seconds"] == int(refused.headers["retry-after"])
    assert error["message"].startswith("You may make 2 calls per hour: wait ")
    assert refused.headers["ratelimit-policy"] == '"default";q=2;w=3600'
    assert refused.headers["ratelimit"] == f'"default";r=0;t={refused.headers["retry-after"]}'


def test_the_legacy_shape_answers_429_too(limited: Server) -> None:
    refused = limited.post("/mcp/v1/encode-plantuml", {"plantumlCode": "A"})

    assert (refused.status, refused.json()["status"], refused.json()["code"]) == (429, "error", "RATE_LIMITED")
    check_wait(refused.json()["retry_after_seconds"])


@pytest.mark.spec("5.wire.rate-limited")
def test_the_envelope_answers_429_with_the_row_of_its_spec(limited: Server) -> None:
    refused = limited.post("/mcp/tool/plantuml.encode", invocation("plantuml.encode", {"plantumlCode": "A"}))

    error = {"code": -32001, "message": "Unauthorized", "data": {"canonical_code": "UNAUTHORIZED"}}
    assert refused.status == 429
    assert refused.json()["error"] == error
    check_wait(int(refused.headers["retry-after"]))
    assert "www-authenticate" not in refused.headers


@pytest.mark.parametrize("modern", [False, True])
def test_mcp_answers_with_a_result_that_the_model_can_act_on(limited: Server, *, modern: bool) -> None:
    headers = modern_headers("tools/call", "tally") if modern else {}

    answered = limited.post("/mcp", rpc("tools/call", {"name": "tally", "arguments": {}}, modern=modern), headers)
    check_limited(answered.json()["result"])

    assert answered.status == 200


def check_limited(result: dict[str, Any]) -> None:
    assert result["isError"] is True
    text = result["content"][0]["text"]
    assert text.startswith("You may make 2 calls per hour: wait ")
    assert text.endswith(", then make the same call again")
    meta = result["_meta"]
    assert (meta["canonical_code"], meta["code"], meta["retryable"]) == ("UNAUTHORIZED", "RATE_LIMITED", True)
    check_wait(meta["retryAfterMs"] / 1000)


def test_another_address_has_its_own_calls(limited: Server) -> None:
    statuses = [from_address(limited, "127.0.0.77", REST).status for _ in range(3)]

    assert statuses == [200, 200, 429]


def test_what_is_no_call_is_not_limited(limited: Server) -> None:
    assert limited.ask("GET", "/healthz").status == 200
    assert limited.post("/api/tools/nobody", {}).status == 404
    assert "result" in limited.post("/mcp", rpc("tools/list", {})).json()


def test_on_stdio_the_process_is_the_caller() -> None:
    with piping(SIGNET, "stdio", "--toolsets", "plantuml", env={"SIGNET_RATE_LIMIT": "2/h"}) as pipe:
        message = rpc("tools/call", {"name": "encodePlantUML", "arguments": {"plantumlCode": "A"}})
        results = [pipe.ask(message)["result"] for _ in range(3)]
        envelope = pipe.ask(invocation("plantuml.encode", {"plantumlCode": "A"}))

    assert [result["isError"] for result in results] == [False, False, True]
    check_limited(results[2])
    assert envelope["error"]["data"] == {"canonical_code": "UNAUTHORIZED"}


def test_a_call_after_retry_after_is_let_in(folder: Path) -> None:
    with serving("--rate-limit", "1/s", "--toolsets", str(folder / "tools.py"), "--config", "/dev/null") as server:
        while (refused := server.post(REST, {})).status == 200:
            pass
        time.sleep(int(refused.headers["retry-after"]))

        assert server.post(REST, {}).status == 200


def test_the_limits_of_a_file_hold_for_a_principal_and_for_the_places_of_a_tool(folder: Path, tmp_path: Path) -> None:
    flags = ("--toolsets", str(folder / "tools.py"), "--config", str(folder / "signet.toml"))
    bearer = {"authorization": "Bearer t0ken"}
    with serving(*flags, env={"SIGNET_TOKEN": "t0ken"}) as server:
        assert [server.post(REST, {}, bearer).status for _ in range(3)] == [200, 200, 429]
        assert server.post(REST, {}).status == 401
    with serving(*flags) as server, ThreadPoolExecutor(3) as pool:
        first = pool.submit(server.post, "/api/tools/hold", {"file": str(tmp_path / "a")})
        server.wait_for(f"holding {tmp_path / 'a'}")
        others = [pool.submit(server.post, "/api/tools/hold", {"file": str(tmp_path / name)}) for name in "bc"]
        # One of the two waits, and the other is refused at once.
        refused = next(one.result(PATIENCE_S) for one in _done_first(others))
        for name in "abc":
            (tmp_path / name).touch()
        statuses = sorted(one.result(PATIENCE_S).status for one in (first, *others))

    assert (refused.status, refused.json()["error"]["code"]) == (429, "RATE_LIMITED")
    assert refused.headers["retry-after"] == "1"
    assert statuses == [200, 200, 429]


def _done_first(pending: list[Any]) -> list[Any]:
    from concurrent.futures import FIRST_COMPLETED, wait

    return list(wait(pending, PATIENCE_S, FIRST_COMPLETED).done)


@pytest.mark.parametrize(("flags", "told"), [
    (("--rate-limit", "often"), "--rate-limit or SIGNET_RATE_LIMIT: 'often' cannot be used; write a rate such as"),
    (("--rate-limit", "often", "--workers", "2"), "--rate-limit or SIGNET_RATE_LIMIT: 'often' cannot be used"),
])  # fmt: skip
def test_a_limit_that_cannot_be_used_stops_the_start(flags: tuple[str, ...], told: str) -> None:
    done = run_here("serve", "--port", "0", *flags)

    assert done.returncode != 0
    assert told in done.stderr.decode()


def test_workers_that_count_for_themselves_are_worth_a_line() -> None:
    with serving("--rate-limit", "5/s", "--workers", "2", "--toolsets", "plantuml") as server:
        server.wait_for("limits.unshared")

    assert server.process.returncode == 0


# --- idempotency keys


def keyed(server: Server, door: str, key: str, word: str) -> Reply:
    header = {"idempotency-key": key}
    if door == "rest":
        return server.post(REST, {"word": word}, header)
    if door == "envelope":
        slug = "tools.tally"
        return server.post(f"/mcp/tool/{slug}", invocation(slug, {"word": word}), header)
    params = {"name": "tally", "arguments": {"word": word}, "_meta": {"idempotencyKey": key}}
    return server.post("/mcp", rpc("tools/call", params))


@pytest.mark.parametrize("door", ["rest", "mcp", "envelope"])
def test_the_same_key_has_the_same_answer_and_another_call_is_a_conflict(plain: Server, door: str) -> None:
    first, again = [keyed(plain, door, f"{door} 1", "a") for _ in range(2)]
    other = keyed(plain, door, f"{door} 2", "a")
    conflict = keyed(plain, door, f"{door} 1", "b")

    assert first.status == 200
    assert again.body == first.body
    assert other.body != first.body
    if door == "mcp":
        result = conflict.json()["result"]
        assert (result["isError"], result["_meta"]["code"]) == (True, "IDEMPOTENCY_CONFLICT")
        assert result["_meta"]["canonical_code"] == "INVALID_INPUT"
    elif door == "rest":
        assert (conflict.status, conflict.json()["error"]["code"]) == (409, "IDEMPOTENCY_CONFLICT")
    else:
        assert (conflict.status, conflict.json()["error"]["data"]) == (409, {"canonical_code": "INVALID_INPUT"})


def test_a_key_is_known_through_every_door_and_to_its_address_alone(plain: Server) -> None:
    answers = {door: keyed(plain, door, "shared", "w") for door in ("rest", "mcp", "envelope")}
    values = {
        answers["rest"].json()["result"]["result"],
        answers["mcp"].json()["result"]["structuredContent"]["result"],
        answers["envelope"].json()["result"]["result"],
    }

    assert len(values) == 1


def test_a_fault_of_the_call_is_repeated_and_a_large_answer_is_not_run_again(plain: Server) -> None:
    wrong = [plain.post(REST, {"word": 5}, {"idempotency-key": "wrong"}) for _ in range(2)]
    large = [plain.post("/api/tools/large", {}, {"idempotency-key": "large"}) for _ in range(2)]

    assert [reply.status for reply in wrong] == [400, 400]
    assert wrong[0].body == wrong[1].body
    assert [reply.status for reply in large] == [200, 409]
    assert large[1].json()["error"]["code"] == "IDEMPOTENCY_NOT_KEPT"


def test_a_twin_waits_for_the_answer(plain: Server, tmp_path: Path) -> None:
    value, header = {"file": str(tmp_path / "go")}, {"idempotency-key": "twin"}
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(plain.post, "/api/tools/hold", value, header)
        plain.wait_for(f"holding {tmp_path / 'go'}")
        twins = [pool.submit(plain.post, "/api/tools/hold", value, header) for _ in range(2)]
        (tmp_path / "go").touch()
        bodies = {one.result(PATIENCE_S).body for one in (first, *twins)}

    assert bodies == {b'{"success":true,"result":{"result":"free"}}'}
    assert plain.stderr().count(f"holding {tmp_path / 'go'}") == 1


def test_a_key_that_is_too_long_is_refused(plain: Server) -> None:
    refused = plain.post(REST, {}, {"idempotency-key": "k" * 256})

    assert (refused.status, refused.json()["error"]["code"]) == (400, "INVALID_INPUT")
    assert plain.post(REST, {}, {"idempotency-key": "k" * 255}).status == 200
    message = invocation("tools.tally", {})
    answers = plain.post("/mcp/tool/tools.tally", message, {"idempotency-key": "k" * 256})
    assert (answers.status, answers.json()["id"]) == (400, message["id"])
    assert answers.json()["error"]["data"] == {"canonical_code": "INVALID_INPUT"}


def test_a_key_that_is_too_long_is_no_mistake_in_the_arguments() -> None:
    with serving("--toolsets", "plantuml", "--rate-limit", "9/s") as server:
        refused = server.post("/api/tools/encodePlantUML", {"plantumlCode": "A"}, {"idempotency-key": "k" * 256})
        page = server.ask("GET", "/openapi.json").json()

    assert (refused.status, refused.json()["error"]["code"]) == (400, "INVALID_INPUT")
    assert "255 characters" in refused.json()["error"]["message"]
    called = [
        path["post"]["responses"]
        for path in page["paths"].values()
        if "409" in path.get("post", {}).get("responses", {})
    ]
    assert len(called) >= 2
    assert all("429" in responses for responses in called)


def test_on_stdio_a_key_is_known_too(folder: Path) -> None:
    with piping(SIGNET, "stdio", "--toolsets", str(folder / "tools.py"), "--config", "/dev/null") as pipe:
        answers = [_tally(pipe, {"idempotencyKey": "k"}), _tally(pipe, {"idempotencyKey": "k"}), _tally(pipe, {})]

    assert answers == [" 1", " 1", " 2"]


def _tally(pipe: Pipe, meta: Mapping[str, Any]) -> Any:
    answer = pipe.ask(rpc("tools/call", {"name": "tally", "arguments": {}, "_meta": dict(meta)}))
    return answer["result"]["structuredContent"]["result"]


def test_a_repeated_answer_is_a_record_of_the_journal_like_any(folder: Path, tmp_path: Path) -> None:
    flags = ("--toolsets", str(folder / "tools.py"), "--config", "/dev/null", "--log-dir", str(tmp_path))
    with serving(*flags) as server:
        for _ in range(3):
            assert keyed(server, "rest", "k", "a").status == 200
        assert keyed(server, "rest", "k", "b").status == 409
    records = records_in(tmp_path)

    assert len(records) == 4
    assert len({json.dumps(sorted(record)) for record in records[:3]}) == 1
