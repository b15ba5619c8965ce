"""MCP's shapes: the keys that a modern request must carry, lists of tools, results of both eras."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

import misbehaving_server
from signet.kernel.errors import Code, Fault
from signet.kernel.outcome import Call, Outcome, Relayed
from signet.kernel.protocol import (
    CallParams,
    CancelParams,
    Identity,
    InitializeParams,
    Meta,
    check_meta,
    check_version,
    discover_result,
    eras,
    initialize_result,
    list_result,
    listing,
    progress_notification,
    to_reply,
)
from signet.kernel.tools import NULL_CONTEXT, Tool, Toolbox
from signet.kernel.wire import ProtocolError

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
SERVER_INFO = {"io.modelcontextprotocol/serverInfo": {"name": "small", "version": "1"}}
HANDSHAKE, MODERN = eras(Identity("small", "1"))


def made(**facts: Any) -> Tool:
    facts = {"name": "fine", "slug": "odd.fine", "title": "Fine", "description": "Does well", **facts}
    return Tool(args=dict, run=lambda *_: None, **facts)


def refusal(meta: dict[str, Any]) -> ProtocolError | None:
    read = msgspec.convert(meta, Meta)
    try:
        check_meta(read)
        check_version(read)
    except ProtocolError as refused:
        return refused
    return None


# --- params


def test_a_modern_request_with_both_keys_and_a_served_version_is_let_through() -> None:
    assert refusal({VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: {}}) is None


@pytest.mark.parametrize(
    ("meta", "named"),
    [
        ({}, [VERSION_KEY, CAPABILITIES_KEY]),
        ({VERSION_KEY: "2026-07-28"}, [CAPABILITIES_KEY]),
        ({CAPABILITIES_KEY: {}}, [VERSION_KEY]),
        ({VERSION_KEY: 1, CAPABILITIES_KEY: {}}, [VERSION_KEY]),
        ({VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: []}, [CAPABILITIES_KEY]),
        ({VERSION_KEY: None, CAPABILITIES_KEY: None}, [VERSION_KEY]),
    ],
)
def test_a_key_that_is_missing_or_misshapen_is_named(meta: dict[str, Any], named: list[str]) -> None:
    refused = refusal(meta)

    assert refused is not None
    assert refused.code == -32602
    assert all(key in str(refused) for key in named)


@pytest.mark.parametrize("version", ["2025-11-25", "1900-01-01", "", "x" * 500])
def test_a_version_that_is_not_served_is_refused_with_those_that_are(version: str) -> None:
    refused = refusal({VERSION_KEY: version, CAPABILITIES_KEY: {}})

    assert refused is not None
    assert (refused.code, refused.data) == (-32022, {"supported": ["2026-07-28"], "requested": version[:100]})


@pytest.mark.parametrize(
    ("params", "kind"),
    [
        ({}, CallParams),
        ({"name": 5}, CallParams),
        ({"name": "x", "arguments": []}, CallParams),
        ({"name": "x", "_meta": {"progressToken": True}}, CallParams),
        ({}, CancelParams),
        ({"requestId": None}, CancelParams),
        ({"capabilities": {}, "clientInfo": {}}, InitializeParams),
        ({"protocolVersion": "2025-03-26", "clientInfo": {}}, InitializeParams),
    ],
)
def test_params_of_another_shape_are_not_read(params: dict[str, Any], kind: type) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(json.dumps(params), type=kind)


def test_arguments_may_be_left_out_or_be_null() -> None:
    read = [msgspec.json.decode(text, type=CallParams) for text in (b'{"name":"x"}', b'{"name":"x","arguments":null}')]

    assert [params.arguments for params in read] == [None, None]


# --- the list


def test_a_listed_tool_has_its_contracts_and_its_title_among_its_annotations(tmp_path: Path) -> None:
    registry = misbehaving_server.build(str(tmp_path)).pipeline.registry

    [listed] = json.loads(listing(Toolbox((made(annotations={"readOnlyHint": False}),)), registry))

    assert listed == {
        "name": "fine",
        "title": "Fine",
        "description": "Does well",
        "inputSchema": misbehaving_server.INPUT,
        "annotations": {"title": "Fine", "readOnlyHint": False},
        "outputSchema": misbehaving_server.OUTPUT,
    }


def test_a_tool_that_answers_in_blocks_promises_no_structure(tmp_path: Path) -> None:
    registry = misbehaving_server.build(str(tmp_path)).pipeline.registry
    blocks = made(to_content=lambda _: [])

    [listed] = json.loads(listing(Toolbox((blocks,)), registry))

    assert "outputSchema" not in listed


@pytest.mark.parametrize("modern", [False, True], ids=["handshake", "modern"])
def test_a_list_says_how_long_it_may_be_kept_in_the_modern_era_alone(tmp_path: Path, modern: bool) -> None:
    registry = misbehaving_server.build(str(tmp_path)).pipeline.registry

    result = json.loads(list_result(Toolbox((made(),)), registry, MODERN if modern else HANDSHAKE))

    more = {"ttlMs": 3_600_000, "cacheScope": "public", "resultType": "complete", "_meta": SERVER_INFO}
    assert {name: value for name, value in result.items() if name != "tools"} == (more if modern else {})
    assert [tool["name"] for tool in result["tools"]] == ["fine"]


# --- the first exchange


@pytest.mark.parametrize(
    ("requested", "settled"),
    [("2024-11-05", "2024-11-05"), ("2025-11-25", "2025-11-25"), ("2026-07-28", "2025-11-25"), ("", "2025-11-25")],
)
def test_a_handshake_settles_on_the_version_requested_or_the_newest_of_its_era(requested: str, settled: str) -> None:
    assert json.loads(initialize_result(requested, Identity("small", "1"), "Be kind.")) == {
        "protocolVersion": settled,
        "capabilities": {"tools": {"listChanged": False}},
        "serverInfo": {"name": "small", "version": "1"},
        "instructions": "Be kind.",
    }


def test_discovery_names_the_modern_versions_and_how_long_they_may_be_kept() -> None:
    assert json.loads(discover_result("Be kind.", MODERN)) == {
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {"listChanged": False}},
        "instructions": "Be kind.",
        "ttlMs": 3_600_000,
        "cacheScope": "public",
        "resultType": "complete",
        "_meta": SERVER_INFO,
    }


# --- results


def shown(modern: bool, tool: Tool | None = None, **facts: Any) -> Any:
    """Return what MCP shows of an outcome, without its id."""
    outcome = Outcome(Call("fine", {}, NULL_CONTEXT), tool, **facts)
    reply = json.loads(to_reply(MODERN if modern else HANDSHAKE, True, 7, outcome).body)
    assert (reply.pop("jsonrpc"), reply.pop("id")) == ("2.0", 7)
    return reply


def test_a_result_is_structured_and_the_same_json_as_text() -> None:
    reply = shown(False, result={"n": 'é"'}, body='{"n":"é\\""}'.encode())

    assert reply == {
        "result": {
            "content": [{"type": "text", "text": '{"n":"é\\""}'}],
            "structuredContent": {"n": 'é"'},
            "isError": False,
        }
    }


def test_a_tool_that_makes_blocks_has_those_and_no_structure() -> None:
    block = {"type": "text", "text": "one"}
    tool = made(to_content=lambda result: [block] * result["n"])

    assert shown(False, tool, result={"n": 2}, body=b'{"n":2}') == {
        "result": {"content": [block, block], "isError": False}
    }


def test_a_modern_result_says_that_it_is_complete_and_whose_it_is() -> None:
    assert shown(True, result={}, body=b"{}") == {
        "result": {
            "content": [{"type": "text", "text": "{}"}],
            "structuredContent": {},
            "isError": False,
            "resultType": "complete",
            "_meta": SERVER_INFO,
        }
    }


@pytest.mark.parametrize(
    ("modern", "meta", "more"),
    [
        (False, {"canonical_code": "NOT_FOUND"}, {}),
        (True, {**SERVER_INFO, "canonical_code": "NOT_FOUND"}, {"resultType": "complete"}),
    ],
    ids=["handshake", "modern"],
)
def test_a_fault_that_a_model_can_act_on_is_a_result_with_its_code_in_meta(
    modern: bool, meta: dict[str, Any], more: dict[str, Any]
) -> None:
    reply = shown(modern, fault=Fault(Code.NOT_FOUND, "no such thing"))

    text = {"type": "text", "text": "no such thing"}
    assert reply == {"result": {"content": [text], "isError": True, "_meta": meta, **more}}


@pytest.mark.parametrize("modern", [False, True], ids=["handshake", "modern"])
def test_any_other_fault_is_an_error_with_its_code_and_its_data(modern: bool) -> None:
    fault = Fault(Code.INTERNAL_ERROR, "it broke", mcp_code=-32000, data={"why": "x"})

    error = {"code": -32000, "message": "it broke", "data": {"canonical_code": "INTERNAL_ERROR", "why": "x"}}
    assert shown(modern, fault=fault) == {"error": error}


@pytest.mark.parametrize(
    ("report", "more"),
    [((0.5, None, None), {}), ((1, 3.0, "a third"), {"total": 3.0, "message": "a third"})],
    ids=["bare", "whole"],
)
def test_a_report_of_progress_leaves_out_what_is_not_known(
    report: tuple[float, float | None, str | None], more: dict[str, Any]
) -> None:
    assert json.loads(progress_notification("t", *report)) == {
        "jsonrpc": "2.0",
        "method": "notifications/progress",
        "params": {"progressToken": "t", "progress": report[0], **more},
    }


# --- what a result says beside its content


@pytest.mark.parametrize(
    ("era", "about", "kind"), [(HANDSHAKE, {}, {}), (MODERN, SERVER_INFO, {"resultType": "complete"})]
)
def test_ignored_arguments_are_named_in_the_meta_of_a_result_and_of_an_error(
    era: Any, about: dict[str, Any], kind: dict[str, Any]
) -> None:
    tool, call = made(), Call("fine", {}, NULL_CONTEXT)
    named = {"ignored_arguments": ["a", "b"]}
    fault = Fault(Code.INVALID_INPUT, "no", data={"hint": "try yes"})

    good, bad = (
        json.loads(to_reply(era, True, 1, outcome).body)["result"]
        for outcome in (
            Outcome(call, tool, {"n": 1}, b'{"n":1}', ignored=("a", "b")),
            Outcome(call, tool, fault=fault, ignored=("a", "b")),
        )
    )

    text = {"type": "text", "text": '{"n":1}'}
    assert good == {
        "content": [text], "structuredContent": {"n": 1}, "isError": False, **kind, "_meta": {**about, **named}
    }  # fmt: skip
    assert bad == {
        "content": [{"type": "text", "text": "no"}],
        "isError": True,
        **kind,
        "_meta": {**about, "canonical_code": "INVALID_INPUT", "hint": "try yes", **named},
    }


def test_ignored_arguments_are_named_beside_content_blocks_too() -> None:
    tool = made(to_content=lambda result: [{"type": "text", "text": result["n"]}])

    reply = to_reply(HANDSHAKE, True, 1, Outcome(Call("fine", {}, NULL_CONTEXT), tool, {"n": "1"}, b"", ignored=("a",)))

    assert json.loads(reply.body)["result"] == {
        "content": [{"type": "text", "text": "1"}],
        "isError": False,
        "_meta": {"ignored_arguments": ["a"]},
    }


def test_an_error_of_the_protocol_has_the_data_of_its_fault_and_no_more() -> None:
    fault = Fault(Code.INTERNAL_ERROR, "broken", data={"error_type": "X"})

    reply = to_reply(HANDSHAKE, True, 1, Outcome(Call("fine", {}, NULL_CONTEXT), made(), fault=fault, ignored=("a",)))

    assert json.loads(reply.body)["error"] == {
        "code": -32603,
        "message": "broken",
        "data": {"canonical_code": "INTERNAL_ERROR", "error_type": "X"},
    }


@pytest.mark.parametrize(
    ("letters", "whole_text", "is_remarked", "texts"),
    [
        (5, False, False, ["json"]),
        (5, False, True, ["json", "a remark"]),
        (5, True, True, ["json"]),
        (65_529, False, False, ["a cut"]),
        (65_529, False, True, ["a cut"]),
        (65_529, True, True, ["json"]),
    ],
)
def test_the_text_of_a_result_is_its_json_with_a_remark_or_a_cut_unless_the_client_needs_the_whole(
    letters: int, whole_text: bool, is_remarked: bool, texts: list[str]
) -> None:
    result = {"x": "y" * letters}
    body = json.dumps(result, separators=(",", ":"))
    tool = made(summarize=lambda _: "a cut", remark=(lambda _: "a remark") if is_remarked else None)

    reply = to_reply(HANDSHAKE, whole_text, 1, Outcome(Call("fine", {}, NULL_CONTEXT), tool, result, body.encode()))

    told = json.loads(reply.body)["result"]
    assert told["structuredContent"] == result
    assert [block["text"] for block in told["content"]] == [body if text == "json" else text for text in texts]


# --- what a wrapped server replied


@pytest.mark.parametrize("era", [HANDSHAKE, MODERN])
def test_the_result_of_a_wrapped_server_is_sent_as_it_was_written_and_to_another_era_in_its_words(era: Any) -> None:
    written, told = b'{"content": [], "extra" : 1.0}', [b'{"era":"handshake"}', b'{"era":"modern"}']
    replies = [
        to_reply(era, True, 7, Outcome(Call("fine", {}, NULL_CONTEXT), made(), {}, b"{}", relayed=relayed))
        for relayed in (
            Relayed(written, modern=era.modern, in_era=lambda _, modern: told[modern]),
            Relayed(written, modern=not era.modern, in_era=lambda _, modern: told[modern]),
            Relayed(written, modern=not era.modern),
        )
    ]

    results = [written, told[era.modern], written]
    assert [one.body for one in replies] == [b'{"jsonrpc":"2.0","id":7,"result":%b}' % result for result in results]
    assert [one.code for one in replies] == [0, 0, 0]


@pytest.mark.parametrize(
    ("is_failure", "key", "code"), [(False, b"result", 0), (True, b"error", -32603)], ids=["result", "error"]
)
def test_an_error_of_a_wrapped_server_is_sent_as_the_kind_of_error_that_it_was(
    is_failure: bool, key: bytes, code: int
) -> None:
    written = b'{"code": -32050, "message": "gone"}'
    fault = Fault(Code.INTERNAL_ERROR, "gone")
    relayed = Relayed(written, modern=False, fault=fault, is_failure=is_failure)

    reply = to_reply(HANDSHAKE, True, 7, Outcome(Call("fine", {}, NULL_CONTEXT), made(), fault=fault, relayed=relayed))

    assert (reply.body, reply.code) == (b'{"jsonrpc":"2.0","id":7,"%b":%b}' % (key, written), code)
