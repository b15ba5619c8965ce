"""Health over HTTP: calls through the doors become exactly these figures, and no secret is among them."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from door_calls import invocation
from processes import PATIENCE_S, Server, free_port, serving, serving_limited
from signet.console.effective import configured_limits, configured_settings
from signet.settings.model import Settings

CODE = {"plantumlCode": "@startuml\nA -> B\n@enduml"}
MCP = {"accept": "application/json, text/event-stream"}
PEOPLE = {"accept": "application/json"}


def settled(server: Server, is_so: Callable[[Any], bool], headers: dict[str, str] | None = None) -> Any:
    """Return the figures as soon as they are so: the journal's thread counts within half a second."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_so(found := server.ask("GET", "/-/health", headers=headers or PEOPLE).json()):
        assert time.monotonic() < deadline, found
        time.sleep(0.05)
    return found


def checked(server: Server, path: str) -> Any:
    """Return the answer of a twin, checked against its schema in the OpenAPI page."""
    page = server.ask("GET", "/openapi.json").json()
    schema = page["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    answer = server.ask("GET", path, headers=PEOPLE)
    assert answer.status == 200
    jsonschema.validate(answer.json(), {**schema, "components": page["components"]})
    return answer.json()


@pytest.fixture(scope="module")
def called(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server through whose doors 14 calls were made, of which 6 failed, and one request was refused."""
    folder = tmp_path_factory.mktemp("called")
    (folder / "signet.toml").write_text('[limits]\nrate = "600/min"\nbreaker = 5\n')
    flags = ("--sandbox", "--config", str(folder / "signet.toml"), "--log-dir", str(folder))
    with serving(*flags, env={"SIGNET_CALL_TIMEOUT_S": "40"}) as server:
        for _ in range(4):
            assert server.post("/api/tools/encodePlantUML", CODE).status == 200
        for _ in range(3):
            assert server.post("/api/tools/encodePlantUML", {"plantumlCode": ""}).status == 400
        for _ in range(2):
            call = {"name": "encodePlantUML", "arguments": CODE}
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
            assert server.post("/mcp", message, MCP).status == 200
        assert server.post("/mcp/tool/plantuml.encode", invocation("plantuml.encode", CODE)).status == 200
        for name in ("nobody", "nothing"):
            assert server.post(f"/api/tools/{name}", {}).status == 404
        assert server.post("/api/tools/get_problem", {"source": "leetcode", "id": "1"}).status == 200
        assert server.post("/api/tools/get_problem", {"source": "leetcode", "id": "no-such-problem"}).status == 404
        assert server.ask("PUT", "/api/tools").status == 405
        settled(server, lambda found: found["total"]["calls"] == 14 and found["recordsWritten"] == 14)
        yield server


def test_calls_through_the_doors_become_exactly_these_figures(called: Server) -> None:
    found = checked(called, "/-/health")

    rows = {(row["tool"], row["door"]): (row["calls"], row["errors"], row["codes"]) for row in found["rows"]}
    assert rows == {
        ("encodePlantUML", "rest"): (7, 3, {"INVALID_INPUT": 3}),
        ("encodePlantUML", "http mcp"): (2, 0, {}),
        ("encodePlantUML", "http envelope"): (1, 0, {}),
        ("", "rest"): (2, 2, {"NOT_FOUND": 2}),
        ("get_problem", "rest"): (2, 1, {"NOT_FOUND": 1}),
    }
    assert (found["total"]["calls"], found["total"]["errors"]) == (14, 6)
    assert {(one["code"], one["name"]): one["calls"] for one in found["faults"]} == {
        ("INVALID_INPUT", "EMPTY_CODE"): 3,
        ("NOT_FOUND", "TOOL_NOT_FOUND"): 2,
        ("NOT_FOUND", "NOT_FOUND"): 1,
    }
    assert all(0 < row["p50Ms"] <= row["p95Ms"] <= row["p99Ms"] for row in (*found["rows"], found["total"]))


def test_the_series_have_a_value_for_each_minute_and_lose_no_call(called: Server) -> None:
    minutes = checked(called, "/-/health")["minutes"]

    lists = [minutes["atMs"], minutes["calls"], minutes["p50Ms"], minutes["p95Ms"], *minutes["errors"].values()]
    assert {len(values) for values in lists} == {60}
    assert {b - a for a, b in zip(minutes["atMs"], minutes["atMs"][1:], strict=False)} == {60_000}
    assert sum(minutes["calls"]) == 14
    assert {code: sum(values) for code, values in minutes["errors"].items()} == {"INVALID_INPUT": 3, "NOT_FOUND": 3}


def test_upstreams_refusals_and_the_process_are_told(called: Server) -> None:
    found = checked(called, "/-/health")

    asked = {
        row["name"]: (row["requests"], row["failures"], row["lastCode"], row["breaker"]) for row in found["upstreams"]
    }
    assert asked == {"oj": (2, {"404": 1}, "404", "closed"), "boj": (0, {}, "", "closed")}
    caches = {row["name"]: [cache["name"] for cache in row["caches"]] for row in found["upstreams"]}
    assert caches == {"oj": [], "boj": ["responses", "index"]}
    assert found["refusals"] == [{"status": 405, "reason": "METHOD_NOT_ALLOWED", "requests": 1}]
    assert [(row["pid"], row["inFlight"], row["recordsWritten"]) for row in found["processes"]] == [
        (called.process.pid, 0, 14)
    ]
    assert {(row["name"], row["limit"]) for row in found["limits"]} >= {
        ("rate", "600 calls per minute"),
        ("breaker", "left alone after 5 failures in sequence"),
        ("time", "40 s"),
    }


def test_every_setting_has_its_value_and_its_origin(called: Server) -> None:
    found = {one["name"]: one for one in checked(called, "/-/settings")["settings"]}

    def of(name: str) -> tuple[Any, str]:
        return found[name]["value"], found[name]["origin"]

    assert of("sandbox") == (True, "--sandbox")
    assert of("call_timeout_s") == (40.0, "SIGNET_CALL_TIMEOUT_S")
    assert of("validation") == ("enforce", "default")
    assert of("limits.rate")[0] == "600/min"
    assert of("limits.rate")[1].endswith("signet.toml:limits.rate")
    assert of("oj_base_url")[0].startswith("http://127.0.0.1:")
    assert of("oj_base_url")[1] == "--sandbox"
    assert (found["oj_token"]["isHidden"], found["oj_token"]["value"]) == (True, "(set, hidden)")


def test_a_call_that_waits_is_in_flight(tmp_path: Path) -> None:
    flags = ("--toolsets", "waiting", "--log-dir", str(tmp_path))
    with serving_limited(*flags) as server, contextlib.ExitStack() as stack:
        connection = stack.enter_context(contextlib.closing(server.connect()))
        connection.sendall(
            b"POST /api/tools/waiting_forever HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            b"Content-Length: 2\r\n\r\n{}"
        )
        server.wait_for("waiting_forever: started")

        during = server.ask("GET", "/-/health").json()
        connection.close()
        after = settled(server, lambda found: found["inFlight"] == 0 and found["total"]["calls"] == 1)

        assert (during["inFlight"], during["total"]["calls"]) == (1, 0)
        assert (after["faults"][0]["code"], after["total"]["errors"]) == ("INTERNAL_ERROR", 1)


def test_calls_over_a_rate_are_told_as_refused_by_a_limit_even_without_a_journal() -> None:
    with serving("--toolsets", "plantuml", "--rate-limit", "2/h", "--no-journal") as server:
        statuses = [server.post("/api/tools/encodePlantUML", CODE).status for _ in range(5)]

        found = settled(server, lambda found: found["total"]["calls"] == 5)

        assert statuses == [200, 200, 429, 429, 429]
        assert found["faults"] == [{"code": "UNAUTHORIZED", "name": "RATE_LIMITED", "calls": 3, "isLimit": True}]
        assert (found["keepsJournal"], found["recordsWritten"]) == (False, 0)


def test_the_processes_of_a_server_are_shown_as_one(tmp_path: Path) -> None:
    """Each worker answers for all, wherever the connection of a call went."""
    with serving("--toolsets", "plantuml", "--workers", "2", "--log-dir", str(tmp_path)) as server:
        with contextlib.ExitStack() as stack:
            # Connections that stay open spread over the workers.
            for _ in range(8):
                stack.enter_context(contextlib.closing(server.connect()))
                assert server.post("/api/tools/encodePlantUML", CODE).status == 200

        def is_whole(found: dict[str, Any]) -> bool:
            written = sum(row["recordsWritten"] for row in found["processes"])
            return (found["total"]["calls"], written, len(found["processes"])) == (8, 8, 2)

        seen = [settled(server, is_whole) for _ in range(6)]

        assert {sum(row["recordsWritten"] for row in found["processes"]) for found in seen} == {8}
        assert all(sum(row["isAnswering"] for row in found["processes"]) == 1 for found in seen)
        pids = {row["pid"] for found in seen for row in found["processes"]}
        assert len(pids) == 2
        assert server.process.pid not in pids


CANARIES = {
    "SIGNET_TOKEN": "canary-of-callers-7f3a",
    "SIGNET_AUDIT_KEY": "canary-of-audit-91bc",
    "OJ_TOKEN": "canary-of-the-judge-55d0",
}


def test_no_secret_is_in_any_answer(tmp_path: Path) -> None:
    backend = f"http://127.0.0.1:{free_port()}"
    token = CANARIES["SIGNET_TOKEN"]
    flags = ("--audit-log", str(tmp_path / "audit.jsonl"), "--log-dir", str(tmp_path))
    with serving(*flags, env={**CANARIES, "OJ_BASE_URL": backend}) as server:
        mine = {"authorization": f"Bearer {token}"}
        server.post("/api/tools/get_problem", {"source": "leetcode", "id": token}, mine)
        for name in CANARIES.values():
            server.post(f"/api/tools/{name}", {}, mine)
            server.ask("GET", f"/{name}", headers={"authorization": f"Bearer {name}x"})
        found = settled(server, lambda found: found["total"]["calls"] == 4, mine)
        settings = server.ask("GET", "/-/settings", headers=mine)

        shown = server.ask("GET", "/-/health", headers=mine).body + settings.body
        assert [canary for canary in CANARIES.values() if canary.encode() in shown] == []
        origins = {one["name"]: (one["isHidden"], one["origin"]) for one in settings.json()["settings"]}
        assert (origins["token"], origins["audit_key"]) == ((True, "SIGNET_TOKEN"), (True, "SIGNET_AUDIT_KEY"))
        assert [row["failures"] for row in found["upstreams"] if row["name"] == "oj"] == [{"failed": 1}]
        assert server.ask("GET", "/-/health").status == server.ask("GET", "/-/settings").status == 401


def test_passwords_in_addresses_are_hidden() -> None:
    addresses = {
        "store": "redis://:canary-1@store.example",
        "public_url": "https://somebody:canary-2@tools.example",
        "log_dir": "/runs/canary-3",
    }
    settings = Settings(**addresses, token="canary-3", origins={"store": "SIGNET_STORE"}, toolsets="plantuml")

    shown = msgspec.json.encode([configured_settings(settings), configured_limits(settings)])

    assert b"canary" not in shown
    assert b"tools.example" in shown


def test_the_twins_answer_while_calls_are_counted(called: Server) -> None:
    """Readers and the journal's thread share the figures."""
    before = called.ask("GET", "/-/health").json()["total"]["calls"]
    readers = [threading.Thread(target=called.ask, args=("GET", "/-/health")) for _ in range(4)]
    for one in readers:
        one.start()
    for _ in range(10):
        called.post("/api/tools/encodePlantUML", CODE)
    for one in readers:
        one.join()

    settled(called, lambda found: found["total"]["calls"] == before + 10)


def test_a_body_that_is_not_json_is_refused_and_no_fault_of_the_server() -> None:
    """A spec has the status 500 for it; the figures have the client's mistake."""
    with serving("--toolsets", "plantuml", "--no-journal", "--log", "info") as server:
        json_type = {"content-type": "application/json"}
        reply = server.ask("POST", "/api/tools/encodePlantUML", b"{", json_type)
        found = server.ask("GET", "/-/health").json()
        log = server.stderr()

    assert (reply.status, reply.json()["error"]["code"]) == (500, "INTERNAL_ERROR")
    assert (found["total"]["errors"], found["faults"]) == (0, [])
    assert found["refusals"] == [{"status": 500, "reason": "NOT_JSON", "requests": 1}]
    assert "reason=NOT_JSON" in log
