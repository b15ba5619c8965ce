"""One call means the same through every door, whether its tool is sound or not."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from door_calls import Said, doors, invocation, modern_headers, rpc
from misbehaving_server import SECRET
from processes import ROOT, SIGNET, Pipe, Server, piping, serving, serving_command

ODD = (sys.executable, str(ROOT / "tests/support/misbehaving_server.py"))
DIAGRAM = {"plantumlCode": "@startuml\nA --> B\n@enduml"}

SOUND: dict[str, tuple[str, str, Any]] = {
    "a diagram": ("encodePlantUML", "plantuml.encode", DIAGRAM),
    "a large diagram": ("encodePlantUML", "plantuml.encode", {"plantumlCode": "A -> B\n" * 6000}),
    "not ASCII": ("encodePlantUML", "plantuml.encode", {"plantumlCode": "你好 🌍"}),
    "no arguments": ("encodePlantUML", "plantuml.encode", {}),
    "wrong type": ("encodePlantUML", "plantuml.encode", {"plantumlCode": 5}),
    "blank": ("encodePlantUML", "plantuml.encode", {"plantumlCode": " \n"}),
    "too large": ("encodePlantUML", "plantuml.encode", {"plantumlCode": "A" * 51_201}),
    "unknown tool": ("nobody", "nobody.knows", {}),
}

ODDITIES: dict[str, Said] = {
    "fine": ("result", {"n": 1}),
    "raises": ("error", "INTERNAL_ERROR"),
    "raises_later": ("error", "INTERNAL_ERROR"),
    "hangs": ("error", "INTERNAL_ERROR"),
    "clings": ("error", "INTERNAL_ERROR"),
    "lies": ("error", "INVALID_OUTPUT"),
    "not_json": ("error", "INVALID_OUTPUT"),
    "not_unicode": ("error", "INVALID_OUTPUT"),
    "not_a_number": ("error", "INVALID_OUTPUT"),
    "too_much": ("error", "INVALID_OUTPUT"),
    "prints": ("result", {"n": 1}),
    "missing": ("error", "NOT_FOUND"),
    "ticks": ("result", {"n": 3}),
}


@pytest.fixture(scope="module")
def plantuml() -> Iterator[tuple[Server, Pipe]]:
    with serving("--toolsets", "plantuml") as server, piping(SIGNET, "stdio", "--toolsets", "plantuml") as pipe:
        yield server, pipe


@pytest.fixture(scope="module")
def odd() -> Iterator[tuple[Server, Pipe]]:
    with serving_command(*ODD, "serve") as server, piping(*ODD, "stdio") as pipe:
        yield server, pipe


@pytest.mark.parametrize("case", SOUND)
def test_the_same_call_means_the_same_through_every_door(plantuml: tuple[Server, Pipe], case: str) -> None:
    call = SOUND[case]

    said = {door: ask(*call) for door, ask in doors(*plantuml).items()}

    assert len(said) == 7
    first = next(iter(said.values()))
    assert said == dict.fromkeys(said, first)


@pytest.mark.parametrize("name", ODDITIES)
def test_a_tool_that_misbehaves_has_one_answer_through_every_door(odd: tuple[Server, Pipe], name: str) -> None:
    said = {door: ask(name, f"odd.{name}", {}) for door, ask in doors(*odd).items()}

    assert said == dict.fromkeys(said, ODDITIES[name])


def test_the_next_call_is_served_after_every_misbehaviour(odd: tuple[Server, Pipe]) -> None:
    for name in ODDITIES:
        for ask in doors(*odd).values():
            ask(name, f"odd.{name}", {})

            assert ask("fine", "odd.fine", {"n": 7}) == ("result", {"n": 7})


def test_what_a_tool_raises_is_told_to_nobody(odd: tuple[Server, Pipe]) -> None:
    server, pipe = odd
    call = {"name": "raises", "arguments": {}}

    answers = [
        pipe.ask(rpc("tools/call", call)),
        server.post("/mcp", rpc("tools/call", call, modern=True), modern_headers("tools/call", "raises")).json(),
        server.post("/api/tools/raises", {}).json(),
        server.post("/mcp/tool/odd.raises", invocation("odd.raises", {})).json(),
    ]

    assert SECRET not in repr(answers)
    assert "Traceback" not in repr(answers)


def test_an_argument_that_breaks_its_contract_is_named(odd: tuple[Server, Pipe]) -> None:
    server, pipe = odd
    arguments = {"n": -1, "m": 2}

    by_mcp = pipe.ask(rpc("tools/call", {"name": "fine", "arguments": arguments}))["result"]["content"][0]["text"]
    by_rest = server.post("/api/tools/fine", arguments)

    assert by_mcp == by_rest.json()["error"]["message"]
    assert by_rest.status == 400
    assert "n: -1 is less than the minimum of 0" in by_mcp
    assert "'m' was unexpected" in by_mcp


@pytest.mark.spec("5.errors.surface")
def test_an_upstream_that_has_no_such_thing_is_told_to_the_model_but_an_unknown_tool_is_refused(
    odd: tuple[Server, Pipe],
) -> None:
    _, pipe = odd

    missing = pipe.ask(rpc("tools/call", {"name": "missing"}))
    unknown = pipe.ask(rpc("tools/call", {"name": "nobody"}))

    assert missing["result"]["isError"] is True
    assert unknown["error"]["code"] == -32602


def test_a_call_that_nobody_waits_for_is_cancelled_over_http() -> None:
    with serving_command(*ODD, "serve", "60") as server:
        with contextlib.closing(server.connect()) as client:
            body = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hangs"}}'
            client.sendall(
                b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                b"Accept: application/json, text/event-stream\r\nContent-Length: %d\r\n\r\n" % len(body) + body
            )
            server.wait_for("hangs: started")

        server.wait_for("hangs: cancelled")


@pytest.mark.parametrize(
    ("path", "body"),
    [("/api/tools/hangs", {}), ("/mcp/tool/odd.hangs", invocation("odd.hangs", {}))],
)
def test_a_call_that_nobody_waits_for_is_cancelled_at_the_plain_doors(path: str, body: object) -> None:
    sent = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with serving_command(*ODD, "serve", "60") as server:
        with contextlib.closing(server.connect()) as client:
            client.sendall(f"{head}Content-Length: {len(sent)}\r\n\r\n".encode() + sent)
            server.wait_for("hangs: started")

        server.wait_for("hangs: cancelled")


# --- the Bank's faults, and arguments that no tool knows


@pytest.fixture(scope="module")
def sandboxed() -> Iterator[tuple[Server, Pipe]]:
    flags = ("--toolsets", "boj,oj", "--sandbox")
    with serving(*flags) as server, piping(SIGNET, "stdio", *flags) as pipe:
        yield server, pipe


def results(both: tuple[Server, Pipe], name: str, arguments: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what each MCP door gives for a call; each gives a result."""
    server, pipe = both
    replies = [
        call(rpc("tools/call", {"name": name, "arguments": arguments}, modern=modern), modern)
        for modern in (False, True)
        for call in (
            lambda message, _: pipe.ask(message),
            lambda message, modern: server.post(
                "/mcp", message, modern_headers("tools/call", name) if modern else {}
            ).json(),
        )
    ]
    return [reply["result"] for reply in replies]


BANK_FAULTS: dict[str, tuple[str, dict[str, Any], str, dict[str, Any]]] = {
    "a broken rule": (
        "boj_get_data_code",
        {"db": "FM08", "codes": ["FXERD01"], "start_date": "2024-01"},
        "STARTDATE '2024-01' must be numeric: the date is written in digits only",
        {"canonical_code": "INVALID_INPUT", "error_type": "VALIDATION_ERROR"},
    ),
    "wrong types": (
        "boj_get_data_code",
        {"db": "FM08", "codes": "FXERD01"},
        'Invalid arguments for boj_get_data_code: codes: "FXERD01" is not of type "array"',
        {"canonical_code": "INVALID_INPUT", "error_type": "VALIDATION_ERROR"},
    ),
    "a refusal": (
        "boj_get_metadata",
        {"db": "NOWHERE", "lang": "en"},
        "The Bank of Japan refuses the request: status 400 M181005E Invalid database name",
        {"canonical_code": "INVALID_INPUT", "error_type": "API_ERROR", "status": 400, "message_id": "M181005E"},
    ),
}


@pytest.mark.parametrize("case", BANK_FAULTS)
def test_a_fault_of_the_bank_s_tools_reaches_the_model_through_every_mcp_door(
    sandboxed: tuple[Server, Pipe], case: str
) -> None:
    name, arguments, words, facts = BANK_FAULTS[case]

    for result in results(sandboxed, name, arguments):
        [block] = result["content"]
        assert result["isError"] is True
        assert block["text"].startswith(words)
        assert facts.items() <= result["_meta"].items()
        assert result["_meta"]["message"] in block["text"]
        assert ("hint" in result["_meta"]) is (case == "a refusal")


def test_an_upstream_that_is_not_there_is_told_to_the_model() -> None:
    flags = ("--toolsets", "boj", "--boj-base-url", "http://127.0.0.1:9")
    env = {"BOJ_RETRY_MAX": "0"}
    with serving(*flags, env=env) as server, piping(SIGNET, "stdio", *flags, env=env) as pipe:
        told = results((server, pipe), "boj_get_metadata", {"db": "FM08"})

    for result in told:
        assert (result["isError"], result["_meta"]["error_type"]) == (True, "TRANSPORT_ERROR")
        assert result["_meta"]["canonical_code"] == "INTERNAL_ERROR"


def test_a_call_of_the_bank_that_is_cut_off_is_told_to_the_model() -> None:
    flags = ("--toolsets", "boj", "--sandbox", "--call-timeout-s", "0.000001")
    with serving(*flags) as server, piping(SIGNET, "stdio", *flags) as pipe:
        told = results((server, pipe), "boj_get_metadata", {"db": "FM08"})

    for result in told:
        assert (result["isError"], result["_meta"]["canonical_code"]) == (True, "INTERNAL_ERROR")
        assert result["_meta"]["error_type"] == "INTERNAL_ERROR"
        text = result["content"][0]["text"]
        assert text.startswith("boj_get_metadata did not answer within 1e-06 s")
        assert text.endswith(": ask again, or for less")


@pytest.mark.parametrize("name", ["boj_get_metadata", "find_similar_problems"])
def test_unknown_arguments_are_named_on_mcp_and_ignored_without_a_word_elsewhere(
    sandboxed: tuple[Server, Pipe], name: str
) -> None:
    server, pipe = sandboxed
    known = {"db": "FM01", "lang": None} if name.startswith("boj") else {"query": "shortest path", "limit": None}
    arguments = {**known, "toolCallId": "call_1", "sessionId": "s"}
    slug = "boj.get_metadata" if name.startswith("boj") else f"oj.{name}"

    said = {door: ask(name, slug, arguments) for door, ask in doors(server, pipe).items()}
    meta = [result["_meta"] for result in results(sandboxed, name, arguments)]
    plain = [
        server.post(f"/api/tools/{name}", arguments).json(),
        server.post(f"/mcp/tool/{slug}", invocation(slug, arguments)).json(),
    ]

    assert {kind for kind, _ in said.values()} == {"result"}
    assert [one["ignored_arguments"] for one in meta] == [["toolCallId", "sessionId"]] * 4
    assert "toolCallId" not in json.dumps(plain)


def test_a_near_miss_is_refused_with_the_right_name_through_every_door(sandboxed: tuple[Server, Pipe]) -> None:
    arguments = {"db": "FM08", "codes": ["FXERD01"], "strat_date": "202401"}

    said = {door: ask("boj_get_data_code", "boj.get_data_code", arguments) for door, ask in doors(*sandboxed).items()}
    by_rest = sandboxed[0].post("/api/tools/boj_get_data_code", arguments)

    assert said == dict.fromkeys(said, ("error", "INVALID_INPUT"))
    assert (by_rest.status, by_rest.json()["error"]["message"]) == (
        400,
        "Invalid arguments for boj_get_data_code: unknown argument 'strat_date': did you mean 'start_date'?",
    )


def test_no_published_input_is_closed(sandboxed: tuple[Server, Pipe]) -> None:
    server, pipe = sandboxed
    listed = pipe.ask(rpc("tools/list", {}))["result"]["tools"]
    discovered = server.ask("GET", "/api/tools").json()["tools"]
    shapes = server.ask("GET", "/openapi.json").json()["components"]["schemas"]

    inputs = [
        *(tool["inputSchema"] for tool in (*listed, *discovered)),
        *(shape for name, shape in shapes.items() if name.endswith(".input")),
    ]
    assert len(inputs) == 24
    assert not [schema for schema in inputs if "additionalProperties" in schema]


def shaped(server: Server, pipe: Pipe, message: object, headers: dict[str, str]) -> list[dict[str, Any]]:
    """Return the errors of a message at both MCP doors."""
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    posted = server.ask("POST", "/mcp", body, {"content-type": "application/json", **headers})
    return [pipe.ask(message)["error"], posted.json()["error"]]


@pytest.mark.parametrize("is_modern", [False, True], ids=["handshake", "modern"])
@pytest.mark.parametrize("arguments", ["A", [1], 5])
def test_an_error_about_the_shape_of_a_request_has_its_canonical_code(
    plantuml: tuple[Server, Pipe], arguments: object, is_modern: bool
) -> None:
    message = rpc("tools/call", {"name": "encodePlantUML", "arguments": arguments}, modern=is_modern)
    headers = modern_headers("tools/call", "encodePlantUML") if is_modern else {}

    for error in shaped(*plantuml, message, headers):
        assert (error["code"], error["data"]) == (-32602, {"canonical_code": "INVALID_INPUT"})


@pytest.mark.parametrize("message", [b'{"id": 1}', b"[]", b'{"jsonrpc": "2.0", "id": 1, "method": 5}'])
def test_an_error_about_a_message_that_is_no_request_has_its_canonical_code(
    plantuml: tuple[Server, Pipe], message: bytes
) -> None:
    for error in shaped(*plantuml, message, {}):
        assert (error["code"], error["data"]) == (-32600, {"canonical_code": "INVALID_INPUT"})
