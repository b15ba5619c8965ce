"""A real search over the samples: SQLite's FTS5 in memory, ranked by bm25.

Each thing that is asked for is looked up by itself. A problem's similarity is the weighted mean of how well it does
on each, where the problem that does best on a thing has 1 and the weight is that best score, so that rare words count
for more. Hence 1 is "the best for every word", 0 is "none of them", and the order is bm25's.
"""

from __future__ import annotations

import sqlite3
import weakref
from collections import Counter
from collections.abc import Iterable
from math import log
from typing import Final

import msgspec

from .problem import SampleFile
from .problem_store import natural
from .tokens import BOILERPLATE, plain, rewrite, words

__all__ = ["GHOST", "Hit", "Search"]

WEIGHTS: Final = (4.0, 3.0, 1.0)
"""What a word in the title, the tags and the statement is worth."""

MAX_BODY_CHARS: Final = 4000
"""How much of a statement is indexed, so that a very long one does not drown in its own length."""

KEYWORDS: Final = 12
"""How many words of a problem are looked for to find others like it."""


class Hit(msgspec.Struct, frozen=True):
    """One problem that was found, as the backend tells it."""

    source: str
    id: str
    title: str | None
    difficulty: str | None
    link: str | None
    similarity: float = 0.0


GHOST: Final = Hit("codeforces", "9003A", None, None, None)
"""A problem that the index still knows and the shelf does not: title, difficulty and link are null."""
GHOST_TEXT: Final = "lantern festival: pairs of lanterns and the brightness of the street"


class Search:
    """The index, and how it is asked."""

    def __init__(self, samples: Iterable[SampleFile]) -> None:
        # Asked from one thread at a time, though not from the one that made it.
        self._index = sqlite3.connect(":memory:", check_same_thread=False)
        weakref.finalize(self, self._index.close)
        self._index.execute("CREATE VIRTUAL TABLE sample USING fts5(title, tags, body, tokenize = 'porter unicode61')")
        self._hits: list[Hit] = []
        self._texts: dict[tuple[str, str], tuple[str, str, str]] = {}
        for one in samples:
            if one.embedded:
                it = one.problem
                text = (
                    f"{it.title or ''} {it.title_cn or ''}",
                    " ".join(it.tags),
                    plain(it.content or "")[:MAX_BODY_CHARS],
                )
                self._add(Hit(it.source, it.id, it.title, it.difficulty, it.link), text)
        self._add(GHOST, ("", "", GHOST_TEXT))
        self._seen_in = Counter(word for text in self._texts.values() for word in set(words(" ".join(text))))

    def by_text(self, query: str) -> tuple[str | None, list[Hit]]:
        """Find problems for a text; the first value tells how it was understood, None for nothing but filler."""
        asked = rewrite(query)
        told = " ".join(f"{item[0]} ({item[1]})" if len(item) > 1 else item[0] for item in asked)
        return told or None, self._rank(asked)

    def by_id(self, source: str, problem_id: str) -> tuple[str | None, list[Hit]] | None:
        """Find problems like one of them; None when the index does not know it."""
        text = self._texts.get((source, problem_id))
        if text is None:
            return None
        title, tags, _ = (" ".join(part.split()) for part in text)
        asked = rewrite(f"{title} {tags}") + [(word,) for word in self._keywords(text)]
        told = ": ".join(part for part in (title, tags) if part)
        return told or None, self._rank(list(dict.fromkeys(asked)), (source, problem_id))

    def _add(self, hit: Hit, text: tuple[str, str, str]) -> None:
        self._hits.append(hit)
        self._texts[hit.source, hit.id] = text
        row = (len(self._hits) - 1, *(" ".join(words(part)) for part in text))
        self._index.execute("INSERT INTO sample(rowid, title, tags, body) VALUES (?, ?, ?, ?)", row)

    def _keywords(self, text: tuple[str, str, str]) -> list[str]:
        """Give the words that a problem shares with few others."""
        telling = (word for word in words(text[2]) if len(word) > 1 and not word.isdigit() and word not in BOILERPLATE)
        counted = Counter(word for word in telling if self._seen_in[word] > 1)
        worth = {word: n * log(len(self._texts) / self._seen_in[word]) for word, n in counted.items()}
        return sorted(worth, key=lambda word: (-worth[word], word))[:KEYWORDS]

    def _rank(self, asked: list[tuple[str, ...]], but: tuple[str, str] | None = None) -> list[Hit]:
        """Give every problem but one that has any of what is asked for, the most similar first."""
        found = [scores for item in asked if (scores := self._scores(item, but))]
        if not found:
            return []
        weights = [max(scores.values()) for scores in found]
        # What no problem has weighs as much as the mean of the rest: it keeps all of them from being a full match.
        whole = sum(weights) * len(asked) / len(found)
        totals: Counter[int] = Counter()
        for scores in found:
            totals.update(scores)
        hits = [msgspec.structs.replace(self._hits[row], similarity=round(n / whole, 4)) for row, n in totals.items()]
        return sorted(hits, key=lambda hit: (-hit.similarity, hit.source, natural(hit.id)))

    def _scores(self, item: tuple[str, ...], but: tuple[str, str] | None) -> dict[int, float]:
        """Give the score of each problem that has a thing, however it is said; the best of its ways counts."""
        best: dict[int, float] = {}
        for way in item:
            phrase = '"' + " ".join(words(way)) + '"'
            query = "SELECT rowid, -bm25(sample, ?, ?, ?) FROM sample WHERE sample MATCH ?"
            for row, score in self._index.execute(query, (*WEIGHTS, phrase)):
                hit = self._hits[row]
                if (hit.source, hit.id) != but:
                    best[row] = max(score, best.get(row, 0.0))
        return best
