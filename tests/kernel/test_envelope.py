"""Spec 5's envelope: which values hold a call, what is said of those that hold none, and how outcomes are written."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from processes import ROOT
from signet.kernel.envelope import (
    answer,
    extract_call_leniently,
    looks_like_envelope,
    open_envelope,
    refused_outcome,
    response_id,
)
from signet.kernel.errors import Code, Fault
from signet.kernel.outcome import Call, Door, Outcome
from signet.kernel.pipeline import Pipeline
from signet.kernel.schemas import SchemaRegistry
from signet.kernel.tools import NULL_CONTEXT, Context, Tool, Toolbox
from signet.kernel.wire import ProtocolError

PARAMS: dict[str, Any] = {"tool": "mcp.tool:test.one", "input": {}}
ENVELOPE: dict[str, Any] = {"jsonrpc": "2.0", "id": "req-123", "method": "mcp.tool.invoke", "params": PARAMS}
PROMISE = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
TABLE = {
    "INVALID_INPUT": (-32602, "Invalid params"),
    "INVALID_OUTPUT": (-32002, "Invalid tool output"),
    "NOT_FOUND": (-32004, "Resource not found"),
    "UNAUTHORIZED": (-32001, "Unauthorized"),
    "INTERNAL_ERROR": (-32603, "Internal error"),
}
"""The JSON-RPC code and message of each canonical code on this surface."""


def failure(canonical_code: str) -> dict[str, Any]:
    code, message = TABLE[canonical_code]
    error = {"code": code, "message": message, "data": {"canonical_code": canonical_code}}
    return {"jsonrpc": "2.0", "id": "req-123", "error": error}


def one_tool(run: Callable[[Any, Context], Any] = lambda *_: {"n": 1}) -> Toolbox:
    return Toolbox((Tool(name="one", slug="test.one", title="One", description="One", args=dict, run=run),))


@pytest.fixture
def registry(tmp_path: Path) -> SchemaRegistry:
    """The envelope's contract, and a tool's whose output is `PROMISE`."""
    (tmp_path / "tools").mkdir()
    for name in ("envelope.schema.json", "tool_io.schema.json"):
        shutil.copy(ROOT / "codex/specs/schemas" / name, tmp_path / name)
    bundle = {"tool": "test.one", "input": {"type": "object"}, "output": PROMISE}
    (tmp_path / "tools/test.one.json").write_text(json.dumps(bundle), encoding="utf-8")
    return SchemaRegistry(schema_root=tmp_path)


# --- opening


@pytest.mark.spec("5.envelope.enforced", "5.wire.path-id")
@pytest.mark.parametrize("path_key", [None, "test.one", "mcp.tool:test.one"])
def test_an_envelope_holds_the_call_of_its_tool(registry: SchemaRegistry, path_key: str | None) -> None:
    door = Door("http", "/mcp/tool/test.one", "http envelope")

    call = open_envelope(registry, ENVELOPE, NULL_CONTEXT, path_key, door)

    assert call == Call("mcp.tool:test.one", {}, NULL_CONTEXT, door)


@pytest.mark.spec("5.envelope.deviation")
@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({**ENVELOPE, "extra": 1}, "'extra' was unexpected"),
        ({**ENVELOPE, "params": {**PARAMS, "tool": "test.one"}}, "params.tool"),
        ([ENVELOPE], 'not of type "object"'),
        (None, 'not of type "object"'),
    ],
    ids=["extra key", "tool without prefix", "batch", "null"],
)
def test_what_deviates_from_the_contract_is_invalid_input_and_its_cause_says_where(
    registry: SchemaRegistry, value: Any, why: str
) -> None:
    with pytest.raises(ProtocolError) as caught:
        open_envelope(registry, value, NULL_CONTEXT)

    assert (caught.value.code, caught.value.data) == (-32602, {"canonical_code": "INVALID_INPUT"})
    assert why in str(caught.value.__cause__)


@pytest.mark.spec("5.wire.unknown-method", "5.wire.path-mismatch")
@pytest.mark.parametrize(
    ("value", "path_key", "code"),
    [({**ENVELOPE, "method": "mcp.tool.revoke"}, None, -32601), (ENVELOPE, "test.two", -32602)],
    ids=["another method", "another tool in the path"],
)
def test_another_method_or_another_tool_in_the_path_is_refused(
    registry: SchemaRegistry, value: Any, path_key: str | None, code: int
) -> None:
    with pytest.raises(ProtocolError) as caught:
        open_envelope(registry, value, NULL_CONTEXT, path_key)

    assert caught.value.code == code


# --- what can be made of an envelope that breaks its contract


@pytest.mark.spec("5.modes")
@pytest.mark.parametrize(
    "value",
    [
        {"params": PARAMS},
        {**ENVELOPE, "method": ""},
        {**ENVELOPE, "method": 5},
        {**ENVELOPE, "extra": 1},
        {**ENVELOPE, "params": {**PARAMS, "tool": "test.one"}},
        {**ENVELOPE, "params": {**PARAMS, "tool": "one"}},
    ],
)
def test_a_call_is_extracted_if_a_tool_is_named_and_there_is_an_input(value: dict[str, Any]) -> None:
    call = extract_call_leniently(one_tool(), value, NULL_CONTEXT, "test.one")

    assert call == Call("mcp.tool:test.one", {}, NULL_CONTEXT)


@pytest.mark.spec("5.modes")
@pytest.mark.parametrize(
    ("value", "path_key"),
    [
        ({**ENVELOPE, "method": "tools/call"}, None),
        ({**ENVELOPE, "params": {"tool": "mcp.tool:test.one"}}, None),
        ({**ENVELOPE, "params": {**PARAMS, "input": []}}, None),
        ({**ENVELOPE, "params": {**PARAMS, "tool": "mcp.tool:test.two"}}, None),
        ({**ENVELOPE, "params": {**PARAMS, "tool": 5}}, None),
        ({**ENVELOPE, "params": [PARAMS]}, None),
        (ENVELOPE, "test.two"),
        ([ENVELOPE], None),
        (None, None),
    ],
)
def test_nothing_is_extracted_otherwise(value: Any, path_key: str | None) -> None:
    assert extract_call_leniently(one_tool(), value, NULL_CONTEXT, path_key) is None


@pytest.mark.spec("5.envelope.required-method")
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (ENVELOPE, True),
        ({"method": "mcp.tool.invoke"}, True),
        ({"params": PARAMS}, True),
        ({"params": PARAMS, "method": ""}, True),
        ({"params": PARAMS, "method": "tools/call"}, False),
        ({"params": PARAMS, "result": {}}, False),
        ({"params": PARAMS, "error": {}}, False),
        ({"params": {"tool": "mcp.tool:test.one"}}, True),
        ({"params": {"input": {}}}, True),
        ({"params": {"name": "one"}}, False),
        ({"params": [PARAMS]}, False),
        ({}, False),
        ([ENVELOPE], False),
        ("text", False),
        (None, False),
    ],
)
def test_an_envelope_is_known_by_its_method_or_by_its_params(value: Any, expected: bool) -> None:
    assert looks_like_envelope(value) is expected


@pytest.mark.spec("5.wire.echoed-id")
@pytest.mark.parametrize(
    ("given", "echoed"),
    [("req-123", "req-123"), (7, 7), (1.0, 1.0), (1.5, None), ("", None), (True, None), (None, None), ([1], None)],
)
def test_the_id_is_echoed_if_the_contract_takes_it(given: object, echoed: object) -> None:
    assert response_id({"id": given}) == echoed


@pytest.mark.parametrize("value", [None, [], "text", {}, {"params": {"tool": 5}}, {"params": "text"}])
def test_what_became_of_an_envelope_without_a_call_names_no_tool_and_says_why(value: Any) -> None:
    door = Door("stdio", "mcp.tool.invoke", "stdio envelope")

    outcome = refused_outcome(value, door, "it is empty")

    assert (outcome.call.tool_key, outcome.call.door, outcome.tool) == ("", door, None)
    assert outcome.fault is not None
    assert (outcome.fault.code, outcome.fault.message) == (
        Code.INVALID_INPUT,
        "the request is no envelope: it is empty",
    )


# --- how an outcome is written


@pytest.mark.spec("5.errors.data", "5.wire.error-data")
@pytest.mark.parametrize("canonical_code", TABLE)
def test_a_fault_is_written_as_its_canonical_error_and_nothing_else(canonical_code: str) -> None:
    fault = Fault(Code(canonical_code), "secret", name="OTHER", status=499, mcp_code=-1, data={"secret": 1})

    reply = answer("req-123", Outcome(Call("one", {}, NULL_CONTEXT), None, fault=fault))

    assert (reply.code, json.loads(reply.body)) == (TABLE[canonical_code][0], failure(canonical_code))


@pytest.mark.spec("5.errors.fresh", "5.errors.data")
@pytest.mark.parametrize("canonical_code", TABLE)
def test_what_development_mode_adds_to_one_answer_is_not_in_the_next(canonical_code: str) -> None:
    fault = Fault(Code(canonical_code), "secret")
    call = Call("one", {}, NULL_CONTEXT)

    told = answer("req-123", Outcome(call, None, fault=fault.explained("secret", {"traceback": "secret"})))
    plain = answer("req-123", Outcome(call, None, fault=fault))

    assert b"traceback" in told.body
    assert json.loads(plain.body) == failure(canonical_code)


def answer_of(registry: SchemaRegistry, run: Callable[[Any, Context], Any]) -> Any:
    """Invoke a tool whose output contract is `PROMISE`, and return the answer."""
    context = Context(asyncio.to_thread, lambda *_: None, {})
    call = open_envelope(registry, ENVELOPE, context)
    outcome = Pipeline(one_tool(run), registry).run(call)
    reply = answer("req-123", outcome if isinstance(outcome, Outcome) else asyncio.run(outcome))
    return json.loads(reply.body)


@pytest.mark.spec("5.wire.bad-output", "5.errors.invalid-output", "5.wire.error-data")
@pytest.mark.parametrize(
    "value", [{}, {"n": "secret"}, {"n": 1, "extra": "secret"}, [], None, "secret", object(), float("nan")]
)
def test_output_that_breaks_the_contract_is_invalid_output_and_is_not_sent(
    registry: SchemaRegistry, value: object
) -> None:
    assert answer_of(registry, lambda *_: value) == failure("INVALID_OUTPUT")


@pytest.mark.spec("5.wire.bad-output")
def test_output_of_an_awaited_tool_is_held_to_the_contract_too(registry: SchemaRegistry) -> None:
    async def later(_args: Any, _context: Context) -> dict[str, Any]:
        return {"n": "secret"}

    assert answer_of(registry, later) == failure("INVALID_OUTPUT")


@pytest.mark.spec("5.registry.missing-output")
@pytest.mark.parametrize(("value", "good"), [({}, True), ({"any": ["thing"]}, True), ([], False), ("text", False)])
def test_a_tool_that_promises_nothing_may_answer_with_any_object(
    registry: SchemaRegistry, tmp_path: Path, value: object, *, good: bool
) -> None:
    bundle = {"tool": "test.one", "input": {"type": "object"}}
    (tmp_path / "tools/test.one.json").write_text(json.dumps(bundle), encoding="utf-8")

    answered = answer_of(registry, lambda *_: value)

    whole = {"jsonrpc": "2.0", "id": "req-123", "result": value}
    assert answered == (whole if good else failure("INVALID_OUTPUT"))


@pytest.mark.spec("5.wire.success", "5.registry.output")
def test_output_that_keeps_the_contract_is_the_result(registry: SchemaRegistry) -> None:
    answered = answer_of(registry, lambda *_: {"n": 1})

    assert answered == {"jsonrpc": "2.0", "id": "req-123", "result": {"n": 1}}


@pytest.mark.spec("5.wire.internal-error", "5.errors.internal-error", "5.wire.error-data")
@pytest.mark.parametrize("error", [RuntimeError("secret"), KeyError("secret"), RecursionError("secret"), OSError()])
def test_a_tool_that_fails_is_an_internal_error_without_its_text(registry: SchemaRegistry, error: Exception) -> None:
    def fail(_args: Any, _context: Context) -> None:
        raise error

    assert answer_of(registry, fail) == failure("INTERNAL_ERROR")
