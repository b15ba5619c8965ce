"""Faults of the Bank of Japan toolset, with the data that spec 3 promises, and the Bank's own message codes.

    validation ─── nothing was sent            INVALID_INPUT    {error_type, message}
    refused ────── the Bank said no            INVALID_INPUT    {error_type, status, message_id, message, hint?}
                                               (status 400; any other is INTERNAL_ERROR)
    transport ──── no answer of the Bank's     INTERNAL_ERROR   {error_type, message}
    undecodable ── an answer nobody can read   INTERNAL_ERROR   {error_type, message}
    too_large ──── an answer over the limits   INTERNAL_ERROR   {error_type, message, hint}

None of them is told as a result: MCP sends each as a JSON-RPC error.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from signet.kernel.errors import Code, Fault

__all__ = ["BY_ID", "MESSAGES", "BankMessage", "refused", "too_large", "transport", "undecodable", "validation"]

BAD_REQUEST: Final = 400
MAX_CHARS: Final = 1_000
"""What is kept of a text from outside."""


class BankMessage(NamedTuple):
    """One of the codes that the Bank answers with."""

    status: int
    id: str
    japanese: str
    """The Bank's text; `n` stands for the place of a code in the list that was sent."""
    meaning: str
    hint: str | None = None
    """What to do about it."""


_DATES: Final = (
    "YYYY for years, YYYY01 or YYYY02 for halves, YYYY01 to YYYY04 for quarters, "
    "and YYYYMM for months, weeks and days alike"
)
_LATER: Final = "The trouble is at the Bank of Japan: wait a while and ask again."
_LAYERS: Final = 'Give layers as one to five levels, each a positive number or "*", for example ["1", "*", "2"].'
_FREQUENCIES: Final = (
    "Give frequency as one of CY, FY, CH, FH, Q, M, W or D; weekly series are W whatever their weekday."
)

MESSAGES: Final = (
    BankMessage(200, "M181000I", "正常に終了しました。", "all is well"),
    BankMessage(
        200,
        "M181030I",
        "正常に終了しましたが、該当データはありませんでした。",
        "all is well, and there is no value in the span asked for",
        "Ask for another span: boj_get_metadata tells where each series starts and ends.",
    ),
    BankMessage(
        400,
        "M181001E",
        "Invalid input parameters",
        "a value holds a character that is not allowed",
        "Leave out < > \" ! | \\ ; ' and all full-width characters, and give codes without the database in front: "
        "MADR1Z@D rather than IR01'MADR1Z@D.",
    ),
    BankMessage(
        400,
        "M181002E",
        "Invalid language setting",
        "the language is unknown",
        "Give lang as jp or en, or leave it out.",
    ),
    BankMessage(
        400,
        "M181003E",
        "結果ファイル形式が正しくありません。",
        "the format is unknown",
        "Give format as json or csv, or leave it out.",
    ),
    BankMessage(400, "M181004E", "DBが指定されていません。", "no database was named", "Give db, for example FM08."),
    BankMessage(
        400,
        "M181005E",
        "DB名が正しくありません。",
        "there is no such database",
        "Give the code of one of the 50 databases, for example FM08 (exchange rates), FM01 (call rate), "
        "PR01 (producer prices) or CO (TANKAN); `signet boj databases` lists all of them.",
    ),
    BankMessage(
        400,
        "M181006E",
        "系列コードが指定されていません。",
        "no series was named",
        "Give codes; boj_get_metadata lists the series codes of a database.",
    ),
    BankMessage(
        400,
        "M181007E",
        "系列コードの数が1250を超えています。",
        "more than 1,250 series were asked for",
        "Ask for at most 1,250 series: split the codes over several calls, or name deeper layers; layers count "
        "series of every frequency.",
    ),
    BankMessage(
        400,
        "M181008E",
        "指定した開始期が正しくありません。",
        "the start is no date",
        f"Write start_date as {_DATES}.",
    ),
    BankMessage(
        400, "M181009E", "指定した終了期が正しくありません。", "the end is no date", f"Write end_date as {_DATES}."
    ),
    BankMessage(
        400,
        "M181010E",
        "時期は1850年から2050年までを数値で指定してください。",
        "a year is outside 1850 to 2050, or no number",
        "Keep start_date and end_date within 1850 and 2050, in digits only.",
    ),
    BankMessage(
        400,
        "M181011E",
        "開始期と終了期の順序を正しく指定してください。",
        "the start comes after the end",
        "Exchange start_date and end_date.",
    ),
    BankMessage(
        400,
        "M181012E",
        "検索開始位置が正しくありません。",
        "the position is no positive number",
        "Give start_position as the next_position of the answer before, or leave it out.",
    ),
    BankMessage(
        400,
        "M181013E",
        "指定した系列コードは存在しません。：n番目のコード",
        "the database has no series of that code",
        "The Bank's message ends with the place of that code in codes, counted from 1; look it up with "
        "boj_get_metadata.",
    ),
    BankMessage(
        400,
        "M181014E",
        "指定した系列コードの期種が一致しません。：n番目のコード",
        "the codes have different frequencies",
        "Ask for series of one frequency at a time, weekly ones of one weekday; the Bank's message ends with the "
        "place of the first code that differs.",
    ),
    BankMessage(
        400,
        "M181015E",
        "指定した開始期の設定形式が期種と一致しません。",
        "the start is written for another frequency",
        f"Write start_date as the frequency of the series wants it: {_DATES}.",
    ),
    BankMessage(
        400,
        "M181016E",
        "指定した終了期の設定形式が期種と一致しません。",
        "the end is written for another frequency",
        f"Write end_date as the frequency of the series wants it: {_DATES}.",
    ),
    BankMessage(400, "M181017E", "期種が指定されていません。", "no frequency was named", _FREQUENCIES),
    BankMessage(400, "M181018E", "期種が正しくありません。", "there is no such frequency", _FREQUENCIES),
    BankMessage(400, "M181019E", "階層情報が指定されていません。", "no layer was named, or more than five", _LAYERS),
    BankMessage(400, "M181020E", "階層情報設定が正しくありません。", "a layer is neither a number nor *", _LAYERS),
    BankMessage(
        500,
        "M181090S",
        "予期しないエラーが発生しました。時間をおいてからやり直してください。",
        "something unexpected happened at the Bank",
        _LATER,
    ),
    BankMessage(
        503,
        "M181091S",
        "データベースにアクセス中にエラーになりました。時間をおいてからやり直してください。",
        "the Bank could not reach its database",
        _LATER,
    ),
)
"""The 24 codes of the Bank's manual, by status and number."""

BY_ID: Final = {message.id: message for message in MESSAGES}


def validation(message: str) -> Fault:
    """Say what is wrong with a question that was not sent."""
    return _fault(Code.INVALID_INPUT, message, "VALIDATION_ERROR", message=message)


def transport(detail: str) -> Fault:
    """Say that no answer of the Bank's came back."""
    detail = _cut(detail)
    text = f"The Bank of Japan could not be asked: {detail}"
    return _fault(Code.INTERNAL_ERROR, text, "TRANSPORT_ERROR", message=detail)


def undecodable(detail: str) -> Fault:
    """Say that an answer came back which cannot be read."""
    detail = _cut(detail)
    text = f"The answer of the Bank of Japan cannot be read: {detail}"
    return _fault(Code.INTERNAL_ERROR, text, "DECODE_ERROR", message=detail)


def too_large(detail: str, hint: str) -> Fault:
    """Say that an answer is more than is read or passed on, and how to ask for less."""
    text = f"The answer of the Bank of Japan is too large: {detail}"
    return _fault(Code.INTERNAL_ERROR, _with(text, hint), "DECODE_ERROR", message=detail, hint=hint)


def refused(status: int, message_id: str, message: str) -> Fault:
    """Pass on the Bank's own word that it will not answer, with a remedy where one is known."""
    message_id, message = _cut(message_id), _cut(message)
    known = BY_ID.get(message_id)
    hint = known.hint if known else None
    code = Code.INVALID_INPUT if status == BAD_REQUEST else Code.INTERNAL_ERROR
    head = (
        "The Bank of Japan refuses the request" if status == BAD_REQUEST else "The Bank of Japan answers with an error"
    )
    meant = f" ({known.meaning})" if known else ""
    text = f"{head}: status {status} {message_id} {message}{meant}"
    return _fault(
        code, _with(text, hint), "API_ERROR", status=status, message_id=message_id, message=message, hint=hint
    )


def _fault(code: Code, text: str, error_type: str, **facts: Any) -> Fault:
    data = {"error_type": error_type, **{name: fact for name, fact in facts.items() if fact is not None}}
    return Fault(code, text, as_tool_result=False, data=data)


def _with(text: str, hint: str | None) -> str:
    return f"{text}. {hint}" if hint else text


def _cut(text: str) -> str:
    return text if len(text) <= MAX_CHARS else text[:MAX_CHARS] + "…"
