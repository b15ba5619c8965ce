"""The faults of the Bank of Japan toolset: spec 3's data, and a remedy for each of the Bank's 24 codes."""

from __future__ import annotations

import pytest

from signet.kernel.errors import Code
from signet.toolsets.boj.faults import (
    BankMessage,
    bank_messages,
    refused,
    too_large,
    transport,
    undecodable,
    validation,
)

MESSAGES = list(bank_messages().values())
ERRORS = [message for message in MESSAGES if message.status != 200]


TEXTS = {
    "M181000I": (200, "正常に終了しました。", "all is well"),
    "M181030I": (
        200,
        "正常に終了しましたが、該当データはありませんでした。",
        "all is well, and there is no value in the span asked for",
    ),
    "M181001E": (400, "Invalid input parameters", "a value holds a character that is not allowed"),
    "M181002E": (400, "Invalid language setting", "the language is unknown"),
    "M181003E": (400, "結果ファイル形式が正しくありません。", "the format is unknown"),
    "M181004E": (400, "DBが指定されていません。", "no database was named"),
    "M181005E": (400, "DB名が正しくありません。", "there is no such database"),
    "M181006E": (400, "系列コードが指定されていません。", "no series was named"),
    "M181007E": (400, "系列コードの数が1250を超えています。", "more than 1,250 series were asked for"),
    "M181008E": (400, "指定した開始期が正しくありません。", "the start is no date"),
    "M181009E": (400, "指定した終了期が正しくありません。", "the end is no date"),
    "M181010E": (
        400,
        "時期は1850年から2050年までを数値で指定してください。",
        "a year is outside 1850 to 2050, or no number",
    ),
    "M181011E": (400, "開始期と終了期の順序を正しく指定してください。", "the start comes after the end"),
    "M181012E": (400, "検索開始位置が正しくありません。", "the position is no positive number"),
    "M181013E": (400, "指定した系列コードは存在しません。：{n}番目のコード", "the database has no series of that code"),
    "M181014E": (
        400,
        "指定した系列コードの期種が一致しません。：{n}番目のコード",
        "the codes have different frequencies",
    ),
    "M181015E": (400, "指定した開始期の設定形式が期種と一致しません。", "the start is written for another frequency"),
    "M181016E": (400, "指定した終了期の設定形式が期種と一致しません。", "the end is written for another frequency"),
    "M181017E": (400, "期種が指定されていません。", "no frequency was named"),
    "M181018E": (400, "期種が正しくありません。", "there is no such frequency"),
    "M181019E": (400, "階層情報が指定されていません。", "no layer was named, or more than five"),
    "M181020E": (400, "階層情報設定が正しくありません。", "a layer is neither a number nor *"),
    "M181090S": (
        500,
        "予期しないエラーが発生しました。時間をおいてからやり直してください。",
        "something unexpected happened at the Bank",
    ),
    "M181091S": (
        503,
        "データベースにアクセス中にエラーになりました。時間をおいてからやり直してください。",
        "the Bank could not reach its database",
    ),
}
"""The status and the Japanese text of each message in the Bank's manual, and what it means."""


@pytest.mark.spec("3.errors.validation", "3.errors.data")
def test_a_question_that_is_not_valid_is_invalid_params() -> None:
    fault = validation("CODE is required")

    assert (fault.code, fault.as_tool_result, fault.mcp_code, fault.message) == (
        Code.INVALID_INPUT,
        True,
        -32602,
        "CODE is required",
    )
    assert fault.data == {"error_type": "VALIDATION_ERROR", "message": "CODE is required"}


@pytest.mark.spec("3.errors.transport", "3.errors.data")
def test_a_broken_connection_is_an_internal_error() -> None:
    fault = transport("no answer within 10 s")

    assert (fault.code, fault.as_tool_result, fault.mcp_code) == (Code.INTERNAL_ERROR, True, -32603)
    assert fault.message == "The Bank of Japan could not be asked: no answer within 10 s"
    assert fault.data == {"error_type": "TRANSPORT_ERROR", "message": "no answer within 10 s"}


@pytest.mark.spec("3.errors.decode", "3.errors.data")
def test_an_answer_that_cannot_be_read_is_an_internal_error() -> None:
    fault = undecodable("it has no STATUS")

    assert (fault.code, fault.as_tool_result, fault.mcp_code) == (Code.INTERNAL_ERROR, True, -32603)
    assert fault.message == "The answer of the Bank of Japan cannot be read: it has no STATUS"
    assert fault.data == {"error_type": "DECODE_ERROR", "message": "it has no STATUS"}


@pytest.mark.spec("3.errors.decode")
def test_an_answer_over_the_limits_says_how_to_ask_for_less() -> None:
    fault = too_large("it has more than 5 bytes", "Ask for less.")

    assert (fault.code, fault.as_tool_result, fault.mcp_code) == (Code.INTERNAL_ERROR, True, -32603)
    assert fault.message == "The answer of the Bank of Japan is too large: it has more than 5 bytes. Ask for less."
    assert fault.data == {
        "error_type": "DECODE_ERROR",
        "message": "it has more than 5 bytes",
        "hint": "Ask for less.",
    }


@pytest.mark.spec("3.errors.api-400", "3.errors.api-other", "3.errors.data", "3.errors.hint")
@pytest.mark.parametrize("known", ERRORS, ids=[message.id for message in ERRORS])
def test_each_of_the_banks_codes_is_passed_on_with_a_remedy(known: BankMessage) -> None:
    fault = refused(known.status, known.id, known.japanese)

    invalid = known.status == 400
    assert (fault.code, fault.as_tool_result, fault.mcp_code) == (
        (Code.INVALID_INPUT, True, -32602) if invalid else (Code.INTERNAL_ERROR, True, -32603)
    )
    assert fault.data == {
        "error_type": "API_ERROR",
        "status": known.status,
        "message_id": known.id,
        "message": known.japanese,
        "meaning": TEXTS[known.id][2],
        "hint": known.hint,
    }
    assert known.japanese in fault.message
    assert fault.message.endswith(f"({known.meaning}). {known.hint}")


@pytest.mark.spec("3.errors.api-400", "3.errors.api-other")
@pytest.mark.parametrize("status", [0, 201, 404, 429, 500, 502, 503, 65_535])
def test_every_other_status_than_400_is_an_internal_error(status: int) -> None:
    fault = refused(status, "M181005E", "DB名が正しくありません。")

    assert (fault.code, fault.mcp_code, fault.data["status"]) == (Code.INTERNAL_ERROR, -32603, status)


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
    assert {message.id: (message.status, message.japanese, message.meaning) for message in MESSAGES} == TEXTS


def test_a_letter_tells_what_a_code_is() -> None:
    kinds = {message.id[-1]: set() for message in MESSAGES}
    for message in MESSAGES:
        kinds[message.id[-1]].add(message.status)

    assert kinds == {"I": {200}, "E": {400}, "S": {500, 503}}
