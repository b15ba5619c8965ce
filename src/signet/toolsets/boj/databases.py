"""The list of the Bank of Japan's databases, which its API does not offer.

Codes, names and fields are the Bank's, in the order of its manual; `databases.json` holds them, each name in Japanese
and in English.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Final, NamedTuple
from unicodedata import normalize

import msgspec

__all__ = ["DATABASES", "Database", "search"]


class Database(NamedTuple):
    """A database and its field of statistics, in both languages."""

    code: str
    japanese: str
    english: str
    category_japanese: str
    category_english: str


DATABASES: Final = tuple(
    Database(*database, *group["field"])
    for group in msgspec.json.decode((files(__package__) / "databases.json").read_bytes())
    for database in group["databases"]
)
"""The 50 databases."""


def search(text: str) -> list[Database]:
    """Return the databases that have every word of the text in their code, name or field, in either language."""
    words = _normalise(text).split()
    return [database for database in DATABASES if all(word in _normalise(" ".join(database)) for word in words)]


def _normalise(text: str) -> str:
    """Return the text in lower case, with half-width letters and signs."""
    return normalize("NFKC", text).casefold()
