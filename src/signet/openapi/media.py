"""Media types: which of those that a document offers is sent or asked for. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from .plan import BodyKind

__all__ = ["FORM", "JSON", "MULTIPART", "base_type", "is_json", "is_text", "kind_of", "preferred"]

JSON: Final = "application/json"
FORM: Final = "application/x-www-form-urlencoded"
MULTIPART: Final = "multipart/form-data"
TEXTS: Final = ("application/xml", "application/yaml", "application/x-yaml", "application/javascript",
                "application/graphql", "application/x-ndjson")  # fmt: skip
ORDER: Final[tuple[BodyKind, ...]] = ("json", "form", "multipart", "text", "binary")


def base_type(media_type: str) -> str:
    """Return a media type without its parameters, in lower case."""
    return media_type.partition(";")[0].strip().lower()


def is_json(media_type: str) -> bool:
    """Return whether a media type is JSON."""
    base = base_type(media_type)
    return base in {JSON, "text/json"} or base.endswith("+json")


def is_text(media_type: str) -> bool:
    """Return whether a media type is text of another kind."""
    base = base_type(media_type)
    return base.startswith("text/") or base in TEXTS or base.endswith("+xml")


def kind_of(media_type: str) -> BodyKind:
    """Return how a body of a media type is made."""
    base = base_type(media_type)
    if is_json(base) or base in {"*/*", "application/*"}:
        return "json"
    if base == FORM:
        return "form"
    if base.startswith("multipart/"):
        return "multipart"
    return "text" if is_text(base) else "binary"


def preferred(media_types: Iterable[str]) -> str:
    """Return the media type to use: JSON itself, other JSON, a form, text, and anything else last."""
    return min(media_types, key=lambda one: (ORDER.index(kind_of(one)), base_type(one) != JSON), default="")
