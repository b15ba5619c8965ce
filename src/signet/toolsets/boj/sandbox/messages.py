"""The 24 messages of the API, and the fault that stands for a message.

The Japanese texts are the Bank's own, and so are the six English texts that its responses have shown; the Bank has not
published the other English texts, so those were written for this sandbox.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from signet.kernel.errors import Code, Fault

__all__ = ["DONE", "LANGS", "MESSAGES", "NO_DATA", "SampleMessage", "refuse", "text_of"]


class SampleMessage(NamedTuple):
    """A message in both languages; `{n}` is the number of the series code that it concerns."""

    status: int
    japanese: str
    english: str


LANGS: Final = ("jp", "en")
"""The languages of responses; the first is the default."""

DONE: Final = "M181000I"
NO_DATA: Final = "M181030I"

LATER_J: Final = "時間をおいてからやり直してください。"
LATER: Final = "Please try again later"

MESSAGES: Final = {
    DONE: SampleMessage(200, "正常に終了しました。", "Successfully completed"),
    NO_DATA: SampleMessage(
        200, "正常に終了しましたが、該当データはありませんでした。", "Successfully completed, but there is no such data"
    ),
    "M181001E": SampleMessage(400, "Invalid input parameters", "Invalid input parameters"),
    "M181002E": SampleMessage(400, "Invalid language setting", "Invalid language setting"),
    "M181003E": SampleMessage(400, "結果ファイル形式が正しくありません。", "Invalid format of the result"),
    "M181004E": SampleMessage(400, "DBが指定されていません。", "No database given"),
    "M181005E": SampleMessage(400, "DB名が正しくありません。", "Invalid database name"),
    "M181006E": SampleMessage(400, "系列コードが指定されていません。", "No series code given"),
    "M181007E": SampleMessage(400, "系列コードの数が1250を超えています。", "More than 1250 series codes"),
    "M181008E": SampleMessage(400, "指定した開始期が正しくありません。", "Invalid start period"),
    "M181009E": SampleMessage(400, "指定した終了期が正しくありません。", "Invalid end period"),
    "M181010E": SampleMessage(
        400, "時期は1850年から2050年までを数値で指定してください。", "Give periods in digits, from 1850 to 2050"
    ),
    "M181011E": SampleMessage(
        400, "開始期と終了期の順序を正しく指定してください。", "The start period is later than the end period"
    ),
    "M181012E": SampleMessage(400, "検索開始位置が正しくありません。", "Invalid start position"),
    "M181013E": SampleMessage(
        400, "指定した系列コードは存在しません。：{n}番目のコード", "Nonexistent series code：{n}"
    ),
    "M181014E": SampleMessage(
        400,
        "指定した系列コードの期種が一致しません。：{n}番目のコード",
        "Series code of another frequency：{n}",
    ),
    "M181015E": SampleMessage(
        400, "指定した開始期の設定形式が期種と一致しません。", "The start period does not fit the frequency"
    ),
    "M181016E": SampleMessage(
        400, "指定した終了期の設定形式が期種と一致しません。", "The end period does not fit the frequency"
    ),
    "M181017E": SampleMessage(400, "期種が指定されていません。", "No frequency given"),
    "M181018E": SampleMessage(400, "期種が正しくありません。", "Invalid frequency"),
    "M181019E": SampleMessage(400, "階層情報が指定されていません。", "No layer given"),
    "M181020E": SampleMessage(400, "階層情報設定が正しくありません。", "Invalid layer"),
    "M181090S": SampleMessage(500, f"予期しないエラーが発生しました。{LATER_J}", f"Unexpected error. {LATER}"),
    "M181091S": SampleMessage(
        503, f"データベースにアクセス中にエラーになりました。{LATER_J}", f"Error in database access. {LATER}"
    ),
}


def refuse(message_id: str, n: int = 0) -> Fault:
    """Return the fault for a message; `n` is the number of the series code that it concerns."""
    message = MESSAGES[message_id]
    code = Code.INTERNAL_ERROR if message_id.endswith("S") else Code.INVALID_INPUT
    text = message.english.format(n=n)
    return Fault(code, text, name=message_id, status=message.status, data={"n": n})


def text_of(message_id: str, lang: str, n: int = 0) -> str:
    """Return the text of a message in a language."""
    message = MESSAGES[message_id]
    return (message.english if lang == "en" else message.japanese).format(n=n)
