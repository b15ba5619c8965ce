"""Verdicts: decide whether a new schema keeps the promises of the old one. Pure.

An input is compatible if every value that was valid is still valid: the new schema covers the old one. An output is
compatible if every value that may now be returned was promised: the old schema covers the new one. Only a proof counts;
an undecided comparison is breaking. Two rules go beyond the bare schemas:

- `format` is an annotation to most validators and a promise to readers: the schemas are compared both ways.
- the open objects of an input are read as `open_objects` says. Outputs are taken literally, because a client that was
  told to expect further properties must accept them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

from signet.system.canonical_json import comparable
from signet.system.text import fit

from .counterexample import compiled, counterexample
from .members import INNER, LISTED, NAMED, parts_of
from .open_objects import Schema, closed, declared_names, named_parts, without

__all__ = ["Compare", "Side", "Verdict", "compare_schemas", "parts_with_default", "settled", "without_annotations"]

Side = Literal["input", "output"]

MAX_REASON_CHARS: Final = 160
MAX_DEFAULTS: Final = 3
"""The new defaults that are named."""
UNPROVEN: Final = "it cannot be proven compatible, and that counts as breaking"
NO_EXAMPLE: Final = {
    "input": "not all that was valid still is; no example was found",
    "output": "not all that may come was promised; no example was found",
}
DROPPED: Final = "no longer known; an open object takes it and drops it in silence"
SAME: Final = "same values in other words"
MORE: Final = {"input": "takes more", "output": "promises more"}

ANNOTATIONS: Final = frozenset(
    ("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment")
)


class Verdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """The verdict on one side of a tool."""

    compatible: bool
    why: str
    example: Any | UnsetType = UNSET
    """An input that was valid and is no longer, or an output that may come and was not promised."""


Compare = Callable[[Schema, Schema, Side], Verdict]
"""Compares the old and the new schema of one side."""


class SchemaPair(msgspec.Struct, frozen=True):
    """A question: does one schema cover another, under one reading of both?"""

    covered: tuple[Schema, ...]
    """Readings of the covered schema: a proof for any of them is enough, and an example must be valid for each."""
    covering: Schema
    formats: bool = False
    """Whether `format` is checked."""
    dropped: bool = False
    """Whether the question is about names that are no longer declared."""


def compare_schemas(old: Schema, new: Schema, side: Side) -> Verdict:
    """Compare the old and the new schema of one side of a tool."""
    plain = settled(old, new)
    if plain is not None:
        return plain
    for age, schema in (("old", old), ("new", new)):
        try:
            compiled(schema, formats=False)
        except ValueError as error:
            first_line = str(error).partition("\n")[0]
            return Verdict(compatible=False, why=fit(f"the {age} schema is not usable: {first_line}", MAX_REASON_CHARS))
    formats = any(True for _ in named_parts((old, new), "format"))
    for pair in _pairs(old, new, side, formats=formats):
        breaking = _breaking(pair, side)
        if breaking is not None:
            return breaking
    same = all(_covers(part, whole, formats=formats) == "yes" for part, whole in ((old, new), (new, old)))
    default = _new_defaults(old, new)
    why = SAME if same else MORE[side]
    return Verdict(compatible=True, why=f"{why}; {default}" if default else why)


def settled(old: Schema, new: Schema) -> Verdict | None:
    """Return the verdict on schemas that admit the same values as they are written, or None: others need a proof."""
    if comparable(old) == comparable(new):
        return Verdict(compatible=True, why="unchanged")
    if comparable(without_annotations(old)) == comparable(without_annotations(new)):
        return Verdict(compatible=True, why=_new_defaults(old, new) or "only words changed")
    return None


def without_annotations(schema: Any) -> Any:
    """Return a schema without its annotations; the values of `enum` and `const` stay as they are."""
    if not isinstance(schema, dict):
        return schema
    return {key: _without_inner(key, value) for key, value in schema.items() if key not in ANNOTATIONS}


def _without_inner(key: str, value: Any) -> Any:
    if key in NAMED and isinstance(value, dict):
        return {name: without_annotations(part) for name, part in value.items()}
    if key in LISTED and isinstance(value, list):
        return [without_annotations(part) for part in value]
    return without_annotations(value) if key in INNER else value


def _new_defaults(old: Schema, new: Schema) -> str:
    """Return which defaults have another value: callers that leave them out get another result."""
    before, after = ({place: part["default"] for place, part in parts_with_default(one)} for one in (old, new))
    texts = []
    for place, value in before.items():
        if place in after and comparable(after[place]) != comparable(value):
            change = f"{msgspec.json.encode(value).decode()} → {msgspec.json.encode(after[place]).decode()}"
            texts.append(fit(f"the default of {'.'.join(place) or 'the whole'} is another: {change}", MAX_REASON_CHARS))
    more = [f"and {len(texts) - MAX_DEFAULTS} more defaults"] if len(texts) > MAX_DEFAULTS else []
    return "; ".join([*texts[:MAX_DEFAULTS], *more])


def parts_with_default(schema: Any) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Yield the parts of a schema that state a default, each with the names that lead to it."""
    for place, part in parts_of(schema):
        if "default" in part:
            yield tuple([name for _, name in place]), part


def _pairs(old: Schema, new: Schema, side: Side, *, formats: bool) -> Iterator[SchemaPair]:
    covered, covering = ((old, *without(old, declared_names(new))), new) if side == "input" else ((new,), old)
    yield SchemaPair(covered, covering)
    if formats:
        yield SchemaPair(covered, covering, formats=True)
    if side == "input":
        yield SchemaPair((old, closed(old)), closed(new), dropped=True)


def _breaking(pair: SchemaPair, side: Side) -> Verdict | None:
    """Return the verdict if a pair breaks, or None; a proof is tested by a search for a counterexample, too."""
    proofs = (_covers(covered, pair.covering, formats=pair.formats) for covered in pair.covered)
    proof = "unknown"
    for proof in proofs:
        if proof == "yes":
            break
    hints = () if proof == "yes" else _difference(pair)
    example = counterexample(pair.covered, pair.covering, hints=hints, formats=pair.formats)
    if example is not UNSET:
        return Verdict(compatible=False, why=_why(pair, example), example=example)
    if proof == "yes":
        return None
    return Verdict(compatible=False, why=NO_EXAMPLE[side] if proof == "no" else UNPROVEN)


def _covers(covered: Schema, covering: Schema, *, formats: bool) -> str:
    """Return whether it is proven that one schema covers another: yes, no or unknown."""
    from jsonschema_rs import canonicalize

    try:
        part, whole = (canonicalize(schema, validate_formats=formats, offline=True) for schema in (covered, covering))
        return str(whole.covers(part))
    except ValueError:
        return "unknown"


def _difference(pair: SchemaPair) -> tuple[Schema, ...]:
    """Return a schema of the values that are admitted and not covered, if there is one: the best hint for a search."""
    from jsonschema_rs import canonicalize

    schemas = (pair.covered[-1], pair.covering)
    try:
        part, whole = (canonicalize(schema, validate_formats=pair.formats, offline=True) for schema in schemas)
        difference: Any = part.subtract(whole).to_json_schema()
    except ValueError:
        return ()
    return (difference,)


def _why(pair: SchemaPair, example: object) -> str:
    """Return the validator's message about an example; a long value in it is masked."""
    message = _complaint(pair, example, mask=None)
    return message if len(message) <= MAX_REASON_CHARS else fit(_complaint(pair, example, mask="it"), MAX_REASON_CHARS)


def _complaint(pair: SchemaPair, example: object, mask: str | None) -> str:
    from jsonschema_rs import ValidationError

    try:
        compiled(pair.covering, formats=pair.formats, mask=mask).validate(example)
    except ValidationError as error:
        path = [str(step) for step in error.instance_path]
        if not pair.dropped:
            return ".".join(path) + f": {error.message}" if path else error.message
        cause = getattr(error.kind, "error", None)
        path += [] if cause is None else [str(cause.instance)]
    return ".".join(path) + f": {DROPPED}" if path else DROPPED
