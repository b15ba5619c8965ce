"""The twins as `/openapi.json` describes them: each is called, and each answer and each refusal is as it is stated."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from jsonschema import Draft202012Validator

from console.journal_calls import DIAGRAM, wait_until
from processes import PATIENCE_S, Reply, Server, run, serving
from signet.app import build_server
from signet.console.console import VIEWS
from signet.console.parts import ConsoleContext
from signet.console.spool import Spool
from signet.console.twin import Twin
from signet.settings.reading import read_settings

CALL = {"tool": "encodePlantUML", "arguments": {"plantumlCode": DIAGRAM}}
STREAM = "/-/journal/stream"
CALLING = {"/-/call", "/-/doors", "/-/draw", "/-/journal/{requestId}/replay"}
"""The twins that call tools."""
REQUESTS: dict[str, Any] = {
    "GET /-/about": None,
    "GET /-/tools": None,
    "GET /-/tools/{name}": None,
    "POST /-/tools/{name}": {"arguments": {"plantumlCode": DIAGRAM}},
    "POST /-/call": CALL,
    "GET /-/doors/{tool}": None,
    "POST /-/doors": CALL,
    "POST /-/journal": {"tool": "encodePlantUML", "limit": 5},
    "POST /-/journal/stream": {},
    "GET /-/journal/{requestId}": None,
    "POST /-/journal/{requestId}/replay": {},
    "GET /-/health": None,
    "GET /-/settings": None,
    "GET /-/contracts": None,
    "POST /-/contracts/diff": {"old": "0.1.0", "new": "served"},
    "POST /-/clients": {"url": "http://127.0.0.1:8080"},
    "GET /-/diagram": None,
    "POST /-/draw": {"source": DIAGRAM, "format": "svg"},
}
"""Every twin, and what is posted to it."""


class House(NamedTuple):
    """A server that records, with tokens; and what its pages say."""

    server: Server
    page: Any
    caller: dict[str, str]
    """The headers of somebody who may call."""
    reader: dict[str, str]
    """The headers of somebody who may not."""
    request_id: str

    def path(self, path: str) -> str:
        """Return a path with real values for its parameters."""
        values = {"{name}": "encodePlantUML", "{tool}": "encodePlantUML", "{requestId}": self.request_id}
        for name, value in values.items():
            path = path.replace(name, value)
        return path

    def ask(self, twin: str, body: Any, headers: dict[str, str]) -> Reply:
        """Send one request to a twin."""
        method, path = twin.split()
        if method == "GET":
            return self.server.ask("GET", self.path(path), headers=headers)
        return self.server.post(self.path(path), body, headers)

    def stated(self, twin: str) -> dict[str, Any]:
        """Return the operation of a twin in the page."""
        method, path = twin.split()
        operation: dict[str, Any] = self.page["paths"][path][method.lower()]
        return operation

    def complaints(self, twin: str, status: int, value: Any) -> list[str]:
        """Return where an answer is not as the page states it."""
        answers = self.stated(twin)["responses"]
        if str(status) not in answers:
            return [f"{twin}: {status} is not stated"]
        schema = answers[str(status)]["content"]["application/json"]["schema"]
        errors = Draft202012Validator({"components": self.page["components"], **schema}).iter_errors(value)
        return [f"{twin}: {status} {list(error.absolute_path)}: {error.message[:300]}" for error in errors]

    def assert_refused(self, twin: str, reply: Reply, status: int, name: str) -> None:
        """Assert that a refusal has this status and name, and is as the page states it."""
        assert reply.status == status, (twin, reply)
        assert self.complaints(twin, status, reply.json()) == []
        assert reply.json()["error"]["code"] == name, twin
        assert name in self.stated(twin)["responses"][str(status)]["description"].split(" or "), twin


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A server of all toolsets on sample data."""
    folder = tmp_path_factory.mktemp("house")
    tokens = str(folder / "tokens")
    made = []
    for name, scopes in (("ada", "tools:call"), ("reader", "tools:read")):
        done = run("token", "new", name, "--scopes", scopes, "--tokens-file", tokens)
        made.append({"authorization": f"Bearer {done.stdout.decode().split()[-1]}"})
    caller, reader = made
    with serving("--sandbox", "--record", str(folder / "tape"), "--tokens-file", tokens) as server:
        page = server.ask("GET", "/openapi.json", headers=caller).json()
        server.post("/api/tools/encodePlantUML", CALL["arguments"], caller)
        wait_until(lambda: bool(server.post("/-/journal", {}, caller).json()["records"]))
        record = server.post("/-/journal", {}, caller).json()["records"][0]
        yield House(server, page, caller, reader, record["requestId"])


def built() -> list[Twin]:
    """Return the twins that the code has."""
    settings = read_settings({"sandbox": True}, {})
    parts = ConsoleContext(settings, build_server(settings), Spool())
    return [twin for view in VIEWS for twin in view.twins(parts)]


def test_the_page_has_the_twins_of_the_code_and_no_others(house: House) -> None:
    paths = {path: shape for path, shape in house.page["paths"].items() if path.startswith("/-/")}
    described = [f"{method.upper()} {path}" for path, shape in paths.items() for method in shape]
    operations = [operation for shape in house.page["paths"].values() for operation in shape.values()]

    assert sorted(described) == sorted(f"{twin.method} {twin.path}" for twin in built())
    assert sorted(described) == sorted(REQUESTS), "each is called below"
    assert len({operation["operationId"] for operation in operations}) == len(operations)


@pytest.mark.parametrize("twin", [twin for twin in REQUESTS if STREAM not in twin])
def test_each_twin_answers_as_the_page_states(house: House, twin: str) -> None:
    bodies = [REQUESTS[twin]]
    if bodies[0] is not None:
        bodies.append(house.stated(twin)["requestBody"]["content"]["application/json"]["example"])

    for body in bodies:
        reply = house.ask(twin, body, house.caller)

        assert reply.status == 200, reply.body
        assert house.complaints(twin, 200, reply.json()) == []
        assert (reply.headers["content-type"], reply.headers["cache-control"]) == ("application/json", "no-store")


def test_each_event_of_the_stream_is_as_the_page_states(house: House) -> None:
    content = house.stated(f"POST {STREAM}")["responses"]["200"]["content"]["text/event-stream"]
    shape = Draft202012Validator({"components": house.page["components"], **content["schema"]["contentSchema"]})
    headers = {**house.caller, "content-type": "application/json"}
    connection = http.client.HTTPConnection("127.0.0.1", house.server.port, timeout=PATIENCE_S)
    try:
        connection.request("POST", STREAM, body=json.dumps({"tool": "encodePlantUML"}), headers=headers)
        stream = connection.getresponse()
        events = []
        while not events or not events[-1]["records"]:
            line = stream.readline()
            if line.startswith(b"data: "):
                events.append(json.loads(line.removeprefix(b"data: ")))
                shape.validate(events[-1])
            if len(events) == 1 and line == b"\n":
                house.ask("POST /-/call", CALL, house.caller)
    finally:
        connection.close()

    assert stream.headers["content-type"] == "text/event-stream"
    assert events[-1]["records"][0]["tool"] == "encodePlantUML"


def test_each_view_of_a_result_is_as_the_page_states(house: House) -> None:
    calls: dict[str, dict[str, Any]] = {
        "get_problem": {"source": "leetcode", "id": "9001"},
        "boj_get_series": {"codes": ["FM08:FXERD01"], "start": "2025-10-01", "end": "2026-09-30"},
        "renderPlantUML": {"plantumlCode": DIAGRAM},
        "boj_list_databases": {},
        "encodePlantUML": {},
        "nothing": {},
    }
    kinds = []
    for tool, arguments in calls.items():
        answer = house.ask("POST /-/call", {"tool": tool, "arguments": arguments}, house.caller).json()
        assert house.complaints("POST /-/call", 200, answer) == []
        kinds.append((answer["ok"], answer["view"]["kind"]))

    assert kinds == [
        (True, "markdown"),
        (True, "series"),
        (True, "diagram"),
        (True, "json"),
        (False, "json"),
        (False, "json"),
    ]


@pytest.mark.parametrize("twin", REQUESTS)
def test_each_refusal_is_as_the_page_states(house: House, twin: str) -> None:
    """Without a token, by the wrong method, from another site, to another host."""
    method, path = twin.split()
    server, at, body = house.server, house.path(path), json.dumps(REQUESTS[twin]).encode()
    kind = {"content-type": "application/json"} if method == "POST" else {}

    def ask(verb: str, **headers: str) -> Reply:
        return server.ask(verb, at, body if verb == "POST" else None, {**house.caller, **kind, **headers})

    house.assert_refused(twin, ask(method, authorization=""), 401, "UNAUTHORIZED")
    house.assert_refused(twin, ask("DELETE"), 405, "METHOD_NOT_ALLOWED")
    house.assert_refused(twin, ask(method, origin="https://evil.example"), 403, "ORIGIN_NOT_ALLOWED")
    house.assert_refused(twin, ask(method, host="evil.example"), 421, "HOST_NOT_ALLOWED")
    both = {verb for verb in ("GET", "POST") if f"{verb} {path}" in REQUESTS}
    assert set(ask("DELETE").headers["allow"].split(", ")) == both


@pytest.mark.parametrize("twin", [twin for twin in REQUESTS if twin.startswith("POST")])
def test_each_wrong_body_is_refused_as_the_page_states(house: House, twin: str) -> None:
    for body in ([], {"nothing": 1}, "text"):
        house.assert_refused(twin, house.ask(twin, body, house.caller), 400, "INVALID_INPUT")
    path = house.path(twin.split()[1])
    for body, kind, status, name in (
        (b"{", "application/json", 400, "INVALID_INPUT"),
        (b'{"\xff": 1}', "application/json", 400, "INVALID_INPUT"),
        (b"{}", "text/plain", 415, "UNSUPPORTED_MEDIA_TYPE"),
    ):
        reply = house.server.ask("POST", path, body, {**house.caller, "content-type": kind})
        house.assert_refused(twin, reply, status, name)
    head = {**house.caller, "content-type": "application/json", "content-length": str(10**9)}
    house.assert_refused(twin, house.server.ask("POST", path, b"{", head), 413, "REQUEST_TOO_LARGE")


def test_an_unknown_name_is_refused_as_the_page_states(house: House) -> None:
    named = [twin for twin in REQUESTS if "{" in twin]
    lost = house._replace(request_id="nothing")

    for twin in named:
        unknown = twin.replace("{name}", "nothing").replace("{tool}", "nothing")
        name = "NOT_FOUND" if "{requestId}" in twin else "TOOL_NOT_FOUND"
        house.assert_refused(twin, lost.ask(unknown, REQUESTS[twin], house.caller), 404, name)
    for twin, body, name in (
        ("POST /-/doors", {"tool": "nothing"}, "TOOL_NOT_FOUND"),
        ("POST /-/contracts/diff", {"old": "9.9.9", "new": "served"}, "NOT_FOUND"),
    ):
        house.assert_refused(twin, house.ask(twin, body, house.caller), 404, name)
    assert len(named) == 5


def test_who_may_not_call_reads_everything_and_calls_nothing(house: House) -> None:
    for twin, body in REQUESTS.items():
        path = twin.split()[1]
        stated = "INSUFFICIENT_SCOPE" in house.stated(twin)["responses"]["403"]["description"]
        assert stated == (twin.startswith("POST") and path in CALLING), twin
        if stated:
            house.assert_refused(twin, house.ask(twin, body, house.reader), 403, "INSUFFICIENT_SCOPE")
        elif path != STREAM:
            assert house.ask(twin, body, house.reader).status == 200, twin


def test_a_call_whose_arguments_are_not_known_or_that_comes_too_often_is_refused_as_the_page_states(
    tmp_path: Path,
) -> None:
    with serving("--toolsets", "plantuml", "--rate-limit", "1/day", "--log-dir", str(tmp_path)) as server:
        page = server.ask("GET", "/openapi.json").json()
        house = House(server, page, {}, {}, "")
        assert house.ask("POST /-/call", CALL, {}).status == 200
        wait_until(lambda: bool(server.post("/-/journal", {}).json()["records"]))
        record = server.post("/-/journal", {}).json()["records"][0]
        house = house._replace(request_id=record["requestId"])

        again = "POST /-/journal/{requestId}/replay"
        house.assert_refused(again, house.ask(again, {}, {}), 409, "ARGUMENTS_NOT_KNOWN")
        for twin in ("POST /-/call", "POST /-/doors"):
            house.assert_refused(twin, house.ask(twin, CALL, {}), 429, "RATE_LIMITED")
    twins = {twin: house.stated(twin)["responses"] for twin in REQUESTS}
    assert {twin.split()[1] for twin, responses in twins.items() if "429" in responses} == CALLING
