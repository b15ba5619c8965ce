"""Cases of the relay matrix: greetings, lists, calls, resources, prompts, completion, errors, ids."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from wrap.callers import PREFIX
from wrap.relay_case import Link, Table
from wrap.scripted_server import BIG, PROMPTS, RESOURCES, TEMPLATES, TOOLS

table = Table()


def exact(raw: bytes) -> Any:
    """Read JSON so that two numbers are equal only if they are spelled alike."""
    return json.loads(raw, parse_float=str, parse_int=Decimal, object_pairs_hook=tuple)


def listed(link: Link, method: str, field: str, entries: list[str]) -> None:
    """Compare the entries that the script has from the start, byte by byte."""
    seen = link.caller.pages(method, field)
    assert seen[: len(entries)] == [entry.encode() for entry in entries]
    assert all(b'"grown' in entry for entry in seen[len(entries) :])


@table.case()
def greeting_names_the_server_and_all_it_can_do(link: Link) -> None:
    said = link.caller.greeting
    info = said["serverInfo"] if link.era == "handshake" else said["_meta"][f"{PREFIX}serverInfo"]
    assert info == {"name": "scripted", "version": "7"}
    assert said["instructions"] == "Follow the script."
    assert {"tools", "resources", "prompts", "completions", "logging"} <= set(said["capabilities"])
    assert said["capabilities"]["resources"]["subscribe"] is True
    assert said["capabilities"]["tools"]["listChanged"] is True


@table.case()
def tools_are_listed_byte_by_byte(link: Link) -> None:
    listed(link, "tools/list", "tools", TOOLS)


@table.case()
def resources_are_listed_byte_by_byte(link: Link) -> None:
    listed(link, "resources/list", "resources", RESOURCES)


@table.case()
def templates_are_listed_byte_by_byte(link: Link) -> None:
    listed(link, "resources/templates/list", "resourceTemplates", TEMPLATES)


@table.case()
def prompts_are_listed_byte_by_byte(link: Link) -> None:
    listed(link, "prompts/list", "prompts", PROMPTS)


@table.case()
def a_cursor_that_nobody_gave_is_refused(link: Link) -> None:
    assert link.caller.request("prompts/list", {"cursor": "nowhere"}).error["code"] == -32602
    assert link.caller.request("resources/list", {"cursor": "nowhere"}).error["code"] == -32602


@table.case(eras=("modern",))
def modern_results_say_their_type_and_how_long_they_last(link: Link) -> None:
    for method in ("tools/list", "resources/list", "prompts/list", "resources/templates/list"):
        result = link.caller.request(method).result
        assert result["resultType"] == "complete"
        assert isinstance(result["ttlMs"], int)
        assert result["cacheScope"] in {"public", "private"}
    called = link.caller.tool("bare").result
    assert called["resultType"] == "complete"


@table.case()
def structured_content_keeps_order_and_spelling(link: Link) -> None:
    answer = link.caller.tool("odd", {"label": link.label})
    assert answer.written("structuredContent") == b'{"b":1.50,"a":1E3,"n":12345678901234567890123}'


@table.case()
def unknown_content_is_kept(link: Link) -> None:
    answer = link.caller.tool("odd", {"label": link.label})
    assert exact(answer.written("content")) == exact(
        b'[{"text":"caf\\u00e9","type":"text"},{"type":"hologram","weight":1.50,"data":{"z":1,"a":null}}]'
    )


@table.case()
def unknown_fields_of_a_result_are_kept(link: Link) -> None:
    answer = link.caller.tool("odd", {"label": link.label})
    assert answer.written("vendorField") == b'{"kept":1.0}'


@table.case()
def the_meta_of_a_result_is_kept(link: Link) -> None:
    meta = link.caller.tool("odd", {"label": link.label}).result["_meta"]
    assert (meta["vendor/result"], meta["n"]) == ("v", 1.0)


@table.case()
def the_meta_of_a_request_reaches_the_server(link: Link) -> None:
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    link.caller.tool("bare", {"label": link.label}, _meta={"traceparent": trace, "vendor/x": [1, {"a": None}]})
    (seen,) = link.seen()
    assert seen["params"]["_meta"]["traceparent"] == trace
    assert seen["params"]["_meta"]["vendor/x"] == [1, {"a": None}]


@table.case()
def a_request_to_the_server_is_of_its_own_era(link: Link) -> None:
    link.caller.tool("bare", {"label": link.label})
    (seen,) = link.seen()
    ours = [key for key in seen["params"].get("_meta", {}) if key.startswith(PREFIX)]
    assert bool(ours) == (link.child_era == "modern")
    if ours:
        assert seen["params"]["_meta"][f"{PREFIX}protocolVersion"] == "2026-07-28"
        assert f"{PREFIX}clientCapabilities" in ours


@table.case()
def arguments_reach_the_server_as_they_are(link: Link) -> None:
    given = {
        "label": link.label, "n": 12345678901234567890123, "f": 0.1, "nothing": None,
        "deep": {"z": [[], {}], "a": "\u2028"}, "emoji": "\U0001f600", "empty": "",
    }  # fmt: skip
    assert link.caller.tool("echo", given).result["structuredContent"] == {"given": given}


@table.case()
def arguments_may_be_left_out(link: Link) -> None:
    assert link.caller.request("tools/call", {"name": "bare"}).result["content"] == []


@table.case()
def deep_arguments_are_carried(link: Link) -> None:
    deep: Any = 1
    for _ in range(60):
        deep = {"d": [deep]}
    assert (
        link.caller.tool("echo", {"label": link.label, "deep": deep}).result["structuredContent"]["given"]["deep"]
        == deep
    )


@table.case()
def a_name_with_dots_and_dashes_is_called(link: Link) -> None:
    assert link.caller.tool("we.ird-name_2").result["content"][0]["text"] == "weird"


@table.case()
def a_large_result_is_carried_whole(link: Link) -> None:
    assert link.caller.tool("big").result["content"][0]["text"] == "\u00e9\U0001f600x" * (BIG // 3)


@table.case()
def an_error_result_keeps_its_structured_content(link: Link) -> None:
    result = link.caller.tool("tool_error").result
    assert result["isError"] is True
    assert result["content"] == [{"type": "text", "text": "no"}]
    assert result["structuredContent"] == {"why": "because"}


@table.case()
def ids_of_both_types_come_back(link: Link) -> None:
    for key in (0, 7_000_000_001, 9007199254740991, "", "text \u00e9", "7000000001"):
        params = {"name": "bare", "arguments": {}}
        assert link.caller.request("tools/call", params, key=key).message["id"] == key


@table.case()
def a_number_and_its_text_are_two_ids(link: Link) -> None:
    pending = [
        link.caller.start("tools/call", {"name": "echo", "arguments": {"label": kind}}, key=key)
        for kind, key in (("number", 8_000_001), ("text", "8000001"))
    ]
    told = [one.wait().result["structuredContent"]["given"]["label"] for one in pending]
    assert told == ["number", "text"]


@table.case(doors=("http",))
def two_callers_use_one_id_at_once(link: Link) -> None:
    params = {"name": "wait", "arguments": {"label": link.label}, "_meta": {"progressToken": "t"}}
    held = link.caller.start("tools/call", params, key=8_100_001)
    link.caller.wait_for(lambda: link.label in json.dumps(link.caller.heard), "progress")
    with link.another() as other:
        answer = other.request("tools/call", {"name": "echo", "arguments": {"label": "mine"}}, key=8_100_001)
    assert answer.result["structuredContent"] == {"given": {"label": "mine"}}
    assert not held.ended.is_set()
    link.caller.cancel(held)
    link.wait_until_seen(lambda seen: {"cancelled": link.label} in seen, "the end of the call")


@table.case()
def fifty_calls_at_once_get_their_own_answers(link: Link) -> None:
    pending = [link.caller.start("tools/call", {"name": "echo", "arguments": {"n": n}}) for n in range(50)]
    assert [one.wait().result["structuredContent"]["given"]["n"] for one in pending] == list(range(50))


@table.case()
def an_error_keeps_code_message_and_data(link: Link) -> None:
    for code in (-32050, 7, -32603):
        error = link.caller.tool("fail", {"label": link.label, "code": code}).error
        data = {"deep": [1, {"label": link.label}]}
        assert error == {"code": code, "message": "caf\u00e9 failed", "data": data}


@table.case()
def an_unknown_tool_is_an_error_of_the_parameters(link: Link) -> None:
    assert link.caller.tool("nobody").error["code"] == -32602


@table.case()
def an_unknown_method_is_not_found(link: Link) -> None:
    assert link.caller.request("vendor/unknown").error["code"] == -32601


@table.case()
def a_resource_is_read_as_it_was_written(link: Link) -> None:
    answer = link.caller.request("resources/read", {"uri": "mem://plain"})
    assert answer.written("contents") == b'[{"text":"pl\\u00e4in","uri":"mem://plain","_meta":{"n":1.50,"e":1E3}}]'
    assert answer.written("vendor") == b"1.0"


@table.case()
def a_resource_of_a_template_is_read(link: Link) -> None:
    answer = link.caller.request("resources/read", {"uri": "mem://item/a%20b"})
    assert answer.result["contents"] == [{"uri": "mem://item/a%20b", "blob": "AAEC", "mimeType": "application/x"}]


@table.case()
def a_missing_resource_has_the_code_of_the_callers_era(link: Link) -> None:
    error = link.caller.request("resources/read", {"uri": "mem://none"}).error
    code = -32002 if link.era == "handshake" else -32602
    assert error == {"code": code, "message": "Resource not found", "data": {"uri": "mem://none", "n": 1}}


@table.case()
def a_prompt_is_got_as_it_was_written(link: Link) -> None:
    answer = link.caller.request("prompts/get", {"name": "greet", "arguments": {"who": "caf\u00e9"}})
    block = b'{"type":"text","text":"caf\\u00e9","annotations":{"priority":0.50}}'
    assert answer.written("messages") == b'[{"content":' + block + b',"role":"user"}]'
    assert (answer.written("description"), answer.written("vendor")) == (b'"d"', b"1.0")


@table.case()
def a_missing_prompt_is_told_as_the_server_tells_it(link: Link) -> None:
    error = link.caller.request("prompts/get", {"name": "none"}).error
    assert error == {"code": -32602, "message": "no prompt none", "data": {"name": "none"}}


@table.case()
def completion_of_a_prompt_is_relayed(link: Link) -> None:
    params = {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "who", "value": "a"}}
    answer = link.caller.request("completion/complete", params)
    assert answer.result["completion"] == {"values": ["ax", "greet"], "total": 7, "hasMore": True}


@table.case()
def completion_of_a_template_is_relayed(link: Link) -> None:
    ref = {"type": "ref/resource", "uri": "mem://item/{id}"}
    params = {"ref": ref, "argument": {"name": "id", "value": "b"}, "context": {"arguments": {"x": link.label}}}
    answer = link.caller.request("completion/complete", params)
    assert answer.result["completion"]["values"] == ["bx", "mem://item/{id}"]
    assert link.seen()[0]["params"]["context"] == {"arguments": {"x": link.label}}


@table.case(eras=("handshake",))
def a_ping_is_answered(link: Link) -> None:
    assert link.caller.request("ping").result == {}


@table.case(eras=("handshake",), doors=("http",))
def each_version_of_the_handshake_is_spoken(link: Link) -> None:
    for version in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"):
        with link.another(version=version) as other:
            assert other.greeting["protocolVersion"] == version
            assert other.tool("bare").result["content"] == []


@table.case(eras=("modern",))
def an_unknown_version_is_refused_with_those_that_are_known(link: Link) -> None:
    headers = {"mcp-protocol-version": "2030-01-01"}
    meta = {f"{PREFIX}protocolVersion": "2030-01-01"}
    error = link.caller.request("tools/list", {"_meta": meta}, headers=headers).error
    assert error["code"] == -32022
    assert "2026-07-28" in error["data"]["supported"]


@table.case()
def stray_lines_are_survived(link: Link) -> None:
    for _ in range(2):
        assert link.caller.tool("stray").result["content"][0]["text"] == "survived"
    assert link.caller.notifications("stray") == []
    assert link.caller.tool("bare").result["content"] == []


@table.case()
def a_second_answer_to_one_request_is_survived(link: Link) -> None:
    answer = link.caller.tool("twice").result["content"][0]["text"]
    assert answer == "one"
    assert link.caller.tool("bare").result["content"] == []
    assert link.caller.notifications("stray") == []


@table.case(doors=("http",), eras=("modern",))
def a_rest_caller_is_answered(link: Link) -> None:
    assert link.server is not None
    reply = link.server.post("/api/tools/echo", {"label": "r", "n": 1})
    assert reply.status == 200
    assert reply.json() == {"success": True, "result": {"given": {"label": "r", "n": 1}}}


@table.case(doors=("http",), eras=("modern",))
def a_rest_caller_of_a_tool_that_asks_is_shown_the_questions(link: Link) -> None:
    assert link.server is not None
    reply = link.server.post("/api/tools/ask", {"label": link.label, "kind": "elicitation"})
    assert reply.status == 422, reply
    assert "Wer? caf\u00e9" in reply.body.decode() or "Wer? caf\\u00e9" in reply.body.decode()
