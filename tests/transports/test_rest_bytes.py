"""The REST door as bytes: requests written by hand on one kept connection, to a server with an empty environment.

No HTTP library reads or writes here, members are compared in their order, and a byte too many of one answer
would spoil the next.
"""

from __future__ import annotations

import contextlib
import json
import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from diagram_harness import SECRET, Canary
from plantuml_vectors import VECTORS, fifty_kilobytes, string_of, text_of
from processes import SIGNET, Server, serving_command

CALL = "/api/tools/encodePlantUML"
LINK = re.compile(r"https://www\.plantuml\.com/plantuml/svg/([0-9A-Za-z\-_]+)")
BLANKS = b" " * 51_201

EMPTY = (400, "EMPTY_CODE", "plantumlCode is required and cannot be empty")
TOO_LARGE = (413, "CODE_TOO_LARGE", "PlantUML code exceeds maximum size of 50KB")
NOT_JSON = (500, "INTERNAL_ERROR", "Internal server error")
NO_NAME = (400, "TOOL_NAME_REQUIRED", "Tool name is required in the path")
ONLY_GET = (405, "METHOD_NOT_ALLOWED", "Only GET method is allowed")
ONLY_POST = (405, "METHOD_NOT_ALLOWED", "Only POST method is allowed")

LISTED = [
    ("id", "encodePlantUML"),
    ("name", "encodePlantUML"),
    ("description", "Encodes PlantUML diagram code into a shareable URL for viewing on plantuml.com"),
    ("inputSchema", [
        ("type", "object"),
        ("properties", [("plantumlCode", [
            ("type", "string"),
            ("description", "Valid PlantUML diagram code (must start with @startuml and end with @enduml)"),
        ])]),
        ("required", ["plantumlCode"]),
    ]),
]  # fmt: skip
"""The tool as discovery prints it, each object as the list of its members."""


@dataclass
class Answer:
    """One answer: the status, the header lines with names in lower case, the body."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def members(self) -> Any:
        """Return the body's JSON, each object as the list of its members."""
        return json.loads(self.body, object_pairs_hook=list)

    def promised(self) -> list[tuple[str, str]]:
        """Return the headers of which spec 4 speaks, in alphabetical order."""
        return sorted(one for one in self.headers if one[0] == "content-type" or one[0].startswith("access-control-"))


@dataclass
class Wire:
    """One connection that is kept."""

    client: socket.socket
    _rest: bytes = field(default=b"", repr=False)

    def say(self, method: str, path: str, body: bytes | None = None, *lines: str) -> Answer:
        """Write one request, with a length only if it has a body, and read its answer."""
        length = [] if body is None else [f"Content-Length: {len(body)}"]
        head = "\r\n".join([f"{method} {path} HTTP/1.1", "Host: localhost", *lines, *length, "", ""])
        self.client.sendall(head.encode() + (body or b""))
        return self.hear(has_body=method != "HEAD")

    def hear(self, *, has_body: bool = True) -> Answer:
        while b"\r\n\r\n" not in self._rest:
            self._receive()
        head, _, self._rest = self._rest.partition(b"\r\n\r\n")
        first, *lines = head.decode("ascii").split("\r\n")
        version, status, _ = first.split(" ", 2)
        assert version == "HTTP/1.1"
        headers = [(name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]
        size = int(dict(headers).get("content-length", 0)) if has_body else 0
        while len(self._rest) < size:
            self._receive()
        body, self._rest = self._rest[:size], self._rest[size:]
        return Answer(int(status), headers, body)

    def _receive(self) -> None:
        data = self.client.recv(1 << 16)
        assert data, "the connection was closed"
        self._rest += data


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving_command("env", "-i", SIGNET, "serve", "--port", "0", "--toolsets", "plantuml") as running:
        yield running


@pytest.fixture(scope="module")
def wire(server: Server) -> Iterator[Wire]:
    with contextlib.closing(server.connect()) as client:
        yield Wire(client)


def code(text: str) -> bytes:
    return json.dumps({"plantumlCode": text}).encode()


def refusal(told: tuple[int, str, str]) -> tuple[int, list[Any]]:
    status, name, message = told
    return status, [("success", False), ("error", [("code", name), ("message", message)])]


def link_of(answer: Answer) -> str:
    """Return the encoded string of a success, whose members are those of spec 4 in their order."""
    (_, success), (_, result) = answer.members()
    assert (answer.status, success, [name for name, _ in result]) == (200, True, ["url", "encoded", "format"])
    found = LINK.fullmatch(result[0][1])
    assert found is not None
    assert result[1:] == [("encoded", found[1]), ("format", "svg")]
    return found[1]


def open_to_all(methods: str) -> list[tuple[str, str]]:
    return [
        ("access-control-allow-headers", "Content-Type"),
        ("access-control-allow-methods", methods),
        ("access-control-allow-origin", "*"),
        ("content-type", "application/json"),
    ]


# Discovery, and a call that follows from it alone


@pytest.mark.spec(
    "4.base-url", "4.models.tool", "4.models.tools-response", "4.invariants.schema-completeness",
    "4.deployment.environment",
)  # fmt: skip
def test_discovery_is_one_list_of_tools_with_the_members_that_are_printed(wire: Wire) -> None:
    answer = wire.say("GET", "/api/tools", None, "Accept: application/json")

    assert (answer.status, answer.members()) == (200, [("tools", [LISTED])])
    assert answer.promised() == open_to_all("GET, OPTIONS")


@pytest.mark.spec("4.context.discover-then-invoke", "4.invocation.path", "4.models.request")
def test_a_client_that_knows_nothing_but_discovery_can_call(wire: Wire) -> None:
    tool = json.loads(wire.say("GET", "/api/tools").body)["tools"][0]
    (required,) = tool["inputSchema"]["required"]

    answer = wire.say("POST", f"/api/tools/{tool['name']}", json.dumps({required: "A -> B"}).encode())

    assert text_of(link_of(answer)) == "A -> B"


@pytest.mark.spec("4.discovery.method-not-allowed", "4.paths.post-discovery")
@pytest.mark.parametrize(("method", "body"), [("POST", code("A")), ("POST", b"{"), ("PUT", None), ("DELETE", None)])
def test_discovery_names_the_one_method_that_it_takes(wire: Wire, method: str, body: bytes | None) -> None:
    answer = wire.say(method, "/api/tools", body)

    assert (answer.status, answer.members()) == refusal(ONLY_GET)


@pytest.mark.spec("4.discovery.head", "4.invocation.head")
@pytest.mark.parametrize(("path", "methods"), [("/api/tools", "GET, OPTIONS"), (CALL, "POST, OPTIONS")])
def test_no_byte_of_a_body_follows_the_refusal_of_head(wire: Wire, path: str, methods: str) -> None:
    refused = wire.say("HEAD", path)
    following = wire.say("POST", CALL, code("A"))

    assert (refused.status, refused.promised()) == (405, open_to_all(methods))
    assert text_of(link_of(following)) == "A"


@pytest.mark.spec("4.cors.preflight-discovery", "4.cors.preflight-body")
@pytest.mark.parametrize(
    ("path", "methods"),
    [("/api/tools", "GET, OPTIONS"), (CALL, "POST, OPTIONS"), ("/api/tools/ghost", "POST, OPTIONS")],
)
def test_a_preflight_has_the_headers_and_a_body_of_no_bytes(wire: Wire, path: str, methods: str) -> None:
    answer = wire.say("OPTIONS", path, None, "Origin: null", "Access-Control-Request-Method: POST")
    following = wire.say("POST", CALL, code("A"))

    assert (answer.status, answer.body, answer.promised()) == (200, b"", open_to_all(methods))
    assert text_of(link_of(following)) == "A"


# Calls that succeed


@pytest.mark.spec("4.validation.untrimmed", "4.validation.wrapper", "4.output.non-empty", "4.output.chars")
@pytest.mark.parametrize("text", ["\ufeff\r\n A -> B\t\u3000", "A", "@enduml", "+/=%&?#<>\"'\\ äöü 你好 🌍"])
def test_a_link_holds_the_very_text_in_url_safe_characters(wire: Wire, text: str) -> None:
    answer = wire.say("POST", CALL, code(text))

    assert text_of(link_of(answer)) == text


@pytest.mark.spec("4.encoding.deflate", "4.encoding.base64", "4.encoding.utf8", "4.encoding.mapping")
@pytest.mark.parametrize("text", [fifty_kilobytes(), VECTORS["G6"].text], ids=["50 KB", "beyond ASCII"])
def test_a_link_is_made_by_the_steps_of_the_algorithm(wire: Wire, text: str) -> None:
    answer = wire.say("POST", CALL, code(text))

    assert link_of(answer) == string_of(text)


@pytest.mark.spec("4.bodies.content-type", "4.paths.last-segment")
@pytest.mark.parametrize(
    ("path", "lines"),
    [
        (CALL, []),
        (CALL, ["Content-Type: application/xml"]),
        (CALL, ["Content-Type: image/png", "Content-Type: text/html"]),
        (CALL + "/", []),
        ("/api/tools/one/two//encodePlantUML", []),
        (CALL + "?name=ghost#tools", []),
    ],
)
def test_neither_the_content_type_nor_other_segments_count(wire: Wire, path: str, lines: list[str]) -> None:
    answer = wire.say("POST", path, code("A -> B"), *lines)

    assert text_of(link_of(answer)) == "A -> B"


@pytest.mark.spec("4.auth.none", "4.security.no-auth", "4.deployment.environment")
def test_credentials_change_nothing_and_nobody_is_asked_for_any(wire: Wire) -> None:
    ways = [[], ["Authorization: Bearer wrong"], ["Authorization: Basic Og=="], ["Cookie: session=1", "X-Api-Key: 1"]]

    answers = [wire.say("POST", CALL, code("A"), *lines) for lines in ways]

    assert {(answer.status, answer.body) for answer in answers} == {(200, answers[0].body)}
    asked = {name for answer in answers for name, _ in answer.headers} & {"www-authenticate", "set-cookie"}
    assert asked == set()


@pytest.mark.spec("4.security.no-rate-limit")
def test_five_hundred_calls_of_one_client_are_all_answered_and_none_is_told_of_a_limit(wire: Wire) -> None:
    answers = [wire.say("POST", CALL, code(f"A -> B{number}")) for number in range(500)]

    assert [text_of(link_of(answer)) for answer in answers] == [f"A -> B{number}" for number in range(500)]
    assert not [name for answer in answers for name, _ in answer.headers if name.startswith(("ratelimit", "retry"))]


@pytest.mark.spec("4.security.open-cors")
@pytest.mark.parametrize("origin", ["https://elsewhere.example", "null", "file://", "not an origin"])
def test_a_page_of_whatever_origin_is_answered_and_may_read_it(wire: Wire, origin: str) -> None:
    answer = wire.say("POST", CALL, code("A"), f"Origin: {origin}")

    assert text_of(link_of(answer)) == "A"
    assert answer.promised() == open_to_all("POST, OPTIONS")


@pytest.mark.spec("4.security.injection", "4.security.xss")
@pytest.mark.parametrize(
    "source",
    ["@startuml\n!include {file}\n!includeurl {url}/a\n@enduml", "<script src='{url}/b'></script> $(cat {file})"],
)
def test_what_a_text_names_is_neither_read_nor_fetched_nor_sent_back(wire: Wire, tmp_path: Path, source: str) -> None:
    with contextlib.closing(Canary(tmp_path)) as canary:
        text = canary.placed(source)
        answer = wire.say("POST", CALL, code(text))

        assert canary.visits == []
    assert text_of(link_of(answer)) == text
    assert not [word for word in (SECRET, "script", "include", str(tmp_path)) if word.encode() in answer.body]


@pytest.mark.spec("4.deployment.legacy", "4.legacy.success")
@pytest.mark.parametrize("path", ["/mcp/v1/encode-plantuml", "/mcp/encode-plantuml"])
def test_the_flat_answer_has_its_members_side_by_side(wire: Wire, path: str) -> None:
    answer = wire.say("POST", path, code("A -> B"))

    (status, url, encoded, form) = answer.members()
    assert (answer.status, status, form) == (200, ("status", "success"), ("format", "svg"))
    assert url == ("url", f"https://www.plantuml.com/plantuml/svg/{encoded[1]}")
    assert (encoded[0], text_of(encoded[1])) == ("encoded", "A -> B")


# Calls that are refused


@pytest.mark.parametrize(
    ("body", "told"),
    [
        pytest.param(b"{}", EMPTY, marks=pytest.mark.spec("4.validation.required", "4.invocation.empty")),
        pytest.param(b'{"plantumlCode":[]}', EMPTY, marks=pytest.mark.spec("4.validation.type")),
        pytest.param(b'{"plantumlCode":""}', EMPTY, marks=pytest.mark.spec("4.errors.empty-code", "4.models.error")),
        pytest.param(b'{"plantumlCode":null}', EMPTY, marks=pytest.mark.spec("4.errors.empty-code")),
        pytest.param(b'{"plantumlCode":"\\t\\u00a0"}', EMPTY, marks=pytest.mark.spec("4.errors.empty-code")),
        pytest.param(b'"A"', EMPTY, marks=pytest.mark.spec("4.bodies.non-object")),
        pytest.param(b"null", EMPTY, marks=pytest.mark.spec("4.bodies.non-object")),
        pytest.param(b"", EMPTY, marks=pytest.mark.spec("4.bodies.empty")),
        pytest.param(None, EMPTY, marks=pytest.mark.spec("4.bodies.empty")),
        pytest.param(
            b'{"plantumlCode":"' + BLANKS + b'"}', EMPTY, marks=pytest.mark.spec("4.order.empty-before-size")
        ),
        pytest.param(
            b'{"plantumlCode":"A' + BLANKS[1:] + b'"}', TOO_LARGE, marks=pytest.mark.spec("4.invocation.too-large")
        ),
        pytest.param(b"{", NOT_JSON, marks=pytest.mark.spec("4.bodies.malformed", "4.errors.internal-error")),
        pytest.param(b"\xef\xbb\xbf{}", NOT_JSON, marks=pytest.mark.spec("4.bodies.strict-json")),
        pytest.param(b'{"a":Infinity}', NOT_JSON, marks=pytest.mark.spec("4.bodies.strict-json")),
        pytest.param("{}".encode("utf-16-be"), NOT_JSON, marks=pytest.mark.spec("4.bodies.strict-json")),
        pytest.param(b"[" * 10_000 + b"]" * 10_000, NOT_JSON, marks=pytest.mark.spec("4.bodies.deep")),
    ],
    ids=[
        "no code", "a list", "empty", "null", "blank", "a string as body", "null as body", "length 0", "no length",
        "blanks over the limit", "over the limit", "cut off", "byte order mark", "Infinity", "UTF-16", "deep",
    ],
)  # fmt: skip
def test_a_body_is_refused_with_the_members_that_are_printed(
    wire: Wire, body: bytes | None, told: tuple[int, str, str]
) -> None:
    answer = wire.say("POST", CALL, body)

    assert (answer.status, answer.members()) == refusal(told)
    assert answer.promised() == open_to_all("POST, OPTIONS")


@pytest.mark.parametrize(
    ("method", "path", "body", "told"),
    [
        pytest.param("PUT", "/api/tools/ghost", b"{", ONLY_POST, marks=pytest.mark.spec("4.order.method-first")),
        pytest.param("GET", CALL, None, ONLY_POST, marks=pytest.mark.spec("4.invocation.method-not-allowed")),
        pytest.param("POST", "/api/tools/ghost", b"{", NOT_JSON, marks=pytest.mark.spec("4.order.body-before-name")),
        pytest.param("POST", "/api/tools/tools", b"{", NOT_JSON, marks=pytest.mark.spec("4.order.body-before-name")),
        pytest.param("POST", "/api/tools/", code("A"), NO_NAME, marks=pytest.mark.spec("4.paths.no-name")),
        pytest.param("POST", "/api/tools/a/tools", code("A"), NO_NAME, marks=pytest.mark.spec("4.paths.no-name")),
        pytest.param(
            "POST", "/api/tools/EncodePlantUML", code("A"), (404, "TOOL_NOT_FOUND", "Tool 'EncodePlantUML' not found"),
            marks=pytest.mark.spec("4.paths.raw-name"),
        ),
        pytest.param(
            "POST", "/api/tools/%65ncodePlantUML", code("A"),
            (404, "TOOL_NOT_FOUND", "Tool '%65ncodePlantUML' not found"), marks=pytest.mark.spec("4.paths.raw-name"),
        ),
    ],
    ids=["method", "GET", "body of a ghost", "body of nobody", "no name", "the word tools", "case", "percent"],
)  # fmt: skip
def test_a_request_is_refused_for_the_first_rule_that_it_breaks(
    wire: Wire, method: str, path: str, body: bytes | None, told: tuple[int, str, str]
) -> None:
    answer = wire.say(method, path, body)

    assert (answer.status, answer.members()) == refusal(told)
    assert answer.promised() == open_to_all("POST, OPTIONS")


@pytest.mark.spec("4.versioning.reserved", "4.paths.unknown-route")
@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/api/v1/tools"), ("POST", "/api/v1/tools/encodePlantUML"), ("POST", "/api/tool")]
)
def test_a_reserved_or_unknown_path_is_a_json_error_too(wire: Wire, method: str, path: str) -> None:
    answer = wire.say(method, path, code("A"))

    (success, (_, error)) = answer.members()
    assert (answer.status, ("content-type", "application/json") in answer.headers) == (404, True)
    assert (success, error[0], [name for name, _ in error]) == (
        ("success", False), ("code", "NOT_FOUND"), ["code", "message"],
    )  # fmt: skip
