"""Counterexamples: a value that one schema admits and another rejects, found by trial. Pure.

Candidates are made from the difference of the two schemas if it can be written as a schema, from both schemas, and from
admitted values with one part changed. A value is returned only if the validators of both schemas confirm it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice, zip_longest
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import UNSET

from .open_objects import Schema, declared_names, named_parts
from .scalars import ANYTHING, FORMATS, NAMES, edges, strings_of
from .values import Check, ValueSet

if TYPE_CHECKING:
    from jsonschema_rs import Validator

__all__ = ["compiled", "counterexample"]

ENOUGH: Final = 200
"""The search stops after this many counterexamples; the simplest of them is returned."""
MAX_CANDIDATES: Final = 12_000
MAX_PARTS: Final = 80
MAX_NAMES: Final = 16
PARTS_PER_NAME: Final = 8
MAX_STRING_LENGTH: Final = 1_000
LENGTHS: Final = ("minLength", "maxLength")
BOUNDS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")


def compiled(schema: Schema, *, formats: bool, mask: str | None = None) -> Validator:
    """Compile a schema in its own dialect without fetching anything; a mask replaces values in error messages.

    Raises:
        ValueError: the schema is not usable.
    """
    from jsonschema_rs import validator_for

    return validator_for(schema, validate_formats=formats, mask=mask, offline=True)


def counterexample(
    admitting: tuple[Schema, ...], rejecting: Schema, *, hints: tuple[Schema, ...] = (), formats: bool = False
) -> Any:
    """Return a short value that all `admitting` schemas admit and `rejecting` does not, or UNSET if none is found."""
    admitting_checks = [compiled(schema, formats=formats).is_valid for schema in admitting]
    is_accepted = compiled(rejecting, formats=formats).is_valid

    def check(schema: Schema) -> Check:
        try:
            return compiled(schema, formats=formats).is_valid
        except ValueError:
            # A part with a reference to another part does not compile alone; the check of the whole decides.
            return lambda _: True

    def is_admitted(value: object) -> bool:
        return all(admits(value) for admits in admitting_checks)

    schemas = (admitting[-1], rejecting)
    made = [value for schema in (*hints, *schemas) for value in ValueSet(schema, check).all()]
    seeds = sorted(filter(is_admitted, made), key=_complexity)
    names = _names(schemas)
    parts = _parts(schemas)
    # The most complex seed has most places to change, the simplest seeds are easiest to read.
    variants = (_variants(seed, parts, names) for seed in (*seeds[-1:], *seeds[:2]))
    candidates = islice(chain(made, *variants), MAX_CANDIDATES)
    hits = (value for value in candidates if is_admitted(value) and not is_accepted(value))
    return min(islice(hits, ENOUGH), key=_complexity, default=UNSET)


def _complexity(value: object) -> tuple[bool, int, int]:
    """Rank objects first, as inputs and outputs are objects; then by the number of parts, then by length."""
    text = msgspec.json.encode(value)
    return not isinstance(value, dict), sum(map(text.count, (b",", b":", b"[", b"{"))), len(text) // 100


def _variants(value: Any, parts: list[Any], names: list[str]) -> Iterator[Any]:
    """Yield copies of a value with one part removed, added or replaced."""
    if isinstance(value, dict):
        yield from ({key: inner for key, inner in value.items() if key != name} for name in value)
        yield from ({**value, name: part} for name in names if name not in value for part in parts[:PARTS_PER_NAME])
        nested = [_replaced(value, key, _variants(inner, parts, names)) for key, inner in value.items()]
        yield from _round_robin(nested)
    elif isinstance(value, list):
        yield from (value[:-1], value[1:], [*value, *value])
        yield from ([*value, part] for part in parts)
        nested = [_replaced(value, key, _variants(inner, parts, names)) for key, inner in enumerate(value[:3])]
        yield from _round_robin(nested)
    yield from parts


def _replaced(whole: Any, key: Any, parts: Iterable[Any]) -> Iterator[Any]:
    for part in parts:
        copy = whole.copy()
        copy[key] = part
        yield copy


def _round_robin(sources: list[Iterator[Any]]) -> Iterator[Any]:
    """Yield one value of each source in turn, so that no source has to wait for another to end."""
    while sources:
        left = []
        for source in sources:
            for value in islice(source, 1):
                yield value
                left.append(source)
        sources = left


def _names(schemas: tuple[Schema, ...]) -> list[str]:
    """Return names for a property: declared, required or listed in the schemas, and an undeclared one."""
    lists = (*named_parts(schemas, "required", "enum"), declared_names(schemas))
    names = (name for many in lists if isinstance(many, list | frozenset) for name in many if isinstance(name, str))
    return [NAMES[0], *sorted(set(names))][:MAX_NAMES]


def _parts(schemas: tuple[Schema, ...]) -> list[Any]:
    """Return values that the schemas mention: enum members, bounds, lengths, patterns, formats."""
    values: list[Any] = [value for many in named_parts(schemas, "enum") if isinstance(many, list) for value in many]
    values += named_parts(schemas, "const")
    for bound in named_parts(schemas, *BOUNDS):
        values += edges(bound) if isinstance(bound, int | float) else ()
    for length in named_parts(schemas, *LENGTHS):
        if isinstance(length, int) and length <= MAX_STRING_LENGTH:
            values += ["a" * (length + by) for by in (0, 1, -1)]
    for pattern in named_parts(schemas, "pattern"):
        values += strings_of(pattern)[:6] if isinstance(pattern, str) else ()
    for name in named_parts(schemas, "format"):
        values += FORMATS.get(name, ()) if isinstance(name, str) else ()
    mentioned = list({repr(value): value for value in values}.values())[: MAX_PARTS - len(ANYTHING)]
    # Alternate both kinds, so that each comes early.
    return [value for pair in zip_longest(mentioned, ANYTHING, fillvalue=UNSET) for value in pair if value is not UNSET]
