"""Which operations of a document become tools: `tag:pets`, `path:/pets*`, `operation:listPets`. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from .failure import DocumentError, shown

__all__ = ["FLAGS", "FORMS", "MAX_OPERATIONS", "Candidate", "Ways", "select"]

MAX_OPERATIONS: Final = 200
"""The most operations that become tools without a choice: a model cannot use more."""
MAX_TAGS: Final = 40
FORMS: Final = "tag:NAME, path:/pets* or operation:ID"


class Ways(NamedTuple):
    """How the user of a document writes a choice of operations and an address, for messages."""

    include: str
    """Stands before `tag:NAME` and its like."""
    base_url: str


FLAGS: Final = Ways("--include ", "--base-url")
"""The flags of `signet wrap`."""


class Candidate(NamedTuple):
    """What an operation can be chosen by."""

    method: str
    path: str
    operation_id: str
    tags: tuple[str, ...]


def select(candidates: Sequence[Candidate], include: Iterable[str], ways: Ways = FLAGS) -> list[int]:
    """Return the places of the chosen operations, or of all; raise DocumentError if there are too many, or none."""
    rules = [_rule(text, ways) for text in include]
    if not candidates:
        raise DocumentError("the document has no operations: there is nothing to serve")
    if not rules:
        if len(candidates) > MAX_OPERATIONS:
            message = f"the document has {len(candidates):,} operations, more than {MAX_OPERATIONS}: choose some with"
            raise DocumentError(f"{message} {ways.include}{FORMS}; {_tags(candidates)}")
        return list(range(len(candidates)))
    found = [place for place, one in enumerate(candidates) if any(rule(one) for rule in rules)]
    if not found:
        chosen = " ".join(map(shown, include))
        raise DocumentError(f"{ways.include}{chosen} chooses no operation; {_tags(candidates)}")
    return found


def _rule(text: str, ways: Ways) -> Callable[[Candidate], bool]:
    kind, colon, wanted = text.partition(":")
    if not colon or not wanted or kind not in {"tag", "path", "operation"}:
        raise DocumentError(f"{ways.include}{shown(text)} cannot be used: write {FORMS}")
    # Runs of stars mean one: a pattern with many would be slow.
    pattern = re.compile(".*".join(map(re.escape, re.split(r"\*+", wanted))), re.DOTALL)
    if kind == "tag":
        return lambda one: any(pattern.fullmatch(tag) for tag in one.tags)
    if kind == "path":
        return lambda one: pattern.fullmatch(one.path) is not None
    return lambda one: pattern.fullmatch(one.operation_id) is not None


def _tags(candidates: Iterable[Candidate]) -> str:
    counts = Counter(tag for one in candidates for tag in one.tags or ("",))
    counts.pop("", 0)
    if not counts:
        return "it has no tags"
    texts = [f"{shown(tag)} ({count})" for tag, count in counts.most_common(MAX_TAGS)]
    more = [f"and {len(counts) - MAX_TAGS} more"] if len(counts) > MAX_TAGS else []
    return f"its tags are {', '.join([*texts, *more])}"
