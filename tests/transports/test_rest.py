"""The REST door over real sockets: spec 4 from discovery to the legacy endpoint."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from plantuml_vectors import VECTORS, string_of, text_of
from processes import PATIENCE_S, Reply, Server, serving

TOOLS = "/api/tools"
CALL = "/api/tools/encodePlantUML"
LEGACY = "/mcp/v1/encode-plantuml"
URL = "https://www.plantuml.com/plantuml/svg/"
LIMIT_BYTES = 51_200
BODY_CAP_BYTES = 1 << 20
CODE = "@startuml\nA --> B\n@enduml"

TOOL = {
    "id": "encodePlantUML",
    "name": "encodePlantUML",
    "description": "Encodes PlantUML diagram code into a shareable URL for viewing on plantuml.com",
    "inputSchema": {
        "type": "object",
        "properties": {
            "plantumlCode": {
                "type": "string",
                "description": "Valid PlantUML diagram code (must start with @startuml and end with @enduml)",
            }
        },
        "required": ["plantumlCode"],
    },
}

EMPTY_CODE = (400, "EMPTY_CODE", "plantumlCode is required and cannot be empty")
CODE_TOO_LARGE = (413, "CODE_TOO_LARGE", "PlantUML code exceeds maximum size of 50KB")
ENCODING_FAILED = (500, "ENCODING_FAILED", "Failed to encode PlantUML code")
INTERNAL_ERROR = (500, "INTERNAL_ERROR", "Internal server error")
TOOL_NAME_REQUIRED = (400, "TOOL_NAME_REQUIRED", "Tool name is required in the path")
ONLY_GET = (405, "METHOD_NOT_ALLOWED", "Only GET method is allowed")
ONLY_POST = (405, "METHOD_NOT_ALLOWED", "Only POST method is allowed")

JS_BLANKS = "".join(map(chr, [*range(9, 14), 0x20, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F])) + (
    "\u205f\u3000\ufeff"
)
"""What JavaScript's trim takes away, which is not what Python's strip does."""
NOT_JS_BLANKS = "\x00\x1c\x1d\x1e\x1f\x85\u180e\u200b\u2060"

EMPTY_BODIES = {
    "no body": None,
    "empty body": b"",
    "empty object": b"{}",
    "list": b"[]",
    "list with the object": b'[{"plantumlCode":"A"}]',
    "string": b'"str"',
    "number": b"123",
    "true": b"true",
    "false": b"false",
    "null": b"null",
    "other key": b'{"code":"A"}',
    "other case": b'{"plantumlcode":"A"}',
    "code null": b'{"plantumlCode":null}',
    "code empty": b'{"plantumlCode":""}',
    "code zero": b'{"plantumlCode":0}',
    "code false": b'{"plantumlCode":false}',
    "code true": b'{"plantumlCode":true}',
    "code number": b'{"plantumlCode":123}',
    "code float": b'{"plantumlCode":1.5}',
    "code object": b'{"plantumlCode":{}}',
    "code list": b'{"plantumlCode":[]}',
    "code list of text": b'{"plantumlCode":["a"]}',
    "code blank": b'{"plantumlCode":"   \\n\\t  "}',
    "last of two keys empty": b'{"plantumlCode":"A","plantumlCode":""}',
}
MALFORMED_BODIES = {
    "not JSON": b"not json",
    "cut off": b'{"plantumlCode":"A"',
    "two values": b'{"plantumlCode":"A"}{}',
    "single quotes": b"{'plantumlCode':'A'}",
    "trailing comma": b'{"plantumlCode":"A",}',
    "comment": b'{"plantumlCode":"A"}//',
    "raw line end in a string": b'{"plantumlCode":"A\nB"}',
    "BOM": b'\xef\xbb\xbf{"plantumlCode":"A"}',
    "NaN": b"NaN",
    "NaN inside": b'{"plantumlCode":"A","x":NaN}',
    "Infinity inside": b'{"plantumlCode":"A","x":-Infinity}',
    "UTF-16 without a mark": '{"plantumlCode":"A"}'.encode("utf-16-le"),
    "base64": b"eyJwbGFudHVtbENvZGUiOiJBIn0=",
    "blanks only": b" \n",
    "10000 lists": b"[" * 10_000 + b"]" * 10_000,
    "10000 objects": b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
}
UNDECODABLE_BODIES = {
    "lone continuation byte": b'{"plantumlCode":"\x80"}',
    "bytes that UTF-8 never has": b'{"plantumlCode":"\xff\xfe"}',
    "overlong slash": b'{"plantumlCode":"\xc0\xaf"}',
    "surrogate as UTF-8": b'{"plantumlCode":"\xed\xa0\x80"}',
    "cut sequence": b'{"plantumlCode":"A\xe4\xbd"}',
    "UTF-16 with its mark": '{"plantumlCode":"A"}'.encode("utf-16"),
    "before the value": b'\xff{"plantumlCode":"A"}',
    "after the value": b'{"plantumlCode":"A"}\xff',
    "in a key": b'{"plantumlCode":"A","\xff":1}',
    "nothing else": b"\xff",
    "Latin-1": '{"plantumlCode":"café"}'.encode("latin-1"),
    "lone high surrogate escape": b'{"plantumlCode":"\\ud800"}',
    "lone low surrogate escape": b'{"plantumlCode":"A\\udc00B"}',
    "surrogates in the wrong order": b'{"plantumlCode":"\\udc00\\ud800"}',
}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving("--toolsets", "plantuml") as running:
        yield running


def call(server: Server, code: str, path: str = CALL) -> Reply:
    return server.post(path, {"plantumlCode": code})


def success(code: str) -> dict[str, Any]:
    encoded = string_of(code)
    return {"success": True, "result": {"url": URL + encoded, "encoded": encoded, "format": "svg"}}


def refusal(told: tuple[int, str, str]) -> tuple[int, dict[str, Any]]:
    status, code, message = told
    return status, {"success": False, "error": {"code": code, "message": message}}


def flat_refusal(told: tuple[int, str, str]) -> tuple[int, dict[str, Any]]:
    status, code, message = told
    return status, {"status": "error", "code": code, "message": message}


def seen(reply: Reply) -> tuple[int, Any]:
    return reply.status, reply.json()


def promised_headers(reply: Reply) -> dict[str, str]:
    """Pick the headers that spec 4 speaks of: the content type, and everything of CORS."""
    return {
        name: value
        for name, value in reply.headers.items()
        if name == "content-type" or name.startswith("access-control-")
    }


def headers_allowing(methods: str) -> dict[str, str]:
    return {
        "content-type": "application/json",
        "access-control-allow-origin": "*",
        "access-control-allow-headers": "Content-Type",
        "access-control-allow-methods": methods,
    }


# Discovery


@pytest.mark.spec(
    "4.discovery.ok",
    "4.discovery.shape",
    "4.models.tool",
    "4.models.tools-response",
    "4.deployment.routes",
    "4.base-url",
    "4.testing.manual",
)
def test_discovery_lists_the_encoder_exactly_as_printed(server: Server) -> None:
    reply = server.ask("GET", TOOLS, headers={"accept": "application/json"})

    assert seen(reply) == (200, {"tools": [TOOL]})


@pytest.mark.spec("4.discovery.shape", "4.invariants.schema-completeness")
def test_a_discovered_tool_has_these_four_keys_in_this_order(server: Server) -> None:
    tools = server.ask("GET", TOOLS).json()["tools"]

    assert [list(tool) for tool in tools] == [["id", "name", "description", "inputSchema"]]


@pytest.mark.spec("4.invariants.discovery-succeeds", "4.discovery.ok")
@pytest.mark.parametrize(
    ("path", "body", "headers"),
    [
        (TOOLS + "?cursor=2&format=xml", None, {}),
        (TOOLS, None, {"accept": "text/html"}),
        (TOOLS, None, {"accept": "application/xml;q=0"}),
        (TOOLS, b"{not json", {"content-type": "application/json"}),
        (TOOLS, None, {"origin": "https://elsewhere.example"}),
    ],
    ids=["query", "accept html", "accept nothing", "body", "foreign origin"],
)
def test_discovery_succeeds_whatever_query_accept_or_body_it_gets(
    server: Server, path: str, body: bytes | None, headers: dict[str, str]
) -> None:
    reply = server.ask("GET", path, body, headers)

    assert seen(reply) == (200, {"tools": [TOOL]})


@pytest.mark.spec("4.invariants.stateless", "4.invariants.discovery-succeeds")
def test_discovery_is_the_same_bytes_before_and_after_calls(server: Server) -> None:
    before = server.ask("GET", TOOLS).body
    call(server, CODE)
    call(server, "")

    after = server.ask("GET", TOOLS).body

    assert after == before


@pytest.mark.spec("4.discovery.method-not-allowed", "4.errors.method-not-allowed", "4.paths.post-discovery")
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_discovery_takes_no_other_method_than_get(server: Server, method: str) -> None:
    reply = server.ask(method, TOOLS, b'{"plantumlCode":"A"}')

    assert seen(reply) == refusal(ONLY_GET)


@pytest.mark.spec("4.discovery.headers", "4.invariants.cors")
@pytest.mark.parametrize("headers", [{"host": "evil.example"}, {"authorization": "Bearer wrong"}, {}])
def test_discovery_that_is_refused_is_open_to_all_origins_too(headers: dict[str, str]) -> None:
    with serving("--toolsets", "plantuml", env={"SIGNET_TOKEN": "sesame"}) as guarded:
        reply = guarded.ask("GET", TOOLS, headers={"origin": "https://elsewhere.example", **headers})

    assert reply.status == (421 if "host" in headers else 401)
    assert promised_headers(reply) == headers_allowing("GET, OPTIONS")


@pytest.mark.spec("4.discovery.head", "4.discovery.headers")
def test_head_on_discovery_is_refused_without_a_body(server: Server) -> None:
    reply = server.ask("HEAD", TOOLS)

    assert (reply.status, reply.body, promised_headers(reply)) == (405, b"", headers_allowing("GET, OPTIONS"))


@pytest.mark.spec("4.context.discover-then-invoke", "4.invocation.path")
def test_every_discovered_name_can_be_invoked(server: Server) -> None:
    names = [tool["name"] for tool in server.ask("GET", TOOLS).json()["tools"]]

    replies = [call(server, CODE, f"{TOOLS}/{name}") for name in names]

    assert [seen(reply) for reply in replies] == [(200, success(CODE))]


# Invocation that succeeds


@pytest.mark.spec(
    "4.invocation.success",
    "4.models.success",
    "4.models.request",
    "4.invariants.success-exclusive",
    "4.invariants.url-format",
    "4.output.url",
    "4.output.non-empty",
    "4.deployment.routes",
    "4.testing.manual",
)
@pytest.mark.parametrize("name", VECTORS)
def test_a_golden_diagram_gives_its_url_string_and_format(server: Server, name: str) -> None:
    text = VECTORS[name].text

    reply = call(server, text)

    assert seen(reply) == (200, success(text))
    assert text_of(reply.json()["result"]["encoded"]) == text


@pytest.mark.spec("4.invocation.example", "4.invocation.success")
def test_the_example_request_gives_a_url_of_that_very_diagram(server: Server) -> None:
    body = (
        b'{"plantumlCode": "@startuml\\nactor Writer1\\nrectangle \\"Front Buffer\\"\\n'
        b'Writer1 --> \\"Front Buffer\\"\\n@enduml"}'
    )

    reply = server.ask("POST", CALL, body, {"content-type": "application/json"})

    assert seen(reply) == (200, success(VECTORS["G5"].text))


@pytest.mark.spec("4.models.success")
def test_a_success_has_its_keys_in_the_printed_order(server: Server) -> None:
    answer = call(server, CODE).json()

    assert (list(answer), list(answer["result"])) == (["success", "result"], ["url", "encoded", "format"])


@pytest.mark.spec("4.validation.wrapper")
@pytest.mark.parametrize("text", ["A", "A -> B", "@startuml", "@enduml\n@startuml", "@startmindmap\n* a\n@endmindmap"])
def test_text_without_the_start_and_end_lines_is_encoded_as_it_stands(server: Server, text: str) -> None:
    reply = call(server, text)

    assert seen(reply) == (200, success(text))


@pytest.mark.spec("4.validation.untrimmed")
def test_blanks_round_the_code_are_kept(server: Server) -> None:
    text = "\r\n\t  @startuml\r\nA\r\n@enduml \u3000\n"

    reply = call(server, text)

    assert text_of(reply.json()["result"]["encoded"]) == text


@pytest.mark.spec("4.bodies.extras")
@pytest.mark.parametrize(
    "body",
    [
        b'{"plantumlCode":"A","format":"png","server":"http://elsewhere.example"}',
        b'{"plantumlCode":"","plantumlCode":"A"}',
        b'{"plantumlCode":5,"a":{"plantumlCode":"B"},"plantumlCode":"A"}',
        b' \r\n\t{"plantumlCode" : "\\u0041"} \n',
        b'{"plantumlCode":"A","n":' + b"7" * 400 + b"}",
    ],
    ids=["unknown keys", "twice the key", "twice the key with another type", "blanks and escapes", "a huge number"],
)
def test_unknown_keys_are_ignored_and_the_last_of_two_keys_wins(server: Server, body: bytes) -> None:
    reply = server.ask("POST", CALL, body)

    assert seen(reply) == (200, success("A"))


@pytest.mark.spec("4.bodies.content-type")
@pytest.mark.parametrize(
    "headers",
    [{}, {"content-type": "text/plain"}, {"content-type": "application/json; charset=latin-1"}, {"accept": "text/*"}],
    ids=["none", "text", "another charset", "accept text"],
)
def test_the_content_type_of_a_request_is_not_looked_at(server: Server, headers: dict[str, str]) -> None:
    reply = server.ask("POST", CALL, '{"plantumlCode":"é"}'.encode(), headers)

    assert seen(reply) == (200, success("é"))


@pytest.mark.spec("4.invariants.determinism", "4.invariants.stateless", "4.security.no-rate-limit")
def test_many_equal_calls_give_one_and_the_same_answer(server: Server) -> None:
    replies = [call(server, CODE) for _ in range(50)]

    assert [seen(reply) for reply in replies] == [(200, success(CODE))] * 50
    assert len({reply.body for reply in replies}) == 1


@pytest.mark.spec("4.invariants.stateless", "4.invariants.determinism")
def test_calls_at_the_same_time_do_not_mix(server: Server) -> None:
    texts = [f"@startuml\nA{i} --> B{i}\n@enduml" for i in range(40)]

    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda text: call(server, text), texts))

    assert [seen(reply) for reply in replies] == [(200, success(text)) for text in texts]


@pytest.mark.spec("4.invariants.stateless")
def test_a_refused_call_leaves_no_trace_in_the_next_one(server: Server) -> None:
    refused = [server.ask("POST", CALL, body) for body in (b"{", b"null", b'{"plantumlCode":"\xff"}')]

    reply = call(server, CODE)

    assert [answer.status for answer in refused] == [500, 400, 500]
    assert seen(reply) == (200, success(CODE))


@pytest.mark.spec("4.auth.none", "4.security.no-auth", "4.deployment.environment")
@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer wrong"}, {"cookie": "session=1"}])
def test_no_credentials_are_asked_for_and_none_are_read(server: Server, headers: dict[str, str]) -> None:
    reply = server.post(CALL, {"plantumlCode": CODE}, headers)

    assert seen(reply) == (200, success(CODE))


@pytest.mark.spec("4.security.injection", "4.security.xss")
@pytest.mark.parametrize(
    "text",
    [
        "@startuml\n!include /etc/passwd\n@enduml",
        "@startuml\n!includeurl http://127.0.0.1:1/x\n@enduml",
        "$(reboot); `reboot` && ${HOME} {{7*7}} %s%n",
        "<script>alert(1)</script>",
        "'; DROP TABLE diagrams; --",
        "../../../x?y#z",
    ],
)
def test_hostile_text_is_only_ever_encoded(server: Server, text: str) -> None:
    reply = call(server, text)

    assert seen(reply) == (200, success(text))
    assert text not in reply.body.decode()


@pytest.mark.spec("4.encoding.lossless", "4.invariants.url-format", "4.output.url")
@settings(max_examples=60)
@given(text=st.text(min_size=1).filter(lambda text: text.strip(JS_BLANKS) != ""))
def test_any_text_that_is_not_blank_is_encoded_without_loss(server: Server, text: str) -> None:
    reply = call(server, text)

    assert seen(reply) == (200, success(text))
    assert text_of(reply.json()["result"]["encoded"]) == text


# Invocation that is refused


@pytest.mark.spec(
    "4.invocation.empty",
    "4.errors.empty-code",
    "4.validation.required",
    "4.validation.type",
    "4.validation.non-empty",
    "4.bodies.non-object",
    "4.bodies.empty",
    "4.models.error",
    "4.invariants.error-exclusive",
    "4.invariants.error-codes",
    "4.testing.manual",
    "4.security.validation",
)
@pytest.mark.parametrize("name", EMPTY_BODIES)
def test_a_body_without_code_is_refused_as_empty(server: Server, name: str) -> None:
    reply = server.ask("POST", CALL, EMPTY_BODIES[name])

    assert seen(reply) == refusal(EMPTY_CODE)


@pytest.mark.spec("4.validation.non-empty", "4.validation.trim")
@pytest.mark.parametrize("blank", [*JS_BLANKS, JS_BLANKS], ids=[*(f"U+{ord(c):04X}" for c in JS_BLANKS), "all"])
def test_code_of_nothing_but_blanks_is_refused_as_empty(server: Server, blank: str) -> None:
    reply = call(server, blank)

    assert seen(reply) == refusal(EMPTY_CODE)


@pytest.mark.spec("4.validation.trim")
@pytest.mark.parametrize("text", NOT_JS_BLANKS, ids=[f"U+{ord(c):04X}" for c in NOT_JS_BLANKS])
def test_a_character_that_trim_keeps_is_code(server: Server, text: str) -> None:
    reply = call(server, text)

    assert seen(reply) == (200, success(text))


@pytest.mark.spec("4.bodies.malformed", "4.errors.internal-error", "4.bodies.strict-json", "4.bodies.deep")
@pytest.mark.parametrize("name", MALFORMED_BODIES)
def test_a_body_that_is_not_json_is_an_internal_error(server: Server, name: str) -> None:
    reply = server.ask("POST", CALL, MALFORMED_BODIES[name], {"content-type": "application/json"})

    assert seen(reply) == refusal(INTERNAL_ERROR)


@pytest.mark.spec("4.invocation.encoding-failed", "4.errors.encoding-failed", "4.validation.utf8")
@pytest.mark.parametrize("name", UNDECODABLE_BODIES)
def test_text_that_utf8_cannot_write_fails_to_encode(server: Server, name: str) -> None:
    reply = server.ask("POST", CALL, UNDECODABLE_BODIES[name], {"content-type": "application/json"})

    assert seen(reply) == refusal(ENCODING_FAILED)


@pytest.mark.spec("4.validation.size", "4.limits.request-size")
@pytest.mark.parametrize("text", ["A" * LIMIT_BYTES, "é" * (LIMIT_BYTES // 2), "🌍" * (LIMIT_BYTES // 4)])
def test_code_of_exactly_fifty_kilobytes_is_encoded(server: Server, text: str) -> None:
    reply = call(server, text)

    assert seen(reply) == (200, success(text))


@pytest.mark.spec(
    "4.validation.size",
    "4.invocation.too-large",
    "4.errors.code-too-large",
    "4.security.dos",
    "4.testing.manual",
    "4.security.validation",
)
@pytest.mark.parametrize(
    "text",
    ["A" * (LIMIT_BYTES + 1), "A" * 52_224, "é" * (LIMIT_BYTES // 2) + "A", "A" + "\n" * LIMIT_BYTES],
    ids=["one byte over", "51 KB", "over in bytes only", "over in blanks only"],
)
def test_code_over_fifty_kilobytes_is_too_large(server: Server, text: str) -> None:
    reply = call(server, text)

    assert seen(reply) == refusal(CODE_TOO_LARGE)


@pytest.mark.spec("4.limits.request-size")
def test_the_limit_counts_the_code_and_not_the_way_it_is_written(server: Server) -> None:
    body = b'{"plantumlCode":"' + b"\\u0041" * LIMIT_BYTES + b'"}'

    reply = server.ask("POST", CALL, body)

    assert seen(reply) == (200, success("A" * LIMIT_BYTES))


@pytest.mark.spec("4.limits.body")
def test_a_body_of_exactly_one_mebibyte_is_read(server: Server) -> None:
    body = b'{"plantumlCode":"A"}'.ljust(BODY_CAP_BYTES)

    reply = server.ask("POST", CALL, body)

    assert seen(reply) == (200, success("A"))


@pytest.mark.spec("4.limits.body", "4.security.dos", "4.errors.code-too-large")
@pytest.mark.parametrize("size", [BODY_CAP_BYTES + 1, 5 << 20], ids=["one byte over", "5 MiB"])
def test_a_body_over_one_mebibyte_is_too_large_and_the_next_is_served(server: Server, size: int) -> None:
    reply = server.ask("POST", CALL, b'{"plantumlCode":"A"}'.ljust(size))

    assert seen(reply) == refusal(CODE_TOO_LARGE)
    assert seen(call(server, CODE)) == (200, success(CODE))


@pytest.mark.spec("4.limits.body", "4.security.dos")
def test_a_body_of_untold_length_is_capped_as_well(server: Server) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
    chunks = [b'{"plantumlCode":"A"}', *([b" " * 65_536] * 17)]

    connection.request("POST", CALL, body=iter(chunks))
    answer = connection.getresponse()
    found = (answer.status, json.loads(answer.read()))
    connection.close()

    assert found == refusal(CODE_TOO_LARGE)


@pytest.mark.spec("4.bodies.extras")
def test_a_body_in_chunks_is_read_whole(server: Server) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)

    connection.request("POST", CALL, body=iter([b'{"plantuml', b'Code":"', "é".encode()[:1], "é".encode()[1:], b'"}']))
    answer = connection.getresponse()
    found = (answer.status, json.loads(answer.read()))
    connection.close()

    assert found == (200, success("é"))


# The order of checks


@pytest.mark.spec("4.invocation.method-not-allowed", "4.errors.method-not-allowed", "4.order.method-first")
@pytest.mark.parametrize("path", [CALL, "/api/tools/unknownTool", "/api/tools/tools", CALL + "/"])
@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
def test_the_method_is_checked_before_everything_else(server: Server, method: str, path: str) -> None:
    reply = server.ask(method, path, b"{not json")

    assert seen(reply) == refusal(ONLY_POST)


@pytest.mark.spec("4.invocation.head", "4.invocation.headers")
@pytest.mark.parametrize("path", [CALL, "/api/tools/unknownTool"])
def test_head_on_a_tool_is_refused_without_a_body(server: Server, path: str) -> None:
    reply = server.ask("HEAD", path)

    assert (reply.status, reply.body, promised_headers(reply)) == (405, b"", headers_allowing("POST, OPTIONS"))


@pytest.mark.spec("4.order.body-before-name")
@pytest.mark.parametrize("path", ["/api/tools/unknownTool", "/api/tools/", "/api/tools/tools"])
def test_a_malformed_body_is_told_before_the_name_is_looked_at(server: Server, path: str) -> None:
    reply = server.ask("POST", path, b"{not json")

    assert seen(reply) == refusal(INTERNAL_ERROR)


@pytest.mark.spec("4.order.tool-before-code", "4.invocation.unknown-tool", "4.errors.tool-not-found")
@pytest.mark.parametrize(
    "body", [None, b"null", b"[]", b'{"plantumlCode":""}', b'{"plantumlCode":"' + b"A" * 60_000 + b'"}']
)
def test_an_unknown_tool_is_told_before_its_code_is_looked_at(server: Server, body: bytes | None) -> None:
    reply = server.ask("POST", "/api/tools/unknownTool", body)

    assert seen(reply) == refusal((404, "TOOL_NOT_FOUND", "Tool 'unknownTool' not found"))


@pytest.mark.spec("4.order.tool-before-code", "4.validation.utf8", "4.errors.tool-not-found")
@pytest.mark.parametrize("name", UNDECODABLE_BODIES)
def test_an_unknown_tool_is_told_before_its_text_is_found_to_be_no_utf8(server: Server, name: str) -> None:
    reply = server.ask("POST", "/api/tools/unknownTool", UNDECODABLE_BODIES[name])

    assert seen(reply) == refusal((404, "TOOL_NOT_FOUND", "Tool 'unknownTool' not found"))


@pytest.mark.spec("4.errors.tool-name-required")
@pytest.mark.parametrize("path", ["/api/tools/", "/api/tools/tools"])
def test_a_missing_name_is_told_before_the_text_is_found_to_be_no_utf8(server: Server, path: str) -> None:
    reply = server.ask("POST", path, b"\xff")

    assert seen(reply) == refusal(TOOL_NAME_REQUIRED)


@pytest.mark.spec("4.order.empty-before-size")
def test_blanks_over_the_limit_are_empty_and_not_too_large(server: Server) -> None:
    reply = call(server, " " * (LIMIT_BYTES + 1))

    assert seen(reply) == refusal(EMPTY_CODE)


# Paths


@pytest.mark.spec("4.paths.last-segment")
@pytest.mark.parametrize(
    "path", [CALL + "/", "/api/tools/x/encodePlantUML", "/api/tools//encodePlantUML//", CALL + "?format=png"]
)
def test_the_last_segment_names_the_tool(server: Server, path: str) -> None:
    reply = call(server, CODE, path)

    assert seen(reply) == (200, success(CODE))


@pytest.mark.spec("4.invocation.unknown-tool", "4.errors.tool-not-found", "4.paths.raw-name")
@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/api/tools/unknownTool", "unknownTool"),
        ("/api/tools/encodeplantuml", "encodeplantuml"),
        ("/api/tools/encodePlantUML/x", "x"),
        ("/api/tools/encode%50lantUML", "encode%50lantUML"),
        ("/api/tools/%22%3Cb%3E", "%22%3Cb%3E"),
        ("/api/tools/encodePlantUML%2F", "encodePlantUML%2F"),
        ("/api/tools/it's", "it's"),
        ("/api/tools/" + "x" * 2_000, "x" * 2_000),
    ],
    ids=["unknown", "case", "beyond", "percent", "quoted", "percent slash", "apostrophe", "long"],
)
def test_an_unknown_name_is_echoed_raw(server: Server, path: str, name: str) -> None:
    reply = call(server, CODE, path)

    assert seen(reply) == refusal((404, "TOOL_NOT_FOUND", f"Tool '{name}' not found"))


@pytest.mark.spec("4.errors.tool-name-required", "4.paths.no-name")
@pytest.mark.parametrize("path", ["/api/tools/", "/api/tools//", "/api/tools/tools", "/api/tools/x/tools/"])
def test_a_path_that_names_no_tool_is_refused(server: Server, path: str) -> None:
    reply = call(server, CODE, path)

    assert seen(reply) == refusal(TOOL_NAME_REQUIRED)


@pytest.mark.spec("4.versioning.reserved", "4.paths.unknown-route")
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/v1/tools"),
        ("POST", "/api/v1/tools"),
        ("POST", "/api/v1/tools/encodePlantUML"),
        ("GET", "/api"),
        ("GET", "/api/toolsx"),
        ("GET", "/API/tools"),
        ("GET", "/nowhere"),
        ("POST", "/mcp/v2/encode-plantuml"),
        ("DELETE", "/a/b/c"),
    ],
)
def test_a_route_that_does_not_exist_is_a_json_404(server: Server, method: str, path: str) -> None:
    reply = server.ask(method, path)

    answer = reply.json()
    assert (reply.status, reply.headers["content-type"]) == (404, "application/json")
    assert answer == {"success": False, "error": {"code": "NOT_FOUND", "message": answer["error"]["message"]}}
    assert isinstance(answer["error"]["message"], str)


# Headers


@pytest.mark.spec("4.discovery.headers", "4.cors.origin", "4.cors.headers", "4.cors.methods", "4.invariants.cors")
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "OPTIONS"])
def test_discovery_sends_its_headers_on_every_answer(server: Server, method: str) -> None:
    reply = server.ask(method, TOOLS)

    assert promised_headers(reply) == headers_allowing("GET, OPTIONS")


@pytest.mark.spec("4.invocation.headers", "4.cors.origin", "4.cors.headers", "4.cors.methods", "4.invariants.cors")
@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", CALL, b'{"plantumlCode":"A"}', 200),
        ("POST", CALL, b"{}", 400),
        ("POST", "/api/tools/", b"{}", 400),
        ("POST", "/api/tools/unknownTool", b"{}", 404),
        ("GET", CALL, None, 405),
        ("POST", CALL, b'{"plantumlCode":"' + b"A" * 51_201 + b'"}', 413),
        ("POST", CALL, b" " * (BODY_CAP_BYTES + 1), 413),
        ("POST", CALL, b"{", 500),
        ("POST", CALL, b'{"plantumlCode":"\xff"}', 500),
        ("OPTIONS", CALL, None, 200),
    ],
    ids=["200", "400", "400 no name", "404", "405", "413 code", "413 body", "500", "500 bytes", "OPTIONS"],
)
def test_a_tool_sends_its_headers_on_every_answer(
    server: Server, method: str, path: str, body: bytes | None, status: int
) -> None:
    reply = server.ask(method, path, body)

    assert (reply.status, promised_headers(reply)) == (status, headers_allowing("POST, OPTIONS"))


@pytest.mark.spec("4.security.open-cors", "4.cors.origin")
@pytest.mark.parametrize("origin", ["https://elsewhere.example", "http://localhost:3000", "null"])
def test_a_page_of_any_origin_may_call(server: Server, origin: str) -> None:
    reply = server.post(CALL, {"plantumlCode": CODE}, {"origin": origin})

    assert (seen(reply), promised_headers(reply)) == ((200, success(CODE)), headers_allowing("POST, OPTIONS"))


@pytest.mark.spec("4.cors.preflight-discovery", "4.cors.preflight-invocation", "4.cors.preflight-body")
@pytest.mark.parametrize(
    ("path", "methods"),
    [
        (TOOLS, "GET, OPTIONS"),
        (CALL, "POST, OPTIONS"),
        ("/api/tools/unknownTool", "POST, OPTIONS"),
    ],
)
def test_a_preflight_is_answered_with_headers_and_an_empty_body(server: Server, path: str, methods: str) -> None:
    asked = {
        "origin": "https://elsewhere.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type",
    }

    replies = [server.ask("OPTIONS", path, headers=asked), server.ask("OPTIONS", path, b"{not json")]

    found = [(reply.status, reply.body, promised_headers(reply)) for reply in replies]
    assert found == [(200, b"", headers_allowing(methods))] * 2


# The legacy endpoint, flat


@pytest.mark.spec("4.legacy.success", "4.deployment.legacy")
@pytest.mark.parametrize("path", [LEGACY, "/mcp/encode-plantuml"])
@pytest.mark.parametrize("name", ["G1", "G2", "G3", "G6"])
def test_the_legacy_endpoint_answers_flat(server: Server, path: str, name: str) -> None:
    text = VECTORS[name].text

    reply = call(server, text, path)

    assert seen(reply) == (200, {"status": "success", **success(text)["result"]})
    assert promised_headers(reply) == headers_allowing("POST, OPTIONS")


@pytest.mark.spec("4.legacy.errors")
@pytest.mark.parametrize("path", [LEGACY, "/mcp/encode-plantuml"])
@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"{}", EMPTY_CODE),
        (b"[]", EMPTY_CODE),
        (b'"str"', EMPTY_CODE),
        (b"123", EMPTY_CODE),
        (b'{"plantumlCode":" \\n"}', EMPTY_CODE),
        (b'{"plantumlCode":5}', EMPTY_CODE),
        (b'{"plantumlCode":"' + b"A" * 51_201 + b'"}', CODE_TOO_LARGE),
        (b" " * (BODY_CAP_BYTES + 1), CODE_TOO_LARGE),
        (b'{"plantumlCode":"\xff"}', ENCODING_FAILED),
        (b'{"plantumlCode":"\\ud800"}', ENCODING_FAILED),
        (b"{not json", ENCODING_FAILED),
        (b"null", ENCODING_FAILED),
        (b"", ENCODING_FAILED),
        (None, ENCODING_FAILED),
    ],
    ids=[
        "no code",
        "list",
        "string",
        "number",
        "blank",
        "wrong type",
        "too large",
        "body too large",
        "bytes",
        "surrogate",
        "malformed",
        "null",
        "empty",
        "absent",
    ],
)
def test_the_legacy_endpoint_refuses_flat(
    server: Server, path: str, body: bytes | None, told: tuple[int, str, str]
) -> None:
    reply = server.ask("POST", path, body)

    assert seen(reply) == flat_refusal(told)
    assert promised_headers(reply) == headers_allowing("POST, OPTIONS")


@pytest.mark.spec("4.legacy.method")
@pytest.mark.parametrize("path", [LEGACY, "/mcp/encode-plantuml"])
@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
def test_the_legacy_endpoint_takes_post_only(server: Server, method: str, path: str) -> None:
    reply = server.ask(method, path)

    assert seen(reply) == flat_refusal(ONLY_POST)
    assert promised_headers(reply) == headers_allowing("POST, OPTIONS")


@pytest.mark.spec("4.legacy.method")
@pytest.mark.parametrize(("method", "status"), [("OPTIONS", 200), ("HEAD", 405)])
def test_the_legacy_endpoint_answers_preflight_and_head_without_a_body(
    server: Server, method: str, status: int
) -> None:
    reply = server.ask(method, LEGACY)

    assert (reply.status, reply.body, promised_headers(reply)) == (status, b"", headers_allowing("POST, OPTIONS"))


# Arbitrary bytes

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text() | st.just("plantumlCode"), inner, max_size=4),
    max_leaves=12,
)
BODIES = st.one_of(
    st.binary(max_size=2_000),
    JSON_VALUES.map(lambda value: json.dumps(value).encode()),
    st.dictionaries(st.just("plantumlCode"), JSON_VALUES, min_size=1).map(lambda value: json.dumps(value).encode()),
    st.binary(max_size=200).map(lambda middle: b'{"plantumlCode":"' + middle + b'"}'),
)


def by_the_book(body: bytes) -> tuple[int, dict[str, Any]]:
    """Say what a body must be answered, by the standard library's JSON and the order of the rules."""
    try:
        value = json.loads(body.decode("utf-8") or "{}", parse_constant=int)
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeError:
        return refusal(ENCODING_FAILED)
    except ValueError:
        return refusal(INTERNAL_ERROR)
    code = value.get("plantumlCode") if isinstance(value, dict) else None
    if not isinstance(code, str) or code.strip(JS_BLANKS) == "":
        return refusal(EMPTY_CODE)
    return refusal(CODE_TOO_LARGE) if len(code.encode()) > LIMIT_BYTES else (200, success(code))


@pytest.mark.spec(
    "4.invariants.parseable",
    "4.invariants.success-exclusive",
    "4.invariants.error-exclusive",
    "4.invariants.error-codes",
)
@settings(max_examples=200)
@given(body=BODIES)
@example(body=b'{"plantumlCode":"\\u0000"}')
@example(body=b'{"plantumlCode":"\\ud83c\\udf0d"}')
def test_any_bytes_get_their_json_answer_and_the_next_request_is_served(server: Server, body: bytes) -> None:
    reply = server.ask("POST", CALL, body)
    following = call(server, CODE)

    assert seen(reply) == by_the_book(body)
    assert seen(following) == (200, success(CODE))


@pytest.mark.spec("4.legacy.errors", "4.invariants.parseable")
@settings(max_examples=50)
@given(body=BODIES)
def test_any_bytes_get_a_flat_json_answer_from_the_legacy_endpoint(server: Server, body: bytes) -> None:
    reply = server.ask("POST", LEGACY, body)

    status, answer = seen(reply)
    if status == 200:
        assert answer == {"status": "success", **success(text_of(answer["encoded"]))["result"]}
    else:
        assert (status, answer) in [flat_refusal(told) for told in (EMPTY_CODE, CODE_TOO_LARGE, ENCODING_FAILED)]


@pytest.mark.spec("4.invariants.parseable")
@settings(max_examples=60)
@given(name=st.text("abcXYZ019._-~%!$&'()*+,;=:@", min_size=1, max_size=80))
def test_any_tool_name_gets_a_json_answer(server: Server, name: str) -> None:
    reply = call(server, CODE, f"{TOOLS}/{name}")

    assert seen(reply) == refusal((404, "TOOL_NOT_FOUND", f"Tool '{name}' not found"))


# --- members that no rule looks at ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b'{"plantumlCode":"A","note":"\\ud83d"}', 200, ""),
        (b'{"plantumlCode":"A","\\udc00":1}', 200, ""),
        (b'{"plantumlCode":"A","note":"\xff"}', 200, ""),
        (b'{"plantumlCode":"A","n":1e400}', 200, ""),
        (b'{"plantumlCode":"A","deep":{"n":[-1e999]}}', 200, ""),
        (b'{"note":"\\ud83d"}', 400, "EMPTY_CODE"),
        (b'{"n":1e400}', 400, "EMPTY_CODE"),
        (b'"\\ud83d"', 400, "EMPTY_CODE"),
        (b'{"plantumlCode":" ","note":"\\ud83d"}', 400, "EMPTY_CODE"),
        (b'{"plantumlCode":"' + b"A" * 51_200 + b'\\ud800"}', 413, "CODE_TOO_LARGE"),
        (b'{"plantumlCode":"' + b"A" * 51_197 + b'\\ud800"}', 500, "ENCODING_FAILED"),
        (b'{"plantumlCode":"\\ud83d\\ude00\\\\ud800","note":"\\ud83d"}', 200, ""),
        (b'{"plantumlCode":1e400}', 400, "EMPTY_CODE"),
        (b'{"plantumlCode":[-1e999]}', 400, "EMPTY_CODE"),
        (b'{"plantumlCode":1e400,"note":"\xff"}', 400, "EMPTY_CODE"),
        (b'{"plantumlCode":1e400', 500, "INTERNAL_ERROR"),
        (b'{"plantumlCode":"A","note":"\\ud83d"', 500, "INTERNAL_ERROR"),
    ],
)
def test_members_that_no_rule_looks_at_may_hold_anything(server: Server, body: bytes, status: int, code: str) -> None:
    """Spec 4 has rules for plantumlCode alone, and UTF-8 is the last of them: half a surrogate pair counts 3 bytes."""
    reply = server.ask("POST", CALL, body, {"content-type": "application/json"})

    assert (reply.status, reply.json().get("error", {}).get("code", "")) == (status, code)


def test_the_code_beside_a_member_that_is_not_unicode_is_read_exactly(server: Server) -> None:
    body = b'{"plantumlCode":"\\ud83d\\ude00\\\\ud800","note":"\\ud83d"}'

    reply = server.ask("POST", CALL, body, {"content-type": "application/json"})

    assert reply.json() == success("\U0001f600\\ud800")


@pytest.mark.parametrize("name", ["mcp.tool:x", "mcp.tool:plantuml.encode", "plantuml.encode"])
def test_an_unknown_tool_is_named_as_it_was_given(server: Server, name: str) -> None:
    reply = server.post(f"/api/tools/{name}", {"plantumlCode": "A"})

    error = {"code": "TOOL_NOT_FOUND", "message": f"Tool '{name}' not found"}
    assert (reply.status, reply.json()) == (404, {"success": False, "error": error})


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH"])
def test_the_list_with_a_slash_states_the_same_method_as_without(server: Server, method: str) -> None:
    with_slash, without = (server.ask(method, path) for path in ("/api/tools/", "/api/tools"))

    assert (with_slash.status, with_slash.json()) == (without.status, without.json())
    assert with_slash.json()["error"]["message"] == "Only GET method is allowed"
