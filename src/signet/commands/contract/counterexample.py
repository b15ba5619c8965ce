"""Witnesses: a value that one schema admits and another refuses, found by trying.

Candidates are made of the difference of the two where that can be written down, of both schemas, and of admitted
values in which one part is changed. Nothing is given that the validators of both have not confirmed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice, zip_longest
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import UNSET

from .open_objects import Schema, declared_names, named_parts
from .patterns import strings_of
from .scalars import ANYTHING, FORMATS, NAMES, edges
from .values import Check, Values

if TYPE_CHECKING:
    from jsonschema_rs import Validator

__all__ = ["compiled", "counterexample"]

ENOUGH: Final = 200
"""So many are found before the plainest is taken."""
TRIES: Final = 12_000
MOST_PARTS: Final = 80
MOST_NAMES: Final = 16
SOME: Final = 8
LONG: Final = 1_000
LENGTHS: Final = ("minLength", "maxLength")
BOUNDS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")


def compiled(schema: Schema, *, formats: bool, mask: str | None = None) -> Validator:
    """Compile a schema in its own dialect; nothing is fetched, and a mask stands for values in its messages.

    Raises:
        ValueError: it is no usable schema.
    """
    from jsonschema_rs import validator_for

    return validator_for(schema, validate_formats=formats, mask=mask, offline=True)


def counterexample(
    admitting: tuple[Schema, ...], refusing: Schema, *, hints: tuple[Schema, ...] = (), formats: bool = False
) -> Any:
    """Give a short value that some schemas admit and another refuses, or UNSET where none is found."""
    checks = [compiled(schema, formats=formats).is_valid for schema in admitting]
    taken = compiled(refusing, formats=formats).is_valid

    def check(schema: Schema) -> Check:
        try:
            return compiled(schema, formats=formats).is_valid
        except ValueError:
            # A part cannot be compiled where it refers to what stands elsewhere; the whole decides.
            return _anything_goes

    def admitted(value: object) -> bool:
        return all(one(value) for one in checks)

    schemas = (admitting[-1], refusing)
    made = [value for schema in (*hints, *schemas) for value in Values(schema, check).all()]
    seeds = sorted(filter(admitted, made), key=_plainness)
    names = _names(schemas)
    parts = _parts(schemas)
    # The fullest has most places to change, the plainest is best to read.
    changed = (_changed(seed, parts, names) for seed in (*seeds[-1:], *seeds[:2]))
    tried = islice(chain(made, *changed), TRIES)
    found = (value for value in tried if admitted(value) and not taken(value))
    return min(islice(found, ENOUGH), key=_plainness, default=UNSET)


def _anything_goes(_: object) -> bool:
    return True


def _plainness(value: object) -> tuple[bool, int, int]:
    """Put objects first, which inputs and outputs are; then what has the fewest parts and is not long."""
    text = msgspec.json.encode(value)
    return not isinstance(value, dict), sum(map(text.count, (b",", b":", b"[", b"{"))), len(text) // 100


def _changed(value: Any, parts: list[Any], names: list[str]) -> Iterator[Any]:
    """Give a value with one part of it left out, added or put in place of another."""
    if isinstance(value, dict):
        yield from ({key: one for key, one in value.items() if key != name} for name in value)
        yield from ({**value, name: part} for name in names if name not in value for part in parts[:SOME])
        inner = [_placed(value, key, _changed(one, parts, names)) for key, one in value.items()]
        yield from _round_robin(inner)
    elif isinstance(value, list):
        yield from (value[:-1], value[1:], [*value, *value])
        yield from ([*value, part] for part in parts)
        inner = [_placed(value, key, _changed(one, parts, names)) for key, one in enumerate(value[:3])]
        yield from _round_robin(inner)
    yield from parts


def _placed(whole: Any, key: Any, parts: Iterable[Any]) -> Iterator[Any]:
    for part in parts:
        copy = whole.copy()
        copy[key] = part
        yield copy


def _round_robin(sources: list[Iterator[Any]]) -> Iterator[Any]:
    """Take one of each in turn, so that no place has to wait for all of another."""
    while sources:
        left = []
        for source in sources:
            for one in islice(source, 1):
                yield one
                left.append(source)
        sources = left


def _names(schemas: tuple[Schema, ...]) -> list[str]:
    """Gather names that a property may have: declared, demanded or listed, and one that is none of these."""
    lists = (*named_parts(schemas, "required", "enum"), declared_names(schemas))
    found = (one for many in lists if isinstance(many, list | frozenset) for one in many if isinstance(one, str))
    return [NAMES[0], *sorted(set(found))][:MOST_NAMES]


def _parts(schemas: tuple[Schema, ...]) -> list[Any]:
    """Gather what the schemas themselves mention: members, bounds, lengths, patterns, formats."""
    found: list[Any] = [one for many in named_parts(schemas, "enum") if isinstance(many, list) for one in many]
    found += named_parts(schemas, "const")
    for bound in named_parts(schemas, *BOUNDS):
        found += edges(bound) if isinstance(bound, int | float) else ()
    for length in named_parts(schemas, *LENGTHS):
        if isinstance(length, int) and length <= LONG:
            found += ["a" * (length + by) for by in (0, 1, -1)]
    for pattern in named_parts(schemas, "pattern"):
        found += strings_of(pattern)[:6] if isinstance(pattern, str) else ()
    for name in named_parts(schemas, "format"):
        found += FORMATS.get(name, ()) if isinstance(name, str) else ()
    told = list({repr(one): one for one in found}.values())[: MOST_PARTS - len(ANYTHING)]
    # Both kinds early: what is mentioned, and a little of everything.
    return [one for pair in zip_longest(told, ANYTHING, fillvalue=UNSET) for one in pair if one is not UNSET]
