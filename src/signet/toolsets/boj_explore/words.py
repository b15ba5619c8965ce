"""Words as they are compared: one spelling for width, case, signs and middle dots, in English and Japanese.

    ドル・円　スポット  ──▶  ドル円スポット
    US.Dollar/Yen Spot  ──▶  us dollar yen spot

Pure.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple
from unicodedata import normalize

__all__ = ["SearchQuery", "fold", "read_query", "spell"]

DOTS: Final = str.maketrans("", "", "・·•‧")
INITIALS: Final = re.compile(r"(?<![^\W_])([^\W\d_])\.(?=[^\W\d_](?![^\W_]))")
"""The dot between two single letters: D.I. is di."""
SIGNS: Final = re.compile(r"[^\w@%+]+")
"""What stands between words; codes have `_` and `@` in them."""
BESIDE_JAPANESE: Final = re.compile(r"(?<=[^\x00-\x7f]) | (?=[^\x00-\x7f])")

MAX_WORDS: Final = 12
MAX_WORD_CHARS: Final = 64
PAIR: Final = 2
PLURAL: Final = re.compile(r"[a-z]{3,}[^s\W\d_]s")

SAME: Final = {
    "usd": "dollar", "jpy": "yen", "eur": "euro", "fx": "foreign exchange", "forex": "foreign exchange",
    "ppi": "producer price", "gdp": "gross domestic", "cpi": "price index", "usdjpy": "dollar yen", "boj": "",
    "bank of japan": "", "日銀短観": "短観", "ドル/円": "ドル円", "ユーロ/円": "ユーロ円",
}  # fmt: skip
"""What people write, and what the Bank writes for it."""


class SearchQuery(NamedTuple):
    """The words of a search, each in the spelling of the index."""

    phrase: str
    """The words together."""
    words: tuple[str, ...]

    @property
    def pieces(self) -> tuple[str, ...]:
        """The words, with long Japanese ones cut into pairs of characters: some of them may be elsewhere in a name."""
        pieces: dict[str, None] = {}
        for word in self.words:
            is_long = len(word) > PAIR and not word.isascii()
            pairs = [word[at : at + PAIR] for at in range(len(word) - PAIR + 1)]
            pieces |= dict.fromkeys(pairs if is_long else [word])
        return tuple(pieces)[: 2 * MAX_WORDS]


def spell(text: str) -> str:
    """Return a text with one spelling for each word, and one blank between words."""
    plain = normalize("NFKC", text).casefold().translate(DOTS)
    return SIGNS.sub(" ", INITIALS.sub(r"\1", plain)).strip()


def fold(text: str) -> str:
    """Return a text as it is indexed: spelt, and without blanks beside Japanese, whose words have none."""
    return BESIDE_JAPANESE.sub("", spell(text))


def read_query(text: str) -> SearchQuery:
    """Return the words of a search."""
    plain = normalize("NFKC", text).casefold()
    for theirs, ours in SAME.items():
        if not theirs.isascii() or " " in theirs:
            plain = plain.replace(theirs, ours)
    words: dict[str, None] = {}
    for word in spell(plain).split():
        said = SAME.get(word, word)
        # The Bank writes most names in the singular, and a singular is found in its plural.
        words |= dict.fromkeys(part[:-1] if PLURAL.fullmatch(part) else part for part in said.split())
    chosen = tuple(word[:MAX_WORD_CHARS] for word in words)[:MAX_WORDS]
    return SearchQuery(BESIDE_JAPANESE.sub("", " ".join(chosen)), chosen)
