"""Faults of the Bank of Japan toolset, with the data that spec 3 promises, and the Bank's own message codes.

    validation ─── nothing was sent                INVALID_INPUT    {error_type, message}
    refused ────── the Bank refused the request    INVALID_INPUT    {error_type, status, message_id, message, hint?}
                                                   (status 400; any other is INTERNAL_ERROR)
    transport ──── no response of the Bank         INTERNAL_ERROR   {error_type, message}
    undecodable ── an unreadable response          INTERNAL_ERROR   {error_type, message}
    too_large ──── a response over the limits      INTERNAL_ERROR   {error_type, message, hint}

None of them is a tool result: MCP sends each as a JSON-RPC error. A remedy is a template: callers of the tools read
`TOOL_NAMES` in it, and a command may render `Fault.wording` with names of its own.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from signet.kernel.errors import Code, Fault, Wording

__all__ = [
    "BY_ID",
    "MESSAGES",
    "TOOL_NAMES",
    "BankMessage",
    "refused",
    "too_large",
    "transport",
    "undecodable",
    "validation",
]

BAD_REQUEST: Final = 400
MAX_CHARS: Final = 1_000
"""The limit of a text from outside; the rest is cut off."""

TOOL_NAMES: Final = {
    "boj_get_metadata": "boj_get_metadata",
    "codes": "codes",
    "db": "db",
    "end_date": "end_date",
    "frequency": "frequency",
    "lang": "lang",
    "layers": "layers",
    "layers_example": '["1", "*", "2"]',
    "start_date": "start_date",
    # Whole sentences, because a command may have no such parameter.
    "fix_format": "Give format as json or csv, or leave it out.",
    "fix_position": "Give start_position as the next_position of the answer before, or leave it out.",
    "without_raw": ", and without include_raw",
}
"""The names of the parameters of a remedy, for callers of the tools."""


class BankMessage(NamedTuple):
    """One of the codes that the Bank answers with."""

    status: int
    id: str
    japanese: str
    """The Bank's text; `n` stands for the place of a code in the list that was sent."""
    meaning: str
    remedy: str | None = None
    """The remedy, as a template."""

    @property
    def hint(self) -> str | None:
        """The remedy for callers of the tools."""
        return None if self.remedy is None else self.remedy.format_map(TOOL_NAMES)


_DATES: Final = (
    "YYYY for years, YYYY01 or YYYY02 for halves, YYYY01 to YYYY04 for quarters, "
    "and YYYYMM for months, weeks and days alike"
)
_LATER: Final = "The trouble is at the Bank of Japan: wait a while and ask again."
_LAYERS: Final = 'Give {layers} as one to five levels, each a positive number or "*", for example {layers_example}.'
_FREQUENCIES: Final = (
    "Give {frequency} as one of CY, FY, CH, FH, Q, M, W or D; weekly series are W whatever their weekday."
)

MESSAGES: Final = (
    BankMessage(200, "M181000I", "正常に終了しました。", "all is well"),
    BankMessage(
        200,
        "M181030I",
        "正常に終了しましたが、該当データはありませんでした。",
        "all is well, and there is no value in the span asked for",
        "Ask for another span: {boj_get_metadata} tells where each series starts and ends.",
    ),
    BankMessage(
        400,
        "M181001E",
        "Invalid input parameters",
        "a value holds a character that is not allowed",
        "Leave out < > \" ! | \\ ; ' and all full-width characters, and give {codes} without the database in front: "
        "MADR1Z@D rather than IR01'MADR1Z@D.",
    ),
    BankMessage(
        400,
        "M181002E",
        "Invalid language setting",
        "the language is unknown",
        "Give {lang} as jp or en, or leave it out.",
    ),
    BankMessage(
        400,
        "M181003E",
        "結果ファイル形式が正しくありません。",
        "the format is unknown",
        "{fix_format}",
    ),
    BankMessage(400, "M181004E", "DBが指定されていません。", "no database was named", "Give {db}, for example FM08."),
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
        "Give {codes}; {boj_get_metadata} lists the series codes of a database.",
    ),
    BankMessage(
        400,
        "M181007E",
        "系列コードの数が1250を超えています。",
        "more than 1,250 series were asked for",
        "Ask for at most 1,250 series: split the {codes} over several calls, or name deeper {layers}; {layers} count "
        "series of every frequency.",
    ),
    BankMessage(
        400,
        "M181008E",
        "指定した開始期が正しくありません。",
        "the start is no date",
        "Write {start_date} as " + _DATES + ".",
    ),
    BankMessage(
        400,
        "M181009E",
        "指定した終了期が正しくありません。",
        "the end is no date",
        "Write {end_date} as " + _DATES + ".",
    ),
    BankMessage(
        400,
        "M181010E",
        "時期は1850年から2050年までを数値で指定してください。",
        "a year is outside 1850 to 2050, or no number",
        "Keep {start_date} and {end_date} within 1850 and 2050, in digits only.",
    ),
    BankMessage(
        400,
        "M181011E",
        "開始期と終了期の順序を正しく指定してください。",
        "the start comes after the end",
        "Exchange {start_date} and {end_date}.",
    ),
    BankMessage(
        400,
        "M181012E",
        "検索開始位置が正しくありません。",
        "the position is no positive number",
        "{fix_position}",
    ),
    BankMessage(
        400,
        "M181013E",
        "指定した系列コードは存在しません。：n番目のコード",
        "the database has no series of that code",
        "The Bank's message ends with the place of that code in {codes}, counted from 1; look it up with "
        "{boj_get_metadata}.",
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
        "Write {start_date} as the frequency of the series wants it: " + _DATES + ".",
    ),
    BankMessage(
        400,
        "M181016E",
        "指定した終了期の設定形式が期種と一致しません。",
        "the end is written for another frequency",
        "Write {end_date} as the frequency of the series wants it: " + _DATES + ".",
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


def validation(message: str, wording: Wording | None = None) -> Fault:
    """Return the fault for a query that breaks a rule and was not sent."""
    return _fault(Code.INVALID_INPUT, message, "VALIDATION_ERROR", wording, message=message)


def transport(detail: str) -> Fault:
    """Return the fault for a request that got no response from the Bank."""
    detail = _cut(detail)
    text = f"The Bank of Japan could not be asked: {detail}"
    return _fault(Code.INTERNAL_ERROR, text, "TRANSPORT_ERROR", message=detail)


def undecodable(detail: str) -> Fault:
    """Return the fault for a response that cannot be read."""
    detail = _cut(detail)
    text = f"The answer of the Bank of Japan cannot be read: {detail}"
    return _fault(Code.INTERNAL_ERROR, text, "DECODE_ERROR", message=detail)


def too_large(detail: str, remedy: str) -> Fault:
    """Return the fault for a response over the limits, with a remedy (a template) that asks for less."""
    wording = _with_remedy(f"The answer of the Bank of Japan is too large: {detail}", remedy)
    hint = remedy.format_map(TOOL_NAMES)
    text = wording.render(TOOL_NAMES)
    return _fault(Code.INTERNAL_ERROR, text, "DECODE_ERROR", wording, message=detail, hint=hint)


def refused(status: int, message_id: str, message: str) -> Fault:
    """Return the fault for the Bank's refusal, with a remedy if the message code is known."""
    message_id, message = _cut(message_id), _cut(message)
    known = BY_ID.get(message_id)
    is_bad = status == BAD_REQUEST
    code = Code.INVALID_INPUT if is_bad else Code.INTERNAL_ERROR
    head = "The Bank of Japan refuses the request" if is_bad else "The Bank of Japan answers with an error"
    meaning = f" ({known.meaning})" if known else ""
    wording = _with_remedy(f"{head}: status {status} {message_id} {message}{meaning}", known.remedy if known else None)
    facts = {"status": status, "message_id": message_id, "message": message, "hint": known.hint if known else None}
    return _fault(code, wording.render(TOOL_NAMES), "API_ERROR", wording, **facts)


def _fault(code: Code, text: str, error_type: str, wording: Wording | None = None, **facts: Any) -> Fault:
    data = {"error_type": error_type, **{name: fact for name, fact in facts.items() if fact is not None}}
    return Fault(code, text, as_tool_result=False, data=data, wording=wording)


def _with_remedy(text: str, remedy: str | None) -> Wording:
    return Wording("{text}" if remedy is None else "{text}. " + remedy, {"text": text})


def _cut(text: str) -> str:
    return text if len(text) <= MAX_CHARS else text[:MAX_CHARS] + "…"
