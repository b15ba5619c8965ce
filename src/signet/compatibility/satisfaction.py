"""Satisfaction: whether any value keeps a schema, shown by one that does, or by a proof that none can. Pure."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from .counterexample import compiled
from .open_objects import Schema
from .values import Check, ValueSet

__all__ = ["example_of", "is_contradiction"]


def example_of(schema: Schema) -> Any:
    """Return a simple value that keeps a schema, or UNSET if none is found."""
    is_valid = compiled(schema, formats=False).is_valid

    def check(part: Schema) -> Check:
        try:
            return compiled(part, formats=False).is_valid
        except ValueError:
            # A part with a reference to another part does not compile alone; the check of the whole decides.
            return lambda _: True

    return next(filter(is_valid, ValueSet(schema, check).all()), UNSET)


def is_contradiction(schema: Schema) -> bool:
    """Return whether it is proven that no value keeps a schema."""
    from jsonschema_rs import canonicalize

    try:
        canonical: Any = canonicalize(schema, validate_formats=False, offline=True).to_json_schema()
    except ValueError:
        return False
    return canonical is False or (isinstance(canonical, dict) and canonical.get("not") in ({}, True))
