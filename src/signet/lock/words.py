"""Words in schemas and texts: what a model reads there, and what is new among it. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from .shown import hidden_characters

__all__ = ["danger_of", "property_paths", "schema_words"]

ANNOTATIONS: Final = frozenset(("title", "description", "default", "examples", "$comment"))
MAPS: Final = frozenset(("properties", "patternProperties", "dependentSchemas", "$defs", "definitions"))
IDENTIFIER: Final = re.compile(r"[\w.$/#+-]{1,64}", re.ASCII)
"""A name or a code; with a blank, or longer, it can be a sentence."""
DESTINATION: Final = re.compile(
    r"(?:[a-z][a-z0-9+.-]{1,20}://[^\s\"'<>)\]]{1,200}|[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}"
    r"|\bwww\.[\w-]{1,63}(?:\.[\w-]{1,63}){1,8})",
    re.IGNORECASE,
)
MARKS: Final = re.compile(r"://|@|www", re.IGNORECASE)
"""Each destination has one of these, which are quickly found."""
PIECE_CHARS: Final = 16_384
OVERLAP_CHARS: Final = 1_024
"""More than the longest destination."""
DIALECT: Final = re.compile(r"https?://json-schema\.org/[\w./#-]{1,100}")
MAX_NAMED: Final = 3
MAX_DEPTH: Final = 64


def danger_of(old: str, new: str, *, destinations: bool = True) -> str:
    """Return why a new text is more than a text: it hides characters, or names a destination; empty if it does not."""
    hidden = Counter(hidden_characters(new)) - Counter(hidden_characters(old))
    if hidden:
        return f"it hides characters that show nothing: {_some(list(hidden))}"
    if not destinations:
        return ""
    places = set(_destinations(old))
    more = [place for place in dict.fromkeys(_destinations(new)) if place not in places]
    return f"it names a new destination: {_some(more)}" if more else ""


def _destinations(text: str) -> Iterator[str]:
    """Yield the destinations in a text, which is searched piece by piece: no other thread runs during one search.

    The pieces end at blanks, as destinations do; a word that is longer than a piece is cut, with an overlap.
    """
    start = 0
    while start < len(text):
        end = min(start + PIECE_CHARS, len(text))
        blank = end if end == len(text) else max(text.rfind(" ", start, end), text.rfind("\n", start, end))
        piece = text[start : blank if blank > start else end]
        if MARKS.search(piece) is not None:
            yield from DESTINATION.findall(piece)
        start = blank if blank > start else end - OVERLAP_CHARS


def _some(names: list[str]) -> str:
    rest = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(names[:MAX_NAMED]) + rest


def schema_words(schema: Any) -> Iterator[str]:
    """Yield the texts in a schema that a model may take for a sentence: annotations, and what is no identifier."""
    stack: list[tuple[Any, bool]] = [(schema, False)]
    while stack:
        part, is_annotation = stack.pop()
        if isinstance(part, str):
            if is_annotation or not IDENTIFIER.fullmatch(part):
                yield part
        elif isinstance(part, list):
            stack += ((inner, is_annotation) for inner in part)
        elif isinstance(part, dict):
            yield from (key for key in part if is_annotation or not IDENTIFIER.fullmatch(key))
            stack += ((inner, is_annotation or key in ANNOTATIONS) for key, inner in _members(part))


def _members(part: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the members of a schema; a property may have the name of an annotation."""
    for key, inner in part.items():
        if key == "$schema" and isinstance(inner, str) and DIALECT.fullmatch(inner):
            continue
        if key in MAPS and isinstance(inner, dict):
            yield from (("", one) for one in inner.values())
            yield "", [name for name in inner if not IDENTIFIER.fullmatch(name)]
        else:
            yield key, inner


def property_paths(schema: Any) -> set[tuple[str, ...]]:
    """Return the path of each property that a schema declares, through whatever keywords.

    Raises:
        ValueError: they are nested too deeply.
    """
    found: set[tuple[str, ...]] = set()
    stack: list[tuple[tuple[str, ...], Any]] = [((), schema)]
    while stack:
        path, part = stack.pop()
        if len(path) > MAX_DEPTH:
            raise ValueError(f"its properties are nested deeper than {MAX_DEPTH}")
        if isinstance(part, list):
            stack += ((path, inner) for inner in part)
        elif isinstance(part, dict):
            for key, inner in part.items():
                if key == "properties" and isinstance(inner, dict):
                    found |= {(*path, name) for name in inner}
                    stack += (((*path, name), one) for name, one in inner.items())
                elif key in MAPS and isinstance(inner, dict):
                    stack += (((*path, key, name), one) for name, one in inner.items())
                elif key not in {"default", "examples", "enum", "const"}:
                    stack.append((path, inner))
    return found
