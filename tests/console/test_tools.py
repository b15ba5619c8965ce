"""The tools' twins: the catalogue, a contract in words, examples that work, and texts that call the tool."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from processes import PATIENCE_S, Server, clean_env, serving
from signet.console.contract_fields import contract_field
from signet.console.python_literal import python_literal

from .call_house import drawing

TOKEN = "a-token-of-this-test"
VOLATILE = {"get_daily_challenge"}
"""The tools whose answer depends on the day."""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server of all toolsets on sample data, with a PlantUML server that draws at once."""
    with drawing() as url, serving("--sandbox", "--plantuml-server", url, "--no-journal") as running:
        yield running


@pytest.fixture(scope="module")
def secured() -> Iterator[Server]:
    with serving("--sandbox", "--toolsets", "plantuml,oj", env={"SIGNET_TOKEN": TOKEN}) as running:
        yield running


def page_of(server: Server, name: str, **headers: str) -> Any:
    reply = server.ask("GET", f"/-/tools/{name}", headers=headers)
    assert reply.status == 200, reply.body
    return reply.json()


def assert_described(server: Server, path: str, value: Any, method: str = "get") -> None:
    """Assert that an answer is what `/openapi.json` says of its path."""
    described = server.ask("GET", "/openapi.json").json()
    content = described["paths"][path][method]["responses"]["200"]["content"]["application/json"]
    jsonschema.validate(value, {**content["schema"], "components": described["components"]})


def names(server: Server) -> list[str]:
    return [tool["name"] for toolset in server.ask("GET", "/-/tools").json()["toolsets"] for tool in toolset["tools"]]


def test_the_catalogue_has_every_listed_tool_under_its_toolset(server: Server) -> None:
    found = server.ask("GET", "/-/tools").json()

    listed = server.post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).json()["result"]["tools"]
    assert names(server) == [tool["name"] for tool in listed]
    by_name = {tool["name"]: tool for toolset in found["toolsets"] for tool in toolset["tools"]}
    for tool in listed:
        assert by_name[tool["name"]]["description"] == tool["description"]
        assert by_name[tool["name"]]["annotations"].items() <= tool["annotations"].items()
    assert [toolset["title"] for toolset in found["toolsets"]][:2] == [
        "PlantUML",
        "PlantUML diagrams: check, draw, decode",
    ]
    assert_described(server, "/-/tools", found)


def test_a_tool_has_the_published_schemas_and_its_contract_in_words(server: Server) -> None:
    listed = server.post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).json()["result"]["tools"]
    for tool in listed:
        page = page_of(server, tool["name"])
        assert page["inputSchema"] == tool["inputSchema"]
        assert [field["name"] for field in page["input"]["fields"]] == list(tool["inputSchema"].get("properties", {}))
        assert_described(server, "/-/tools/{name}", page)

    fields = {field["name"]: field for field in page_of(server, "find_similar_problems")["input"]["fields"]}
    limit, query = fields["limit"], fields["query"]
    assert (limit["type"], limit["rules"], limit["default"]) == ("whole number", ["from 1 to 50"], 10)
    assert (limit["required"], limit["nullable"]) == (False, True)
    assert "3 to 2000 characters" in query["rules"]
    layers = {field["name"]: field for field in page_of(server, "boj_get_data_layer")["input"]["fields"]}
    assert layers["layers"]["type"] == "list of texts"
    assert {"value": "FY", "meaning": "fiscal years"} in layers["frequency"]["choices"]


def test_an_unknown_tool_is_not_found_and_what_is_no_object_is_refused(server: Server) -> None:
    assert server.ask("GET", "/-/tools/nothing").status == 404
    assert server.post("/-/tools/nothing", {"arguments": {}}).status == 404
    assert server.post("/-/tools/get_problem", {"arguments": [1]}).status == 400


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"inner": value, "more": [1]}
    return value


LARGE = {
    "many bytes": {"a": "x" * 4_100},
    "many values": {"a": list(range(5_000))},
    "deep": {"a": nested(21)},
    "deep and long": {"a": nested(300)},
    "very deep": {"a": nested(600)},
}


@pytest.mark.parametrize("arguments", LARGE.values(), ids=LARGE)
def test_texts_are_written_for_small_arguments_alone(server: Server, arguments: Any) -> None:
    reply = server.post("/-/tools/get_problem", {"arguments": arguments})

    assert reply.status == 400, reply.body[:300]
    assert reply.json()["error"]["code"] == "INVALID_INPUT"
    assert "at most 4096 bytes of JSON and 20 levels" in reply.json()["error"]["message"]
    assert len(reply.body) < 1_000


def test_texts_grow_with_the_arguments_and_no_faster(server: Server) -> None:
    deep = nested(18)
    ways = server.post("/-/tools/get_problem", {"arguments": {"a": deep}}).json()["ways"]

    assert max(len(way["text"]) for way in ways) < 20 * len(json.dumps(deep))


LITERALS = [
    {},
    [],
    {"a": [], "b": {}, "c": None, "d": True, "e": 1.5e300, "f": -7},
    {"long": ["word"] * 40, "more": {"x" * 60: {"y" * 60: ["z" * 90, None, False]}}},
    {"text": "a line that is long enough\n" * 9 + "no end of line", "odd": "\r\x00\u2028'\"\\" * 30},
    nested(19),
]


@pytest.mark.parametrize("value", LITERALS)
def test_python_reads_the_value_that_was_written(value: Any) -> None:
    assert ast.literal_eval(python_literal(value)) == value


def test_a_refusal_repeats_little_of_what_was_sent(server: Server) -> None:
    long = "y" * 500_000
    replies = [
        server.post("/-/tools/get_problem", {"arguments": {}, long: 1}),
        server.ask("GET", f"/-/tools/{long[:6_000]}"),
        server.post("/-/call", {"tool": long}),
        server.post("/-/doors", {"tool": long}),
        server.ask("GET", f"/-/{long[:6_000]}"),
    ]

    for reply in replies:
        assert b"y" * 150 in reply.body
        assert b"y" * 250 not in reply.body


def test_examples_keep_the_contract_and_the_first_one_works(server: Server) -> None:
    for name in names(server):
        page = page_of(server, name)
        assert page["examples"], name
        for example in page["examples"]:
            jsonschema.validate(example["arguments"], page["inputSchema"])
        assert server.post(f"/api/tools/{name}", page["examples"][0]["arguments"]).status == 200, name


def test_a_contract_that_contains_itself_is_followed_once() -> None:
    node = {"type": "object", "properties": {"name": {"type": "string"}, "inner": {"$ref": "#/$defs/Node"}}}

    field = contract_field({"$ref": "#/$defs/Node", "$defs": {"Node": node}})

    assert [one.name for one in field.fields] == ["name", "inner"]
    assert field.fields[1].type == "as Node above"


RULES = [
    ({"type": "integer", "minimum": 1}, "whole number", ["at least 1"]),
    ({"type": "number", "exclusiveMinimum": 0, "maximum": 2, "multipleOf": 0.5}, "number",
     ["at most 2", "more than 0", "a multiple of 0.5"]),
    ({"type": "string", "minLength": 3, "maxLength": 3}, "text", ["exactly 3 characters"]),
    ({"type": "array", "items": {"type": "integer", "maximum": 9}, "maxItems": 1, "uniqueItems": True},
     "list of whole numbers", ["at most 1 item", "no two items are equal", "each item at most 9"]),
    ({"type": ["string", "integer"]}, "text or whole number", []),
    ({}, "anything", []),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "words", "rules"), RULES)
def test_rules_are_told_in_words(schema: dict[str, Any], words: str, rules: list[str]) -> None:
    field = contract_field(schema)

    assert (field.type, field.rules) == (words, rules)


def test_choices_have_the_meanings_that_the_contract_tells() -> None:
    told = contract_field({"oneOf": [{"const": 1, "title": "one"}, {"const": 2, "description": "two"}]})
    listed = contract_field({"enum": ["a", "b"], "description": "Which: a apple, b berry"})
    silent = contract_field({"enum": ["sum", "end"], "description": "The last, or their sum (average)"})

    assert [(one.value, one.meaning) for one in told.choices] == [(1, "one"), (2, "two")]
    assert [(one.value, one.meaning) for one in listed.choices] == [("a", "apple"), ("b", "berry")]
    assert [one.meaning for one in silent.choices] == ["", ""]


RUNNER = """
import contextlib, io, json, sys
for text in json.load(sys.stdin):
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(text, "text", "exec"), {"__name__": "__main__"})
    print(json.dumps(printed.getvalue()), flush=True)
"""
"""Runs Python texts one after the other: to import the SDK takes longer than all of them."""


def printed_by(ways: list[Any]) -> list[str]:
    """Run texts as a person who copies them, and return what each prints."""
    env = {name: value for name, value in clean_env({"SIGNET_TOKEN": TOKEN}).items() if name != "SSL_CERT_FILE"}
    texts = [way["text"] for way in ways if way["language"] == "python"]
    python = _run([sys.executable, "-c", RUNNER], env, json.dumps(texts)).splitlines()
    lines = map(json.loads, python)
    return [next(lines) if way["language"] == "python" else _run(["sh", "-c", way["text"]], env) for way in ways]


def _run(command: list[str], env: dict[str, str], given: str = "") -> str:
    done = subprocess.run(
        command, input=given, capture_output=True, text=True, timeout=PATIENCE_S, env=env, check=False
    )
    assert done.returncode == 0, (command, done.stderr)
    return done.stdout


MCP = {"mcp", "python-sdk"}
"""The texts that print a result of MCP; the others print the tool's own."""


def results_of(ways: list[Any]) -> list[Any]:
    """Run texts, and return the result in what each prints."""
    return [_result(way, printed) for way, printed in zip(ways, printed_by(ways), strict=True)]


def _result(way: Any, printed: str) -> Any:
    found = json.loads(printed)
    result = found["result"] if way["language"] == "sh" else found
    return _blocks(result) if way["name"] in MCP else result


def _blocks(result: Any) -> Any:
    return {name: result[name] for name in ("content", "structuredContent") if name in result}


def expected_of(server: Server, name: str, arguments: Any, **headers: str) -> dict[bool, Any]:
    """Return the result of a call over REST, and the same of MCP."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    mcp = server.post("/mcp", call, headers).json()["result"]
    own = server.post(f"/api/tools/{name}", arguments, headers).json()["result"]
    return {False: own, True: _blocks(mcp)}


def test_every_text_calls_the_tool_as_it_is(server: Server) -> None:
    pages = [page_of(server, name) for name in names(server) if name not in VOLATILE]
    ways = [way for page in pages for way in page["ways"]]
    results = iter(results_of(ways))

    assert {way["name"] for way in ways} == {"rest", "mcp", "envelope", "python-sdk", "python"}
    for page in pages:
        expected = expected_of(server, page["name"], page["examples"][0]["arguments"])
        for way in page["ways"]:
            shown = without_times(next(results))
            assert shown == without_times(expected[way["name"] in MCP]), (page["name"], way["name"])


def without_times(value: Any) -> str:
    """Return a result as text, without the moments at which it was made."""
    return re.sub(r"\d{4}-\d\d-\d\d([T ][\d:.]+)?(Z|[+]\d\d:\d\d)?", "", json.dumps(value, sort_keys=True))


HARD = "it's \"$HOME\" `id` \\n\n\t$(id) 100% ☃ \u2028 '\\''"


def test_arguments_of_any_characters_reach_the_tool_through_every_text(secured: Server) -> None:
    arguments = {"plantumlCode": HARD}
    headers = {"Authorization": f"Bearer {TOKEN}"}
    told = secured.post("/-/tools/encodePlantUML", {"arguments": arguments}, headers).json()
    expected = expected_of(secured, "encodePlantUML", arguments, **headers)

    assert results_of(told["ways"]) == [expected[way["name"] in MCP] for way in told["ways"]]
    assert all(TOKEN not in way["text"] for way in told["ways"])


def test_the_texts_name_the_server_as_the_visitor_does(server: Server) -> None:
    page = page_of(server, "get_problem", Host=f"localhost:{server.port}")

    assert page["url"] == f"http://localhost:{server.port}"
    assert all(f"http://localhost:{server.port}/" in way["text"] for way in page["ways"])


def test_the_texts_name_the_public_url_where_there_is_one() -> None:
    with serving("--sandbox", "--toolsets", "plantuml", "--public-url", "https://tools.example/signet") as running:
        page = page_of(running, "encodePlantUML")

    assert page["url"] == "https://tools.example/signet"
    assert "https://tools.example/signet/api/tools/encodePlantUML" in page["ways"][0]["text"]
