"""The Bank of Japan's messages in tests, as its manual prints them, and how a message is ordered."""

from __future__ import annotations

import json
from typing import Any

MANUAL = {
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

KNOWN_ENGLISH = {"M181000I", "M181001E", "M181002E", "M181005E", "M181013E", "M181018E"}
"""The messages whose English text was seen in the Bank's own responses."""

ENGLISH = {
    "M181000I": "Successfully completed",
    "M181001E": "Invalid input parameters",
    "M181002E": "Invalid language setting",
    "M181005E": "Invalid database name",
    "M181007E": "More than 1250 series codes",
    "M181013E": "Nonexistent series code：{n}",
    "M181014E": "Series code of another frequency：{n}",
    "M181015E": "The start period does not fit the frequency",
    "M181016E": "The end period does not fit the frequency",
    "M181018E": "Invalid frequency",
    "M181090S": "Unexpected error. Please try again later",
    "M181091S": "Error in database access. Please try again later",
}
"""The English texts that tests meet: the Bank's own where they are known, and otherwise the played Bank's."""


def text_of(message_id: str, lang: str, n: int = 0) -> str:
    """Return the text of a message; `n` is the place of the series code that it concerns."""
    return (ENGLISH[message_id] if lang == "en" else MANUAL[message_id][1]).format(n=n)


def order_of(message_id: str, *, lang: str = "jp", times: int | None = None) -> dict[str, Any]:
    """The fault rule that answers any request with a message."""
    status, text = MANUAL[message_id][0], text_of(message_id, lang, 1)
    body = {"STATUS": status, "MESSAGEID": message_id, "MESSAGE": text, "DATE": "2026-02-19T20:45:46.957+09:00"}
    encoded = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return {"fault": "answer", "status": status, "body": encoded, "times": times}
