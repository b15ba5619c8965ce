"""A search over the samples: cosine similarity of word vectors; pure.

A word counts for more in a title or a tag, and for more the fewer problems have it. Chinese and Japanese have no
spaces, so a run of their characters is cut into overlapping pairs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from html import unescape
from importlib.resources import files
from math import log, sqrt
from typing import Final

import msgspec

from .problem_store import SampleProblem, StoredProblem, natural_key

__all__ = ["SearchHit", "SearchIndex"]

TITLE_WEIGHT: Final = 2
TAG_WEIGHT: Final = 3

_DATA: Final = msgspec.json.decode((files(__package__) / "search.json").read_bytes())
STOP_WORDS: Final = frozenset[str](_DATA["stop_words"])
TERMS: Final[dict[str, str]] = _DATA["terms"]
"""Terms in English and Chinese that a query in either language finds."""

GHOST: Final = msgspec.convert(_DATA["ghost"], SampleProblem)
"""A problem that the index has and the store does not: title, difficulty and link are null."""

_CJK: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD: Final = re.compile(rf"\b({'|'.join(TERMS)})(?:e?s|ing| table)?\b|[{_CJK}]+|[^\W_{_CJK}]+")
_ENDING: Final = re.compile(r"(?<=[a-z]{3})(?:ings?|s)$")
_MARKUP: Final = re.compile(r"<[a-z/!][^>]*>|https?://\S+|\\[a-z]+|^#+ .*$", re.IGNORECASE | re.MULTILINE)


class SearchHit(msgspec.Struct, frozen=True):
    """One result, with the fields of the backend."""

    source: str
    id: str
    title: str | None
    difficulty: str | None
    link: str | None
    similarity: float


class SearchIndex:
    """The word vectors of all embedded problems."""

    def __init__(self, entries: Iterable[StoredProblem]) -> None:
        problems = [GHOST, *(entry.problem for entry in entries if entry.embedded)]
        weights = [_weigh(unescape(_MARKUP.sub(" ", it.content or "")), *_title_and_tags(it)) for it in problems]
        spread = Counter(word for words in weights for word in words)
        self._rarity = {word: log(len(problems) / number) for word, number in spread.items()}
        self._unknown = log(len(problems))
        vectors = map(self._vector, weights)
        self._documents = {(it.source, it.id): (it, vector) for it, vector in zip(problems, vectors, strict=True)}

    def by_text(self, query: str) -> tuple[str | None, list[SearchHit]]:
        """Return the query without stop words, or None if nothing is left, and its results, best first."""
        words = dict.fromkeys(_words(query))
        rewritten = " ".join(f"{word} ({TERMS[word]})" if word in TERMS else word for word in words)
        return rewritten or None, self._rank(self._vector(_weigh(query)))

    def by_id(self, source: str, problem_id: str) -> tuple[str | None, list[SearchHit]] | None:
        """Return the title and tags of a problem and the problems like it; None if the index does not have it."""
        if (source, problem_id) not in self._documents:
            return None
        problem, vector = self._documents[source, problem_id]
        hits = [hit for hit in self._rank(vector) if (hit.source, hit.id) != (source, problem_id)]
        return ": ".join(filter(None, _title_and_tags(problem))) or None, hits

    def _vector(self, weights: dict[str, float]) -> dict[str, float]:
        vector = {word: weight * self._rarity.get(word, self._unknown) for word, weight in weights.items()}
        length = sqrt(sum(weight * weight for weight in vector.values())) or 1
        return {word: weight / length for word, weight in vector.items()}

    def _rank(self, query: dict[str, float]) -> list[SearchHit]:
        hits = []
        for it, vector in self._documents.values():
            if similarity := round(sum(weight * vector.get(word, 0) for word, weight in query.items()), 4):
                hits.append(SearchHit(it.source, it.id, it.title, it.difficulty, it.link, similarity))
        return sorted(hits, key=lambda hit: (-hit.similarity, hit.source, natural_key(hit.id)))


def _title_and_tags(problem: SampleProblem) -> tuple[str, str]:
    return " ".join(f"{problem.title or ''} {problem.title_cn or ''}".split()), " ".join(problem.tags)


def _words(text: str) -> Iterator[str]:
    """Yield English terms, runs of Chinese or Japanese, and other words; skip stop words."""
    text = text.lower()
    for english, chinese in TERMS.items():
        text = text.replace(chinese, f" {english} ")
    return (match[1] or match[0] for match in _WORD.finditer(text) if match[0] not in STOP_WORDS)


def _weigh(text: str, title: str = "", tags: str = "") -> dict[str, float]:
    weights = {stem: 1 + log(number) for stem, number in Counter(_stems(text)).items()}
    for part, weight in ((title, TITLE_WEIGHT), (tags, TAG_WEIGHT)):
        for stem in _stems(part):
            weights[stem] = weights.get(stem, 0) + weight
    return weights


def _stems(text: str) -> Iterator[str]:
    for word in _words(text):
        if re.match(f"[{_CJK}]{{2}}", word):
            yield from (word[place : place + 2] for place in range(len(word) - 1))
        else:
            yield _ENDING.sub("", word)
