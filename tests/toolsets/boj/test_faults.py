"""The faults of the Bank of Japan toolset: spec 3's data, and a remedy for each of the Bank's 24 codes."""

from __future__ import annotations

import pytest

from boj_messages import MANUAL
from signet.toolsets.boj.faults import (
    bank_messages,
    refused,
    too_large,
    transport,
    undecodable,
    validation,
)

MESSAGES = list(bank_messages().values())
ERRORS = [message_id for message_id, (status, _, _) in MANUAL.items() if status != 200]


@pytest.mark.spec("3.errors.validation", "3.errors.data")
def test_a_question_that_is_not_valid_is_invalid_params() -> None:
    fault = validation("CODE is required")

    assert (fault.code, fault.as_tool_result, fault.mcp_code, fault.message) == (
        "INVALID_INPUT",
        True,
        -32602,
        "CODE is required",
    )
    assert fault.data == {"error_type": "VALIDATION_ERROR", "message": "CODE is required"}


@pytest.mark.spec("3.errors.transport", "3.errors.data")
def test_a_broken_connection_is_an_internal_error() -> None:
    fault = transport("no answer within 10 s")

    assert (fault.code, fault.as_tool_result, fault.mcp_code) == ("INTERNAL_ERROR", True, -32603)
    assert fault.message == "The Bank of Japan could not be asked: no answer within 10 s"
    assert fault.data == {"error_type": "TRANSPORT_ERROR", "message": "no answer within 10 s"}


@pytest.mark.spec("3.errors.decode", "3.errors.data")
def test_an_answer_that_cannot_be_read_is_an_internal_error() -> None:
    fault = undecodable("it has no STATUS")

    assert (fault.code, fault.as_tool_result, fault.mcp_code) == ("INTERNAL_ERROR", True, -32603)
    assert fault.message == "The answer of the Bank of Japan cannot be read: it has no STATUS"
    assert fault.data == {"error_type": "DECODE_ERROR", "message": "it has no STATUS"}


@pytest.mark.spec("3.errors.decode")
def test_an_answer_over_the_limits_says_how_to_ask_for_less() -> None:
    fault = too_large("it has more than 5 bytes", "Ask for less.")

    assert (fault.code, fault.as_tool_result, fault.mcp_code) == ("INTERNAL_ERROR", True, -32603)
    assert fault.message == "The answer of the Bank of Japan is too large: it has more than 5 bytes. Ask for less."
    assert fault.data == {
        "error_type": "DECODE_ERROR",
        "message": "it has more than 5 bytes",
        "hint": "Ask for less.",
    }


@pytest.mark.spec("3.errors.api-400", "3.errors.api-other", "3.errors.data", "3.errors.hint")
@pytest.mark.parametrize("message_id", ERRORS)
def test_each_of_the_banks_codes_is_passed_on_with_a_remedy(message_id: str) -> None:
    status, japanese, meaning = MANUAL[message_id]

    fault = refused(status, message_id, japanese)

    hint = fault.data.pop("hint")
    assert (fault.code, fault.as_tool_result, fault.mcp_code) == (
        ("INVALID_INPUT", True, -32602) if status == 400 else ("INTERNAL_ERROR", True, -32603)
    )
    assert fault.data == {
        "error_type": "API_ERROR",
        "status": status,
        "message_id": message_id,
        "message": japanese,
        "meaning": meaning,
    }
    assert hint
    assert fault.message.endswith(f": status {status} {message_id} {japanese} ({meaning}). {hint}")


@pytest.mark.spec("3.errors.api-400", "3.errors.api-other")
@pytest.mark.parametrize("status", [0, 201, 404, 429, 500, 502, 503, 65_535])
def test_every_other_status_than_400_is_an_internal_error(status: int) -> None:
    fault = refused(status, "M181005E", "DB名が正しくありません。")

    assert (fault.code, fault.mcp_code, fault.data["status"]) == ("INTERNAL_ERROR", -32603, status)


@pytest.mark.spec("3.errors.data", "3.errors.hint")
def test_a_code_that_nobody_knows_is_passed_on_without_a_remedy() -> None:
    fault = refused(400, "M999999E", "Something new")

    assert fault.message == "The Bank of Japan refuses the request: status 400 M999999E Something new"
    assert fault.data == {
        "error_type": "API_ERROR",
        "status": 400,
        "message_id": "M999999E",
        "message": "Something new",
    }


@pytest.mark.parametrize(("chars", "end"), [(1_000, ""), (1_001, "…")])
def test_a_text_of_1000_characters_is_shown_whole(chars: int, end: str) -> None:
    assert transport("x" * chars).data["message"] == "x" * 1_000 + end


def test_a_text_from_outside_is_cut() -> None:
    long = "x" * 5_000

    faults = [transport(long), undecodable(long), refused(500, long, long)]

    assert [len(fault.data["message"]) for fault in faults] == [1_001] * 3
    assert all(len(fault.message) < 2_200 for fault in faults)


def test_the_table_has_the_24_codes_of_the_manual() -> None:
    counts = {status: [message.status for message in MESSAGES].count(status) for status in (200, 400, 500, 503)}

    assert counts == {200: 2, 400: 20, 500: 1, 503: 1}
    assert list(bank_messages()) == [
        "M181000I",
        "M181030I",
        *(f"M1810{number:02}E" for number in range(1, 21)),
        "M181090S",
        "M181091S",
    ]
    assert [message.id for message in MESSAGES if message.hint is None] == ["M181000I"]


def test_each_message_has_the_text_of_the_manual_and_its_meaning() -> None:
    assert {message.id: (message.status, message.japanese, message.meaning) for message in MESSAGES} == MANUAL


def test_a_letter_tells_what_a_code_is() -> None:
    kinds = {message.id[-1]: set() for message in MESSAGES}
    for message in MESSAGES:
        kinds[message.id[-1]].add(message.status)

    assert kinds == {"I": {200}, "E": {400}, "S": {500, 503}}
