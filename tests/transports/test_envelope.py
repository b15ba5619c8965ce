"""The envelope over the wire: the same request to a real HTTP server and a real stdio server."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from journals import records_in
from processes import ROOT, SIGNET, Pipe, Reply, Server, piping, serving, serving_command

PATH = "/mcp/tool/plantuml.encode"
CODE = "@startuml\nA --> B\n@enduml"
PARAMS: dict[str, Any] = {"tool": "mcp.tool:plantuml.encode", "input": {"plantumlCode": CODE}}
ENVELOPE: dict[str, Any] = {"jsonrpc": "2.0", "id": "req-123", "method": "mcp.tool.invoke", "params": PARAMS}
ENCODED = "SoWkIImgAStDuN9KqDMrKt3YSaZDIm7o0G"
RESULT = {"url": f"https://www.plantuml.com/plantuml/svg/{ENCODED}", "encoded": ENCODED, "format": "svg"}
ODD = (sys.executable, str(ROOT / "tests/support/misbehaving_server.py"))
ERRORS = {
    "INVALID_INPUT": (-32602, "Invalid params"),
    "INVALID_OUTPUT": (-32002, "Invalid tool output"),
    "NOT_FOUND": (-32004, "Resource not found"),
    "UNAUTHORIZED": (-32001, "Unauthorized"),
    "INTERNAL_ERROR": (-32603, "Internal error"),
}
"""Spec 5's JSON-RPC code and message of each canonical code."""


def without(value: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: one for name, one in value.items() if name != key}


def with_params(**changes: Any) -> dict[str, Any]:
    return {**ENVELOPE, "params": {**PARAMS, **changes}}


def error(canonical_code: str) -> dict[str, Any]:
    code, message = ERRORS[canonical_code]
    return {"code": code, "message": message, "data": {"canonical_code": canonical_code}}


def failure(canonical_code: str, request_id: object = "req-123") -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "error": error(canonical_code)}


BAD_AT_BOTH_DOORS: dict[str, tuple[dict[str, Any], object]] = {
    "jsonrpc 1.0": ({**ENVELOPE, "jsonrpc": "1.0"}, "req-123"),
    "jsonrpc number": ({**ENVELOPE, "jsonrpc": 2.0}, "req-123"),
    "jsonrpc missing": (without(ENVELOPE, "jsonrpc"), "req-123"),
    "id missing": (without(ENVELOPE, "id"), None),
    "id null": ({**ENVELOPE, "id": None}, None),
    "id empty": ({**ENVELOPE, "id": ""}, None),
    "id fraction": ({**ENVELOPE, "id": 1.5}, None),
    "id true": ({**ENVELOPE, "id": True}, None),
    "id list": ({**ENVELOPE, "id": [1]}, None),
    "id object": ({**ENVELOPE, "id": {}}, None),
    "params missing": (without(ENVELOPE, "params"), "req-123"),
    "params string": ({**ENVELOPE, "params": "text"}, "req-123"),
    "params list": ({**ENVELOPE, "params": [PARAMS]}, "req-123"),
    "params null": ({**ENVELOPE, "params": None}, "req-123"),
    "params empty": ({**ENVELOPE, "params": {}}, "req-123"),
    "params string, id number": ({**ENVELOPE, "id": 7, "params": "text"}, 7),
    "tool missing": ({**ENVELOPE, "params": without(PARAMS, "tool")}, "req-123"),
    "tool without prefix": (with_params(tool="plantuml.encode"), "req-123"),
    "tool in upper case": (with_params(tool="mcp.tool:PlantUML"), "req-123"),
    "tool with line end": (with_params(tool="mcp.tool:plantuml.encode\n"), "req-123"),
    "tool number": (with_params(tool=5), "req-123"),
    "input missing": ({**ENVELOPE, "params": without(PARAMS, "input")}, "req-123"),
    "input list": (with_params(input=[]), "req-123"),
    "input null": (with_params(input=None), "req-123"),
    "context null": (with_params(context=None), "req-123"),
    "extra at the top": ({**ENVELOPE, "meta": {}}, "req-123"),
    "extra and bad id": ({**ENVELOPE, "meta": {}, "id": 0.5}, None),
}
BAD_ARGUMENTS: dict[str, Any] = {
    "no code": {},
    "code null": {"plantumlCode": None},
    "code number": {"plantumlCode": 5},
    "code list": {"plantumlCode": ["A"]},
    "code empty": {"plantumlCode": ""},
    "code blank": {"plantumlCode": " \n\u3000"},
    "code too large": {"plantumlCode": "A" * 51_201},
}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving("--toolsets", "plantuml") as running:
        yield running


@pytest.fixture(scope="module")
def pipe() -> Iterator[Pipe]:
    with piping(SIGNET, "stdio", "--toolsets", "plantuml") as running:
        yield running


def seen(reply: Reply) -> tuple[int, str, Any]:
    return reply.status, reply.headers["content-type"], reply.json()


# Calls that succeed


@pytest.mark.spec("5.wire.success", "5.wire.same-answer", "5.envelope.enforced")
@pytest.mark.parametrize("request_id", ["req-123", "é", 0, -1, 7, 2**53, " ", 1.0])
def test_a_good_envelope_gives_the_tools_output_at_both_doors(server: Server, pipe: Pipe, request_id: object) -> None:
    envelope = {**ENVELOPE, "id": request_id}

    over_http, over_stdio = server.post(PATH, envelope), pipe.ask(envelope)

    expected = {"jsonrpc": "2.0", "id": request_id, "result": RESULT}
    assert seen(over_http) == (200, "application/json", expected)
    assert over_stdio == expected


@pytest.mark.spec("5.envelope.open-params", "5.envelope.context")
@pytest.mark.parametrize("extra", [{"context": {}}, {"context": {"user": "x"}}, {"_meta": {"a": 1}}, {"extra": [1]}])
def test_params_may_hold_more_than_tool_and_input(server: Server, pipe: Pipe, extra: dict[str, Any]) -> None:
    envelope = with_params(**extra)

    answers = [server.post(PATH, envelope).json(), pipe.ask(envelope)]

    assert answers == [{"jsonrpc": "2.0", "id": "req-123", "result": RESULT}] * 2


@pytest.mark.spec("5.wire.path-id")
def test_the_path_may_name_the_tool_by_its_canonical_id(server: Server) -> None:
    reply = server.post("/mcp/tool/mcp.tool:plantuml.encode", ENVELOPE)

    assert seen(reply) == (200, "application/json", {"jsonrpc": "2.0", "id": "req-123", "result": RESULT})


# Envelopes that are refused


@pytest.mark.spec(
    "5.envelope.deviation",
    "5.envelope.enforced",
    "5.modes",
    "5.wire.bad-envelope",
    "5.wire.echoed-id",
    "5.wire.same-answer",
    "5.wire.error-data",
    "5.wire.id-required",
    "5.envelope.required-id",
    "5.envelope.required-jsonrpc",
    "5.envelope.required-params",
    "5.envelope.jsonrpc-literal",
    "5.envelope.params-object",
    "5.envelope.tool",
    "5.envelope.input",
    "5.envelope.id-kinds",
    "5.envelope.context",
    "5.envelope.closed-top",
    "5.errors.invalid-input",
    "5.errors.data",
)
@pytest.mark.parametrize("name", BAD_AT_BOTH_DOORS)
def test_a_bad_envelope_is_invalid_input_at_both_doors(server: Server, pipe: Pipe, name: str) -> None:
    envelope, echoed = BAD_AT_BOTH_DOORS[name]

    over_http, over_stdio = server.post(PATH, envelope), pipe.ask(envelope)

    assert seen(over_http) == (400, "application/json", failure("INVALID_INPUT", echoed))
    assert over_stdio == failure("INVALID_INPUT", echoed)


@pytest.mark.spec("5.envelope.required-method", "5.envelope.deviation", "5.wire.bad-envelope")
@pytest.mark.parametrize(
    "envelope", [without(ENVELOPE, "method"), {**ENVELOPE, "method": ""}, {**ENVELOPE, "method": 5}]
)
def test_an_envelope_without_a_method_is_invalid_input_at_both_doors(
    server: Server, pipe: Pipe, envelope: dict[str, Any]
) -> None:
    """Over HTTP the path says that it is an envelope; on stdio its params do, which have a tool or an input."""
    over_http, over_stdio = server.post(PATH, envelope), pipe.ask(envelope)

    assert seen(over_http) == (400, "application/json", failure("INVALID_INPUT"))
    assert over_stdio == failure("INVALID_INPUT")


@pytest.mark.spec("5.envelope.required-method")
@pytest.mark.parametrize("params", [{}, {"name": "encodePlantUML"}, [PARAMS], None])
def test_on_stdio_what_has_neither_a_method_nor_a_tool_nor_an_input_is_no_envelope(pipe: Pipe, params: object) -> None:
    answer = pipe.ask({"jsonrpc": "2.0", "id": 9, "params": params})

    assert (answer["id"], answer["error"]["code"]) == (9, -32600)


def test_on_stdio_what_answers_something_is_no_envelope(pipe: Pipe) -> None:
    pipe.send({"id": 9, "result": {}, "params": PARAMS})

    answer = pipe.ask(ENVELOPE)

    assert answer == {"jsonrpc": "2.0", "id": "req-123", "result": RESULT}


@pytest.mark.spec("5.wire.echoed-id")
@pytest.mark.parametrize(
    "envelope",
    [{**ENVELOPE, "method": "nothing/here"}, {**ENVELOPE, "meta": {}}, with_params(tool="mcp.tool:no.such.tool")],
    ids=["unknown method", "bad envelope", "another tool"],
)
def test_a_whole_number_is_an_id_however_it_is_written(server: Server, envelope: dict[str, Any]) -> None:
    reply = server.post(PATH, {**envelope, "id": 1.0})

    assert (reply.json()["id"], b'"id":1.0' in reply.body) == (1.0, True)


@pytest.mark.spec("5.wire.batch", "5.envelope.deviation")
@pytest.mark.parametrize("body", [[], [ENVELOPE], [ENVELOPE, ENVELOPE], None, "text", 5, True])
def test_a_batch_or_any_other_non_object_is_invalid_input(server: Server, body: object) -> None:
    reply = server.post(PATH, body)

    assert seen(reply) == (400, "application/json", failure("INVALID_INPUT", None))


@pytest.mark.spec("5.wire.bad-arguments", "5.wire.same-answer", "5.wire.error-data")
@pytest.mark.parametrize("name", BAD_ARGUMENTS)
def test_arguments_that_break_the_contract_are_invalid_input(server: Server, pipe: Pipe, name: str) -> None:
    envelope = with_params(input=BAD_ARGUMENTS[name])

    over_http, over_stdio = server.post(PATH, envelope), pipe.ask(envelope)

    assert seen(over_http) == (400, "application/json", failure("INVALID_INPUT"))
    assert over_stdio == failure("INVALID_INPUT")


@pytest.mark.spec("5.wire.unknown-tool", "5.wire.same-answer", "5.wire.error-data", "5.errors.not-found")
@pytest.mark.parametrize("slug", ["no.such.tool", "plantuml", "plantuml.encode.x", "..."])
def test_an_unknown_tool_is_not_found_at_both_doors(server: Server, pipe: Pipe, slug: str) -> None:
    envelope = with_params(tool=f"mcp.tool:{slug}")

    over_http, over_stdio = server.post(f"/mcp/tool/{slug}", envelope), pipe.ask(envelope)

    assert seen(over_http) == (404, "application/json", failure("NOT_FOUND"))
    assert over_stdio == failure("NOT_FOUND")


@pytest.mark.spec("5.wire.path-mismatch")
@pytest.mark.parametrize(
    ("path", "tool"),
    [
        ("/mcp/tool/plantuml.encode", "mcp.tool:no.such.tool"),
        ("/mcp/tool/no.such.tool", "mcp.tool:plantuml.encode"),
        ("/mcp/tool/one.tool", "mcp.tool:another.tool"),
    ],
)
def test_a_path_that_names_another_tool_is_invalid_input(server: Server, path: str, tool: str) -> None:
    reply = server.post(path, with_params(tool=tool))

    assert seen(reply) == (400, "application/json", failure("INVALID_INPUT"))


@pytest.mark.spec("5.wire.unknown-method", "5.wire.same-answer", "5.envelope.method-free")
@pytest.mark.parametrize("method", ["mcp.tool.revoke", "MCP.TOOL.INVOKE", "mcp.tool.invoke ", "nothing/here"])
def test_an_unknown_method_is_method_not_found_at_both_doors(server: Server, pipe: Pipe, method: str) -> None:
    envelope = {**ENVELOPE, "method": method}

    over_http, over_stdio = server.post(PATH, envelope), pipe.ask(envelope)

    status, _, answer = seen(over_http)
    assert (status, answer["error"]["code"], answer["id"]) == (404, -32601, "req-123")
    assert over_stdio == answer


@pytest.mark.spec("5.wire.not-json", "5.wire.same-answer")
@pytest.mark.parametrize(
    "body",
    [b"{not json", b'{"jsonrpc":"2.0"', b"NaN", b"\xff\xfe", b'{"id":1}{"id":2}', b"[" * 10_000, b"{'id':1}"],
    ids=["not JSON", "cut off", "NaN", "not UTF-8", "two values", "deep", "single quotes"],
)
def test_text_that_is_not_json_is_a_parse_error_at_both_doors(server: Server, pipe: Pipe, body: bytes) -> None:
    over_http, over_stdio = server.ask("POST", PATH, body), pipe.ask(body)

    status, _, answer = seen(over_http)
    assert (status, answer["error"]["code"], answer["id"]) == (400, -32700, None)
    assert over_stdio == answer


@pytest.mark.spec("5.wire.not-json")
def test_an_empty_body_is_a_parse_error(server: Server) -> None:
    reply = server.ask("POST", PATH, b"")

    status, _, answer = seen(reply)
    assert (status, answer["error"]["code"], answer["id"]) == (400, -32700, None)


@pytest.mark.spec("5.wire.http-body")
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_the_envelope_path_takes_post_only_and_says_so_in_json(server: Server, method: str) -> None:
    reply = server.ask(method, PATH)

    status, kind, answer = seen(reply)
    assert (status, kind, reply.headers["allow"]) == (405, "application/json", "POST, OPTIONS")
    assert (answer["jsonrpc"], answer["id"], answer["error"]["code"]) == ("2.0", None, -32600)


@pytest.mark.spec("5.wire.unauthorized", "5.wire.http-body", "5.errors.unauthorized")
@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer wrong"}, {"authorization": "Basic c2VzYW1l"}])
def test_a_missing_or_wrong_bearer_is_unauthorized_where_one_is_set(headers: dict[str, str]) -> None:
    with serving("--toolsets", "plantuml", env={"SIGNET_TOKEN": "sesame"}) as guarded:
        refused = guarded.post(PATH, ENVELOPE, headers)
        allowed = guarded.post(PATH, ENVELOPE, {"authorization": "Bearer sesame"})

    status, _, answer = seen(refused)
    assert (status, answer["error"]) == (401, error("UNAUTHORIZED"))
    assert seen(allowed) == (200, "application/json", {"jsonrpc": "2.0", "id": "req-123", "result": RESULT})


@pytest.mark.spec("5.wire.unauthorized")
def test_stdio_asks_for_no_bearer() -> None:
    with piping(SIGNET, "stdio", "--toolsets", "plantuml", env={"SIGNET_TOKEN": "sesame"}) as pipe:
        answer = pipe.ask(ENVELOPE)

    assert answer == {"jsonrpc": "2.0", "id": "req-123", "result": RESULT}


@pytest.mark.spec("5.errors.surface")
def test_the_mcp_wire_keeps_to_its_own_codes(pipe: Pipe) -> None:
    """-32004 and its like mean other things to MCP clients."""
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    pipe.ask({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client})
    pipe.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    answer = pipe.ask({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "nope", "arguments": {}}})

    assert (answer["id"], answer["error"]["code"]) == (2, -32602)


@pytest.mark.spec("5.wire.id-required")
def test_a_notification_of_mcp_needs_no_id_and_gets_no_answer(pipe: Pipe) -> None:
    pipe.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    answer = pipe.ask(ENVELOPE)

    assert answer == {"jsonrpc": "2.0", "id": "req-123", "result": RESULT}


# What the journal is told, and the modes in which it is all that is told

BREACHES: dict[str, tuple[dict[str, Any], str]] = {
    "extra at the top": ({**ENVELOPE, "meta": {}}, "('meta' was unexpected)"),
    "context null": (with_params(context=None), "params.context: null is not of type"),
    "method missing": (without(ENVELOPE, "method"), '"method" is a required property'),
    "jsonrpc 1.0": ({**ENVELOPE, "jsonrpc": "1.0"}, 'jsonrpc: "2.0" was expected'),
    "tool without prefix": (with_params(tool="plantuml.encode"), "params.tool: "),
    "id missing": (without(ENVELOPE, "id"), '"id" is a required property'),
}
"""Envelopes that break their contract and can be opened all the same, and what is to be said of each."""

UNOPENABLE = [
    "params string", "params list", "tool missing", "tool number", "tool in upper case", "input missing", "input list",
]  # fmt: skip


def sent_through_both_doors(
    mode: str, folder: Path, envelopes: list[dict[str, Any]]
) -> tuple[list[list[Any]], list[list[dict[str, Any]]]]:
    """Send envelopes through both doors in a mode of validation; return the answers and the records of each."""
    flags = ("--toolsets", "plantuml", "--validation", mode, "--log-dir")
    with serving(*flags, str(folder / "http")) as server:
        over_http = [server.post(PATH, envelope).json() for envelope in envelopes]
    with piping(SIGNET, "stdio", *flags, str(folder / "stdio")) as pipe:
        over_stdio = [pipe.ask(envelope) for envelope in envelopes]
        pipe.finish()
    records = records_in(folder / "http"), records_in(folder / "stdio")
    pairs = zip(over_http, over_stdio, strict=True), zip(*records, strict=True)
    return [list(pair) for pair in pairs[0]], [list(pair) for pair in pairs[1]]


Breached = dict[str, tuple[list[Any], list[dict[str, Any]]]]


@pytest.fixture(scope="module")
def enforced(tmp_path_factory: pytest.TempPathFactory) -> Breached:
    return breached("enforce", tmp_path_factory.mktemp("enforce"))


@pytest.fixture(scope="module")
def shadowed(tmp_path_factory: pytest.TempPathFactory) -> Breached:
    return breached("shadow", tmp_path_factory.mktemp("shadow"))


@pytest.fixture(scope="module")
def unchecked(tmp_path_factory: pytest.TempPathFactory) -> Breached:
    return breached("off", tmp_path_factory.mktemp("off"))


def breached(mode: str, folder: Path) -> Breached:
    """Return the answers and the records of every envelope that breaks its contract, by its name."""
    results = sent_through_both_doors(mode, folder, [envelope for envelope, _ in BREACHES.values()])
    return dict(zip(BREACHES, zip(*results, strict=True), strict=True))


@pytest.mark.spec("5.wire.error-data", "5.parity.equal")
@pytest.mark.parametrize("name", BREACHES)
def test_where_and_why_an_envelope_is_bad_is_told_to_the_journal_alone(enforced: Breached, name: str) -> None:
    envelope, why = BREACHES[name]

    answers, records = enforced[name]

    assert answers == [failure("INVALID_INPUT", envelope.get("id"))] * 2
    assert [(record["status"], record["error"]["code"]) for record in records] == [("error", "INVALID_INPUT")] * 2
    assert all(why in record["error"]["message"] for record in records)
    assert records[0]["error"] == records[1]["error"]
    assert [record["durationMs"] for record in records] == [0, 0]


def test_what_the_journal_is_told_of_an_envelope_has_a_bound(tmp_path: Path) -> None:
    envelope = {**ENVELOPE, **{f"extra{n}" * 100: n for n in range(100)}}

    _, [records] = sent_through_both_doors("enforce", tmp_path, [envelope])

    assert all(len(record["error"]["message"]) <= 250 for record in records)


def test_a_path_that_names_another_tool_is_told_to_the_journal(tmp_path: Path) -> None:
    with serving("--toolsets", "plantuml", "--log-dir", str(tmp_path)) as server:
        server.post("/mcp/tool/another.tool", ENVELOPE)

    [record] = records_in(tmp_path)
    assert "the path names another tool" in record["error"]["message"]


@pytest.mark.spec("5.modes", "5.envelope.enforced", "5.envelope.deviation")
@pytest.mark.parametrize("name", BREACHES)
def test_in_shadow_a_bad_envelope_is_noted_and_its_call_goes_on(shadowed: Breached, name: str) -> None:
    envelope, why = BREACHES[name]

    answers, records = shadowed[name]

    assert answers == [{"jsonrpc": "2.0", "id": envelope.get("id"), "result": RESULT}] * 2
    assert [record["status"] for record in records] == ["ok", "ok"]
    for record in records:
        assert (record["error"]["code"], record["error"]["details"]) == ("INVALID_INPUT", {"mode": "shadow"})
        assert why in record["error"]["message"]


@pytest.mark.spec("5.modes", "5.envelope.enforced")
@pytest.mark.parametrize("name", BREACHES)
def test_where_nobody_looks_a_bad_envelope_is_opened_and_nothing_noted(unchecked: Breached, name: str) -> None:
    envelope, _ = BREACHES[name]

    answers, records = unchecked[name]

    assert answers == [{"jsonrpc": "2.0", "id": envelope.get("id"), "result": RESULT}] * 2
    assert [(record["status"], record["error"]) for record in records] == [("ok", None)] * 2


@pytest.fixture(scope="module", params=["shadow", "off"])
def lenient(request: pytest.FixtureRequest) -> Iterator[tuple[Server, Pipe]]:
    flags = ("--toolsets", "plantuml", "--no-journal", "--validation", request.param)
    with serving(*flags) as server, piping(SIGNET, "stdio", *flags) as pipe:
        yield server, pipe


@pytest.mark.spec("5.modes", "5.wire.bad-envelope")
@pytest.mark.parametrize("name", UNOPENABLE)
def test_no_mode_opens_an_envelope_that_holds_no_call(lenient: tuple[Server, Pipe], name: str) -> None:
    server, pipe = lenient
    envelope, echoed = BAD_AT_BOTH_DOORS[name]

    over_http, over_stdio = server.post(PATH, envelope), pipe.ask(envelope)

    assert seen(over_http) == (400, "application/json", failure("INVALID_INPUT", echoed))
    assert over_stdio == failure("INVALID_INPUT", echoed)


@pytest.mark.spec("5.modes", "5.wire.path-mismatch")
@pytest.mark.parametrize(
    ("path", "envelope"),
    [
        ("/mcp/tool/another.tool", ENVELOPE),
        ("/mcp/tool/another.tool", {**ENVELOPE, "meta": {}}),
        ("/mcp/tool/encodePlantUML", ENVELOPE),
        (PATH, {**ENVELOPE, "meta": {}, "method": "nothing/here"}),
    ],
    ids=["another tool", "another tool, extra", "a published name", "another method, extra"],
)
def test_no_mode_opens_what_is_not_meant_for_the_tool(
    lenient: tuple[Server, Pipe], path: str, envelope: dict[str, Any]
) -> None:
    reply = lenient[0].post(path, envelope)

    assert seen(reply) == (400, "application/json", failure("INVALID_INPUT"))


# Tools that break their promise


@pytest.fixture(scope="module")
def odd() -> Iterator[tuple[Server, Pipe]]:
    with serving_command(*ODD, "serve") as server, piping(*ODD, "stdio") as pipe:
        yield server, pipe


@pytest.mark.spec(
    "5.wire.bad-output", "5.errors.invalid-output", "5.wire.internal-error", "5.errors.internal-error",
    "5.wire.error-data", "5.wire.same-answer", "5.errors.enum", "5.errors.not-found",
)  # fmt: skip
@pytest.mark.parametrize(
    ("name", "status", "canonical_code"),
    [
        ("lies", 502, "INVALID_OUTPUT"),
        ("not_json", 502, "INVALID_OUTPUT"),
        ("not_a_number", 502, "INVALID_OUTPUT"),
        ("too_much", 502, "INVALID_OUTPUT"),
        ("raises", 500, "INTERNAL_ERROR"),
        ("raises_later", 500, "INTERNAL_ERROR"),
        ("missing", 404, "NOT_FOUND"),
    ],
)
def test_a_tool_that_fails_has_its_canonical_status_and_none_of_its_words(
    odd: tuple[Server, Pipe], name: str, status: int, canonical_code: str
) -> None:
    server, pipe = odd
    envelope = with_params(tool=f"mcp.tool:odd.{name}", input={})

    over_http, over_stdio = server.post(f"/mcp/tool/odd.{name}", envelope), pipe.ask(envelope)

    assert seen(over_http) == (status, "application/json", failure(canonical_code))
    assert over_stdio == failure(canonical_code)


# Arbitrary envelopes

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
CHANGES = st.dictionaries(st.sampled_from(["id", "jsonrpc", "params", "extra"]), VALUES, min_size=1)


@pytest.mark.spec("5.wire.same-answer", "5.envelope.deviation")
@given(changes=CHANGES)
def test_any_changed_envelope_has_one_answer_whatever_the_door(
    server: Server, pipe: Pipe, changes: dict[str, Any]
) -> None:
    envelope = {**ENVELOPE, **changes}

    over_http, over_stdio = server.post(PATH, envelope), pipe.ask(envelope)

    assert over_http.json() == over_stdio
    assert (over_http.status, "result" in over_stdio) in [(200, True), (400, False)]


@pytest.mark.spec("5.wire.http-body", "5.wire.not-json")
@given(body=st.binary(max_size=500) | VALUES.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_get_a_jsonrpc_answer_and_the_next_request_is_served(server: Server, body: bytes) -> None:
    reply, following = server.ask("POST", PATH, body), server.post(PATH, ENVELOPE)

    answer = reply.json()
    assert (reply.status, set(answer)) == (400, {"jsonrpc", "id", "error"})
    assert answer["error"] == error("INVALID_INPUT") or answer["error"]["code"] == -32700
    assert following.json() == {"jsonrpc": "2.0", "id": "req-123", "result": RESULT}
