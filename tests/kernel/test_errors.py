"""Spec 5's canonical errors: the table, row by row, the two lookups, and faults with their defaults."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signet.kernel.errors import (
    CanonicalError,
    Code,
    Fault,
    Wording,
    bad_arguments,
    not_unicode,
    rate_limited,
    too_large,
    unknown_tool,
)

ROWS = {
    "INVALID_INPUT": (400, -32602, "Invalid params"),
    "INVALID_OUTPUT": (502, -32002, "Invalid tool output"),
    "NOT_FOUND": (404, -32004, "Resource not found"),
    "UNAUTHORIZED": (401, -32001, "Unauthorized"),
    "INTERNAL_ERROR": (500, -32603, "Internal error"),
}


@pytest.mark.spec("5.errors.enum")
def test_there_are_exactly_five_codes_and_each_is_its_own_name() -> None:
    codes = {code.name: code.value for code in Code}

    assert codes == {name: name for name in ROWS}


@pytest.mark.spec(
    "5.errors.invalid-input",
    "5.errors.invalid-output",
    "5.errors.not-found",
    "5.errors.unauthorized",
    "5.errors.internal-error",
)
@pytest.mark.parametrize("name", ROWS)
def test_each_code_has_its_http_status(name: str) -> None:
    found = (CanonicalError.to_http_status(name), CanonicalError.to_http_status(Code(name)))

    assert found == (ROWS[name][0], ROWS[name][0])


@pytest.mark.spec(
    "5.errors.invalid-input",
    "5.errors.invalid-output",
    "5.errors.not-found",
    "5.errors.unauthorized",
    "5.errors.internal-error",
    "5.errors.data",
)
@pytest.mark.parametrize("name", ROWS)
def test_each_code_has_its_whole_jsonrpc_error(name: str) -> None:
    _, number, message = ROWS[name]

    found = [CanonicalError.to_jsonrpc_error(name), CanonicalError.to_jsonrpc_error(Code(name))]

    assert found == [{"code": number, "message": message, "data": {"canonical_code": name}}] * 2


@pytest.mark.spec("5.errors.data")
@pytest.mark.parametrize("name", ROWS)
def test_a_jsonrpc_error_is_written_as_plain_json(name: str) -> None:
    code = Code(name)

    written = json.dumps(CanonicalError.to_jsonrpc_error(code))

    _, number, message = ROWS[name]
    assert written == f'{{"code": {number}, "message": "{message}", "data": {{"canonical_code": "{name}"}}}}'


@pytest.mark.spec("5.errors.fresh")
@pytest.mark.parametrize("name", ROWS)
def test_a_changed_error_does_not_change_the_next_one(name: str) -> None:
    spoilt = CanonicalError.to_jsonrpc_error(name)
    spoilt["data"]["canonical_code"] = "SPOILT"
    spoilt["extra"] = True

    fresh = CanonicalError.to_jsonrpc_error(name)

    _, number, message = ROWS[name]
    assert fresh == {"code": number, "message": message, "data": {"canonical_code": name}}


@pytest.mark.spec("5.errors.unknown-code")
@given(st.text().filter(lambda text: text not in ROWS))
def test_a_code_that_is_not_in_the_table_is_a_key_error(unknown: str) -> None:
    with pytest.raises(KeyError):
        CanonicalError.to_http_status(unknown)
    with pytest.raises(KeyError):
        CanonicalError.to_jsonrpc_error(unknown)


@pytest.mark.spec("5.errors.unknown-code", "5.errors.enum")
@pytest.mark.parametrize("unknown", ["TIMEOUT", "invalid_input", "INVALID_INPUT ", "", "-32602"])
def test_a_near_miss_is_a_key_error_too(unknown: str) -> None:
    with pytest.raises(KeyError):
        CanonicalError.to_jsonrpc_error(unknown)


# --- faults


@pytest.mark.parametrize(
    ("name", "mcp_code", "as_tool_result"),
    [
        ("INVALID_INPUT", -32602, True),
        ("INVALID_OUTPUT", -32603, False),
        ("NOT_FOUND", -32602, True),
        ("UNAUTHORIZED", -32600, True),
        ("INTERNAL_ERROR", -32603, False),
    ],
)
def test_a_fault_has_the_defaults_of_its_code(name: str, mcp_code: int, as_tool_result: bool) -> None:
    fault = Fault(Code(name), "what is wrong")

    assert (fault.code, fault.message, str(fault)) == (name, "what is wrong", "what is wrong")
    assert (fault.name, fault.status, fault.mcp_code) == (name, ROWS[name][0], mcp_code)
    assert (fault.as_tool_result, fault.data) == (as_tool_result, {})


def test_a_fault_may_have_another_name_status_and_code_at_each_door() -> None:
    fault = Fault(
        Code.NOT_FOUND, "x", name="NO_SUCH", status=410, as_tool_result=False, mcp_code=-1, data={"why": "gone"}
    )

    assert (fault.name, fault.status, fault.mcp_code) == ("NO_SUCH", 410, -1)
    assert (fault.as_tool_result, fault.data) == (False, {"why": "gone"})


@pytest.mark.parametrize(("message", "is_kept"), [("x", True), ("y", False)])
def test_an_explained_fault_is_the_same_with_its_wording_only_where_it_says_the_same(
    message: str, is_kept: bool
) -> None:
    wording, cause = Wording("x", {}), ValueError("why")
    facts = {"name": "NO_SUCH", "status": 410, "as_tool_result": False, "mcp_code": -1, "data": {"why": "gone"}}
    fault = Fault(Code.NOT_FOUND, "x", wording=wording, **facts).at("input")  # type: ignore[arg-type]
    fault.__cause__ = cause

    told = fault.explained(message, {"traceback": "lines"})

    assert (told.code, told.message, told.wording) == (Code.NOT_FOUND, message, wording if is_kept else None)
    assert {name: getattr(told, name) for name in facts} == facts
    assert (told.details, told.__cause__, told.stage) == ({"traceback": "lines"}, cause, "input")


@pytest.mark.parametrize(
    ("fault", "code", "name", "status", "as_tool_result"),
    [
        (unknown_tool("x"), "NOT_FOUND", "TOOL_NOT_FOUND", 404, False),
        (bad_arguments("x", []), "INVALID_INPUT", "INVALID_INPUT", 400, True),
        (too_large(5), "INVALID_INPUT", "REQUEST_TOO_LARGE", 413, True),
        (not_unicode(), "INVALID_INPUT", "NOT_UNICODE", 400, True),
    ],
    ids=["unknown tool", "bad arguments", "too large", "not Unicode"],
)
def test_the_kernels_own_faults_are_these(
    fault: Fault, code: str, name: str, status: int, as_tool_result: bool
) -> None:
    assert (fault.code, fault.name, fault.status, fault.as_tool_result) == (code, name, status, as_tool_result)


def test_bad_arguments_are_named_place_by_place() -> None:
    fault = bad_arguments("fine", [("n", "-1 is less than 0"), ("", "'m' was unexpected")])

    assert fault.message == "Invalid arguments for fine: n: -1 is less than 0; 'm' was unexpected"


def test_a_long_name_of_an_unknown_tool_is_cut() -> None:
    assert unknown_tool("x" * 65_536).message == f"Tool '{'x' * 65_536}' not found"
    assert unknown_tool("x" * 4_194_304).message == f"Tool '{'x' * 65_536}…' not found"


@pytest.mark.parametrize(("wait_s", "after_ms", "after_s"), [
    (0.0, 1, 1), (0.0001, 1, 1), (0.0010001, 2, 1), (1.0, 1000, 1), (1.0001, 1001, 2), (86_400.0, 86_400_000, 86_400),
])  # fmt: skip
def test_the_time_to_wait_is_rounded_up(wait_s: float, after_ms: int, after_s: int) -> None:
    data = rate_limited("later", wait_s).data

    assert (data["retryAfterMs"], data["retry_after_seconds"]) == (after_ms, after_s)
