"""One record of the journal: its arguments and answer where calls are recorded, and the same call again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from console.journal_calls import DIAGRAM, encode, listed, wait_until, write_tools
from console.test_journal import assert_shape
from processes import Reply, Server, run, serving
from signet.console.comparing import MAX_DIFFERENCES, ComparedValue, differences
from signet.console.door_messages import differences as of_doors
from signet.console.recording import PIECE_BYTES, find_call

TS = "2026-01-01T00:00:00.000Z"


@pytest.fixture(scope="module")
def tape(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tape")


@pytest.fixture(scope="module")
def recording(tape: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of a user's tools that records."""
    tools = write_tools(tmp_path_factory.mktemp("tools"))
    with serving("--toolsets", f"plantuml,{tools}", "--record", str(tape)) as running:
        yield running


def call(server: Server, tool: str, text: str) -> dict[str, Any]:
    """Call a tool, and return the record of the call."""
    return made(server, tool, {"text": text})


def made(server: Server, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Make a call, and return its record."""
    known = listed(server, 0, tool=tool, door="rest")["matches"]
    server.post(f"/api/tools/{tool}", arguments)
    found: dict[str, Any] = listed(server, known + 1, tool=tool, door="rest")["records"][0]
    return found


def replayed(server: Server, record: dict[str, Any]) -> Reply:
    return server.post(f"/-/journal/{record['requestId']}/replay", {"seq": record["seq"]})


def test_a_recorded_call_has_its_arguments_and_its_answer(recording: Server) -> None:
    record = call(recording, "same", "<b>")

    reply = recording.ask("GET", "/-/journal/" + record["requestId"])

    page = reply.json()
    assert page["record"] == record
    assert (page["hasArguments"], page["arguments"], page["why"]) == (True, {"text": "<b>"}, "")
    assert page["answer"] == {"ok": True, "result": {"result": "<b>"}, "error": None}
    assert page["isReadOnly"]
    assert_shape(recording, "/-/journal/{requestId}", "get", reply)


def test_the_same_call_again_agrees_and_stands_in_the_journal(recording: Server) -> None:
    record = call(recording, "same", "hello")

    reply = replayed(recording, record)

    again = reply.json()
    assert (again["equal"], again["differences"], again["more"]) == (True, [], 0)
    assert again["then"] == again["now"] == {"ok": True, "result": {"result": "hello"}, "error": None}
    own = listed(recording, 1, tool="same", door="console")["records"][0]
    assert own["route"] == "/-/journal/{requestId}/replay"
    assert_shape(recording, "/-/journal/{requestId}/replay", "post", reply)


def test_a_changed_answer_is_compared_place_by_place(recording: Server) -> None:
    record = call(recording, "later", "x")

    again = replayed(recording, record).json()

    assert not again["equal"]
    assert again["differences"] == [{"path": "/result/result/0", "then": "1", "now": "2"}]


def test_an_error_is_compared_too(recording: Server) -> None:
    record = call(recording, "refuse", "me")

    page = recording.ask("GET", "/-/journal/" + record["requestId"]).json()
    again = replayed(recording, record).json()

    assert page["answer"]["error"] == {"code": "NOT_FOUND", "message": "No such text: me"}
    assert [(stage["name"], stage["status"]) for stage in page["road"]][2] == ("tool", "failed")
    assert not page["isReadOnly"]
    assert again["equal"]


def test_a_call_with_a_secret_is_not_made_again(recording: Server) -> None:
    record = made(recording, "same", {"text": "t", "password": "hunter2hunter2"})

    page = recording.ask("GET", "/-/journal/" + record["requestId"])
    refused = replayed(recording, record)

    assert b"hunter2" not in page.body
    assert (refused.status, refused.json()["error"]["code"]) == (409, "ARGUMENTS_NOT_KNOWN")
    assert "secret" in refused.json()["error"]["message"]
    assert page.json()["why"] == refused.json()["error"]["message"]


def test_a_broken_contract_is_told_with_its_place_and_keyword(recording: Server) -> None:
    record = made(recording, "same", {"text": 5})

    page = recording.ask("GET", f"/-/journal/{record['requestId']}").json()

    assert (record["stage"], record["place"], record["keyword"]) == ("input", "text", "type")
    [failed] = [stage for stage in page["road"] if stage["status"] == "failed"]
    assert (failed["name"], failed["place"], failed["keyword"]) == ("input contract", "text", "type")


def test_a_call_is_found_by_the_id_of_the_request_that_carried_it(recording: Server) -> None:
    record = call(recording, "same", "by its request")

    found = recording.ask("GET", f"/-/journal/{record['exchange']}").json()

    assert found["record"]["seq"] == record["seq"]


def test_where_nothing_is_recorded_the_page_says_why(server: Server) -> None:
    encode(server)
    record = listed(server, 1)["records"][0]

    page = server.ask("GET", "/-/journal/" + record["requestId"]).json()
    refused = replayed(server, record)
    unknown = server.ask("GET", "/-/journal/nothing")

    assert (page["hasArguments"], page["arguments"], page["answer"]) == (False, None, None)
    assert "--record DIR" in page["why"]
    assert (refused.status, refused.json()["error"]["message"]) == (409, page["why"])
    assert (unknown.status, unknown.json()["error"]["code"]) == (404, "NOT_FOUND")
    assert server.post("/-/journal/nothing/replay", {}).status == 404


def test_a_request_that_was_refused_at_the_door_has_nothing_to_run(recording: Server) -> None:
    recording.post("/mcp/tool/plantuml.encode", {"jsonrpc": "2.0", "id": 1, "method": "mcp.tool.invoke", "params": {}})
    record = listed(recording, 1, door="http envelope")["records"][0]

    refused = replayed(recording, record)

    assert refused.status == 409
    assert "before it was a call" in refused.json()["error"]["message"]


def test_calls_of_an_earlier_run_are_found_in_the_recording(recording: Server, tape: Path) -> None:
    """Another server has not seen the call; its recording has."""
    record = call(recording, "same", "earlier")
    with serving("--toolsets", "plantuml", "--record", str(tape)) as server:
        page = server.ask("GET", "/-/journal/" + record["requestId"]).json()
    with serving("--replay", str(tape), "--toolsets", "plantuml", "--no-journal") as server:
        replay = server.ask("GET", "/-/journal/" + record["requestId"]).json()

    for found in (page, replay):
        assert (found["record"], found["arguments"]) == (None, {"text": "earlier"})


def test_who_calls_is_shown_and_who_may_not_call_reads_only(tmp_path: Path) -> None:
    tokens = str(tmp_path / "tokens")
    made = {}
    for name, scopes in {"ada": "tools:call", "reader": "tools:read"}.items():
        done = run("token", "new", name, "--scopes", scopes, "--tokens-file", tokens)
        made[name] = done.stdout.decode().split()[-1]
    ada, reader = ({"authorization": f"Bearer {made[name]}"} for name in ("ada", "reader"))
    with serving("--toolsets", "plantuml", "--record", str(tmp_path / "tape"), "--tokens-file", tokens) as server:
        server.post("/api/tools/encodePlantUML", {"plantumlCode": DIAGRAM}, ada)
        wait_until(lambda: bool(server.post("/-/journal", {}, reader).json()["records"]))
        record = server.post("/-/journal", {}, reader).json()["records"][0]
        path = f"/-/journal/{record['requestId']}/replay"
        refused, allowed = server.post(path, {}, reader), server.post(path, {}, ada).json()
        nobody = server.post("/-/journal", {})

    assert (record["caller"], nobody.status) == ("ada", 401)
    assert (refused.status, refused.json()["error"]["code"]) == (403, "INSUFFICIENT_SCOPE")
    assert allowed["equal"]
    assert all(token not in json.dumps([record, refused.json(), allowed]) for token in made.values())


def test_arguments_and_answers_are_shown_to_those_who_may_call_the_tool_and_to_its_caller(tmp_path: Path) -> None:
    tokens, tape = str(tmp_path / "tokens"), str(tmp_path / "tape")
    scopes = {"ada": "tools:call", "encoder": "tools:call:plantuml.encode", "reader": "tools:read", "bob": "tools:read"}
    headers = {}
    for name, scope in scopes.items():
        made = run("token", "new", name, "--scopes", scope, "--tokens-file", tokens).stdout.decode().split()[-1]
        headers[name] = {"authorization": f"Bearer {made}"}

    def shown(server: Server, path: str) -> dict[str, Any]:
        """Return to whom the arguments are shown; who does not see them is told why, and sees no answer."""
        found = {name: server.ask("GET", path, headers=one).json() for name, one in headers.items()}
        hidden = [page for page in found.values() if not page["hasArguments"]]
        assert all((page["arguments"], page["answer"]) == (None, None) for page in hidden)
        assert all("may call this tool" in page["why"] for page in hidden)
        assert all(DIAGRAM not in json.dumps(page) for page in hidden)
        return {name: page["hasArguments"] for name, page in found.items()}

    with serving("--toolsets", "plantuml", "--record", tape, "--tokens-file", tokens) as server:
        server.post("/api/tools/encodePlantUML", {"plantumlCode": DIAGRAM}, headers["ada"])
        server.post("/api/tools/encodePlantUML", {"plantumlCode": DIAGRAM}, headers["bob"])
        wait_until(lambda: server.post("/-/journal", {}, headers["ada"]).json()["matches"] == 2)
        of_bob, of_ada = server.post("/-/journal", {}, headers["ada"]).json()["records"]
        seen = [shown(server, f"/-/journal/{record['seq']}") for record in (of_ada, of_bob)]
    with serving("--toolsets", "oj", "--record", tape, "--tokens-file", tokens, "--sandbox") as server:
        again = [
            server.post(f"/-/journal/{of_ada['requestId']}/replay", {}, headers[name]) for name in ("reader", "ada")
        ]

    assert (of_ada["caller"], of_bob["caller"]) == ("ada", "bob")
    assert seen[0] == {"ada": True, "encoder": True, "reader": False, "bob": False}
    assert seen[1] == {"ada": True, "encoder": True, "reader": False, "bob": True}
    assert [reply.status for reply in again] == [403, 200], "a tool that is not served any more refuses nobody"
    assert DIAGRAM not in again[0].body.decode()


def test_a_call_that_may_not_be_made_again_now_is_refused_with_the_time_to_wait(tmp_path: Path) -> None:
    flags = ("--toolsets", "plantuml", "--record", str(tmp_path / "tape"), "--rate-limit", "1/h")
    with serving(*flags) as server:
        encode(server)
        refused = replayed(server, listed(server, 1)["records"][0])

    assert (refused.status, refused.json()["error"]["code"]) == (429, "RATE_LIMITED")
    assert int(refused.headers["retry-after"]) > 0


def test_two_values_differ_where_they_do() -> None:
    then = {"a": [1, 2, {"b/c": True}], "gone": None, "same": [1.5, "x"], "t": 1}
    now = {"t": True, "a": [1, 3, {"b/c": False}, "new"], "same": [1.5, "x"]}

    found, more = differences(then, now)

    assert {(one.path, one.then, one.now) for one in found} == {
        ("/a/1", "2", "3"),
        ("/a/2/b~1c", "true", "false"),
        ("/a/3", None, '"new"'),
        ("/gone", "null", None),
        ("/t", "1", "true"),
    }
    assert more == 0
    assert differences([1] * 1000, [2] * 1000)[1] == 1000 - MAX_DIFFERENCES
    assert differences({"b": 1, "a": 2}, {"a": 2, "b": 1}) == ([], 0)
    assert max(len(one.then or "") for one in differences("x" * 10_000, "y")[0]) < 600


class Key(str):
    """A name of a member that counts how often it is written into a path."""

    __slots__ = ()
    written = 0

    def __format__(self, spec: str) -> str:
        Key.written += 1
        return str.__format__(self, spec)

    def __str__(self) -> str:
        Key.written += 1
        return str.__str__(self)

    def replace(self, *args: Any) -> str:
        Key.written += 1
        return str.replace(self, *args)


@pytest.mark.parametrize("compare", [lambda a, b: list(of_doors(a, b)), lambda a, b: differences(a, b)[0]])
def test_paths_are_written_for_differences_alone_and_cut(compare: Any) -> None:
    """A long name above many members would be written as often as there are members."""
    name, many = Key("k" * 200_000), {Key(at): 1 for at in range(12_000)}
    Key.written = 0

    assert compare({name: many}, {name: {**many}}) == []
    assert Key.written == 0
    [found] = compare({name: many}, {name: {**many, "7": 2}})
    path = found.path if isinstance(found, ComparedValue) else found[0]
    assert path.strip("/") in {"k" * 200 + "….7", "k" * 200 + "…/7"}
    deep, other = 1, 2
    for _ in range(300):
        deep, other = {"n" * 100: deep}, {"n" * 100: other}  # type: ignore[assignment]
    [found] = compare(deep, other)
    path = found.path if isinstance(found, ComparedValue) else found[0]
    assert 2000 < len(path) < 2500
    assert path[-1] == "…"


def line(request_id: str, ts: str, text: str) -> bytes:
    value = {"requestId": request_id, "tool": "t", "arguments": {"text": text}, "result": "r", "ts": ts}
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def test_a_call_is_found_by_its_id_and_time_wherever_it_stands(tmp_path: Path) -> None:
    inside = json.dumps({"requestId": "inner", "tool": "t"}, separators=(",", ":"))
    lines = [line(f"id-{at}", TS, "x" * (at % 977)) for at in range(1500)]
    lines += [line("twice", "then", "first"), line("twice", "now", "second"), line("twice", "now-ish", "third")]
    lines += [line("long", TS, "y" * (2 * PIECE_BYTES)), line("outer", TS, "").replace(b'{"text":""}', inside.encode())]
    (tmp_path / "calls.jsonl").write_bytes(b"".join(lines) + b'{"requestId":"half","tool"')

    for at in range(0, 1500, 7):
        found = find_call(str(tmp_path), f"id-{at}", TS)
        assert found is not None
        assert len(bytes(found.arguments)) == len('{"text":""}') + at % 977  # type: ignore[arg-type]
    for ts, text in (("then", "first"), ("now", "second"), ("now-ish", "third"), ("", "third")):
        found = find_call(str(tmp_path), "twice", ts)
        assert found is not None
        assert json.loads(bytes(found.arguments)) == {"text": text}  # type: ignore[arg-type]
    assert find_call(str(tmp_path), "long") is not None
    assert find_call(str(tmp_path), "inner") is None, "a value within a line is no line"
    assert find_call(str(tmp_path), "half") is None
    assert find_call(str(tmp_path / "none"), "id-1") is None
