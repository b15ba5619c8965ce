"""The databases of the Bank of Japan: the list that its API has no way to ask for.

Pure. Codes, names and fields are the Bank's, in the order of its manual.
"""
# ruff: noqa: RUF001 - the Bank's own names, with the punctuation that they have

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["DATABASES", "Database", "search"]


class Database(NamedTuple):
    """One database, and the field of statistics that it belongs to, in both languages."""

    code: str
    japanese: str
    english: str
    category_japanese: str
    category_english: str


_LISTED: Final = """
# 金利（預金・貸出関連） | Interest Rates on Deposits and Loans
