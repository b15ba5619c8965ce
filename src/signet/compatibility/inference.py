"""Schemas inferred from samples: what all values that were seen have in common. Pure.

A shape is what is known of the values at one place. Shapes are merged in any order, with one result; every sample
keeps the schema of a shape that it went into. A schema says no more than the samples prove: types, what was always
there, and a choice of texts only where few short ones came again and again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec

__all__ = ["Shape", "infer", "merged", "schema_of", "shape_of"]

MAX_CHOICES: Final = 5
MIN_REPEATS: Final = 4
"""How often each text must have come before the texts are a choice."""
CHOICE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,31}")
MAX_PROPERTIES: Final = 100
"""The number of names from which on an object is a map: its names are data."""
MAX_DEPTH: Final = 32
"""The depth below which anything goes."""
SCALARS: Final = ("null", "boolean", "integer", "number", "string")


class Shape(msgspec.Struct, frozen=True):
    """What is known of the values at one place."""

    count: int = 0
    kinds: frozenset[str] = frozenset()
    """The types that were seen; `any` where nothing is known."""
    choices: tuple[tuple[str, int], ...] | None = ()
    """Each text with its number, sorted; None where there are too many, or one that is no word."""
    objects: int = 0
    properties: tuple[tuple[str, Shape], ...] | None = ()
    """The shape of each property, sorted by name; None for a map."""
    items: Shape | None = None
    """The shape of all items of arrays, and of all values of a map in `values`."""
    values: Shape | None = None


NOTHING: Final = Shape()


def infer(samples: Iterable[Any]) -> dict[str, Any]:
    """Return the schema that the samples prove, and that refuses none of them."""
    shape = NOTHING
    for sample in samples:
        shape = merged(shape, shape_of(sample))
    return schema_of(shape)


def shape_of(value: Any, depth: int = 0) -> Shape:
    """Return the shape of one JSON value."""
    if depth > MAX_DEPTH:
        return Shape(1, frozenset({"any"}))
    if isinstance(value, str):
        choices = ((value, 1),) if CHOICE.fullmatch(value) else None
        return Shape(1, frozenset({"string"}), choices)
    if isinstance(value, list):
        return Shape(1, frozenset({"array"}), items=_merged_all(shape_of(one, depth + 1) for one in value))
    if isinstance(value, dict):
        named = tuple((name, shape_of(value[name], depth + 1)) for name in sorted(value))
        shape = Shape(1, frozenset({"object"}), objects=1, properties=named)
        return _as_map(shape) if len(named) > MAX_PROPERTIES else shape
    return Shape(1, frozenset({_scalar(value)}))


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    return "integer" if isinstance(value, int) else "number"


def merged(one: Shape, other: Shape) -> Shape:
    """Return what is known of the values of two shapes; the order does not count."""
    if one.properties is None or other.properties is None:
        one, other = _as_map(one), _as_map(other)
    shape = Shape(
        one.count + other.count,
        one.kinds | other.kinds,
        _merged_choices(one.choices, other.choices),
        one.objects + other.objects,
        _merged_properties(one.properties, other.properties),
        _merged_some(one.items, other.items),
        _merged_some(one.values, other.values),
    )
    return _as_map(shape) if shape.properties is not None and len(shape.properties) > MAX_PROPERTIES else shape


def _as_map(shape: Shape) -> Shape:
    if shape.properties is None:
        return shape
    return msgspec.structs.replace(shape, properties=None, values=_merged_all(one for _, one in shape.properties))


def _merged_all(shapes: Iterable[Shape]) -> Shape | None:
    result = None
    for shape in shapes:
        result = _merged_some(result, shape)
    return result


def _merged_some(one: Shape | None, other: Shape | None) -> Shape | None:
    return merged(one, other) if one is not None and other is not None else one or other


def _merged_choices(
    one: tuple[tuple[str, int], ...] | None, other: tuple[tuple[str, int], ...] | None
) -> tuple[tuple[str, int], ...] | None:
    if one is None or other is None:
        return None
    counts = dict(one)
    for text, count in other:
        counts[text] = counts.get(text, 0) + count
    return tuple(sorted(counts.items())) if len(counts) <= MAX_CHOICES else None


def _merged_properties(
    one: tuple[tuple[str, Shape], ...] | None, other: tuple[tuple[str, Shape], ...] | None
) -> tuple[tuple[str, Shape], ...] | None:
    if one is None or other is None:
        return None
    shapes = dict(one)
    for name, shape in other:
        shapes[name] = merged(shapes[name], shape) if name in shapes else shape
    return tuple(sorted(shapes.items(), key=lambda pair: pair[0]))


def schema_of(shape: Shape) -> dict[str, Any]:
    """Return the schema of a shape; open, so that what was not seen is allowed beside what was."""
    if not shape.kinds or "any" in shape.kinds:
        return {}
    kinds = shape.kinds - {"integer"} if "number" in shape.kinds else shape.kinds
    ordered = [kind for kind in (*SCALARS, "array", "object") if kind in kinds]
    schema: dict[str, Any] = {"type": ordered[0] if len(ordered) == 1 else ordered}
    if _is_choice(shape):
        schema["enum"] = [text for text, _ in shape.choices or ()] + ([None] if "null" in kinds else [])
    if shape.items is not None and (items := schema_of(shape.items)):
        schema["items"] = items
    if shape.values is not None and (values := schema_of(shape.values)):
        schema["additionalProperties"] = values
    if shape.properties:
        schema["properties"] = {name: schema_of(one) for name, one in shape.properties}
        required = [name for name, one in shape.properties if one.count == shape.objects]
        schema |= {"required": required} if required else {}
    return schema


def _is_choice(shape: Shape) -> bool:
    """Return whether few texts came again and again, and nothing else but null."""
    counts = [count for _, count in shape.choices or ()]
    return shape.kinds <= {"string", "null"} and len(counts) > 1 and min(counts) >= MIN_REPEATS
