"""The names of tools and arguments: valid for every client, and the same whatever is selected of a document. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable
from hashlib import sha256
from typing import Final, NamedTuple

__all__ = ["ToolName", "argument_name", "tool_names"]

MAX_CHARS: Final = 64
"""The longest name of a tool or an argument that every client takes."""
MARK_CHARS: Final = 8
ALIEN: Final = re.compile(r"[^A-Za-z0-9_-]+")
ALIEN_IN_ARGUMENT: Final = re.compile(r"[^A-Za-z0-9_.-]+")
WORDS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class ToolName(NamedTuple):
    """The name of a tool, and the last part of its slug."""

    name: str
    slug: str


def tool_names(operations: Iterable[tuple[str, str, object]]) -> list[ToolName]:
    """Return a name for each operation, given as method, path and operationId.

    A name that several operations have, or that is too long, ends with a mark of method and path, so that it does not
    depend on the order of the document.
    """
    given = [(_plain(method, path, known), f"{method.upper()} {path}") for method, path, known in operations]
    counts = Counter(_slug(name) for name, _ in given)
    found = []
    for name, place in given:
        unique = name
        if counts[_slug(name)] > 1 or len(name) > MAX_CHARS:
            mark = sha256(place.encode(errors="surrogatepass")).hexdigest()[:MARK_CHARS]
            unique = f"{name[: MAX_CHARS - MARK_CHARS - 1].rstrip('_-')}_{mark}"
        found.append(ToolName(unique, _slug(unique)))
    return found


def _plain(method: str, path: str, known: object) -> str:
    """Return the operationId with the alphabet of names; without one, a name of method and path."""
    name = ALIEN.sub("_", known).strip("_-") if isinstance(known, str) else ""
    return name or f"{method.lower()}_{ALIEN.sub('_', path).strip('_-')}".rstrip("_") or method.lower()


def _slug(name: str) -> str:
    return WORDS.sub("_", name).replace("-", "_").lower()


def argument_name(name: str, place: str, taken: Container[str]) -> str:
    """Return the name of an argument that is not taken: the parameter's own, or with its place before it."""
    plain = ALIEN_IN_ARGUMENT.sub("_", name)[:MAX_CHARS].strip("_.-") or place
    if plain not in taken:
        return plain
    base = f"{place}_{plain}"[: MAX_CHARS - 3]
    count, free = 2, base
    while free in taken:
        free, count = f"{base}_{count}", count + 1
    return free
