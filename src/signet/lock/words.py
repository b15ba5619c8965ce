"""Words in schemas and texts: what a model reads there, and what is new among it. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from signet.system.text import hidden_characters

__all__ = ["danger_of", "property_paths", "schema_words", "strings_of"]

VOCABULARY: Final = frozenset(
    (
        "$schema", "$id", "$ref", "$defs", "$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveAnchor",
        "$recursiveRef", "$vocabulary", "$comment", "id", "definitions", "type", "enum", "const", "title",
        "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "format", "pattern", "minLength",
        "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "contentEncoding",
        "contentMediaType", "contentSchema", "properties", "patternProperties", "additionalProperties",
        "unevaluatedProperties", "propertyNames", "required", "minProperties", "maxProperties", "dependentRequired",
        "dependentSchemas", "dependencies", "items", "prefixItems", "additionalItems", "unevaluatedItems", "contains",
        "minContains", "maxContains", "minItems", "maxItems", "uniqueItems", "allOf", "anyOf", "oneOf", "not", "if",
        "then", "else", "object", "array", "string", "number", "integer", "boolean", "null"
    )
)  # fmt: skip
"""The keywords of JSON Schema and the names of its types: no server chose them."""
MAPS: Final = frozenset(("properties", "patternProperties", "dependentSchemas", "$defs", "definitions"))
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
    """Yield the texts in a schema: every name and every value except keywords, since a model reads all of them."""
    stack = [schema]
    while stack:
        part = stack.pop()
        if isinstance(part, str):
            if part not in VOCABULARY:
                yield part
        elif isinstance(part, list):
            stack += part
        elif isinstance(part, dict):
            stack += part
            stack += (inner for key, inner in part.items() if not (key == "$schema" and _is_dialect(inner)))


def _is_dialect(value: Any) -> bool:
    return isinstance(value, str) and DIALECT.fullmatch(value) is not None


def strings_of(value: Any) -> Iterator[str]:
    """Yield each string in a JSON value: the names of members too."""
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict):
            stack += (*part.values(), *part)
        elif isinstance(part, list):
            stack += part


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
