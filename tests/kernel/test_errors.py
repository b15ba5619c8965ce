"""Spec 5's canonical errors: the table, row by row, and the two lookups."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signet.kernel.errors import CanonicalError, Code

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
@pytest.mark.parametrize("code", Code)
def test_a_jsonrpc_error_is_written_as_plain_json(code: Code) -> None:
    written = json.loads(json.dumps(CanonicalError.to_jsonrpc_error(code)))

    assert written == CanonicalError.to_jsonrpc_error(code.value)


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


@pytest.mark.spec("5.errors.unknown-code")
@pytest.mark.parametrize("unknown", ["TIMEOUT", "invalid_input", "INVALID_INPUT ", "", "-32602"])
def test_a_near_miss_is_a_key_error_too(unknown: str) -> None:
    with pytest.raises(KeyError):
        CanonicalError.to_jsonrpc_error(unknown)
