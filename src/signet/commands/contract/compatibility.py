"""Verdicts: whether what a tool takes or gives is still what it was, and a value that shows it if not.

An input is compatible when all that was valid is still valid: the new contract covers the old one. An output is
compatible when all that may now be returned was promised: the old contract covers the new one. Only a proof counts;
what cannot be decided is breaking. Two readings are asked for beyond the bare schemas:

- `format` is an annotation to most validators and a promise to readers: both meanings must hold.
- an input's open objects are read as `openness` says; outputs are taken at their word, because whoever was told that
  more may come must bear it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

from .annotations import without_annotations
from .counterexample import compiled, counterexample
from .open_objects import Schema, closed, declared_names, named_parts, without

__all__ = ["Side", "Verdict", "compare_schemas"]

Side = Literal["input", "output"]

MOST_CHARS: Final = 160
UNPROVEN: Final = "it cannot be proven compatible, and that counts as breaking"
NO_EXAMPLE: Final = {
    "input": "not all that was valid still is; no example was found",
    "output": "not all that may come was promised; no example was found",
}
DROPPED: Final = "no longer known; an open object takes it and drops it in silence"
SAME: Final = "same values in other words"
MORE: Final = {"input": "takes more", "output": "promises more"}


class Verdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is said of one side of a tool."""

    compatible: bool
    why: str
    example: Any | UnsetType = UNSET
    """An input that was valid and is not, or an output that may come and was not promised."""


class SchemaPair(msgspec.Struct, frozen=True):
    """Whether one schema covers another, under one reading of both."""

    covered: tuple[Schema, ...]
    """Readings of one schema: a proof for any of them will do, and an example must be one for each."""
    covering: Schema
    formats: bool = False
    dropped: bool = False
    """Whether it is about names that are no longer declared."""


def compare_schemas(old: Schema, new: Schema, side: Side) -> Verdict:
    """Compare two contracts of one side of a tool."""
    if _text(old) == _text(new):
        return Verdict(compatible=True, why="unchanged")
    if _text(without_annotations(old)) == _text(without_annotations(new)):
        return Verdict(compatible=True, why="only words changed")
    for age, schema in (("old", old), ("new", new)):
        try:
            compiled(schema, formats=False)
        except ValueError as error:
            return Verdict(compatible=False, why=_cut(f"the {age} schema is not usable: {_first_line(error)}"))
    formats = any(True for _ in named_parts((old, new), "format"))
    for question in _questions(old, new, side, formats=formats):
        broken = _answer(question, side)
        if broken is not None:
            return broken
    same = all(_covers(one, other, formats=formats) == "yes" for one, other in ((old, new), (new, old)))
    return Verdict(compatible=True, why=SAME if same else MORE[side])


def _questions(old: Schema, new: Schema, side: Side, *, formats: bool) -> Iterator[SchemaPair]:
    covered, covering = ((old, *without(old, declared_names(new))), new) if side == "input" else ((new,), old)
    yield SchemaPair(covered, covering)
    if formats:
        yield SchemaPair(covered, covering, formats=True)
    if side == "input":
        yield SchemaPair((old, closed(old)), closed(new), dropped=True)


def _answer(question: SchemaPair, side: Side) -> Verdict | None:
    """Say what breaks, or None; even a proof is put to the test by trying."""
    answers = (_covers(covered, question.covering, formats=question.formats) for covered in question.covered)
    covers = "unknown"
    for covers in answers:
        if covers == "yes":
            break
    hints = () if covers == "yes" else _difference(question)
    example = counterexample(question.covered, question.covering, hints=hints, formats=question.formats)
    if example is not UNSET:
        return Verdict(compatible=False, why=_why(question, example), example=example)
    if covers == "yes":
        return None
    return Verdict(compatible=False, why=NO_EXAMPLE[side] if covers == "no" else UNPROVEN)


def _covers(covered: Schema, covering: Schema, *, formats: bool) -> str:
    """Ask for a proof: yes, no or unknown."""
    from jsonschema_rs import canonicalize

    try:
        part, whole = (canonicalize(one, validate_formats=formats, offline=True) for one in (covered, covering))
        return str(whole.covers(part))
    except ValueError:
        return "unknown"


def _difference(question: SchemaPair) -> tuple[Schema, ...]:
    """Write down what is admitted and not covered, where that can be done: the best place to look for an example."""
    from jsonschema_rs import canonicalize

    schemas = (question.covered[-1], question.covering)
    try:
        part, whole = (canonicalize(one, validate_formats=question.formats, offline=True) for one in schemas)
        difference: Any = part.subtract(whole).to_json_schema()
    except ValueError:
        return ()
    return (difference,)


def _why(question: SchemaPair, example: object) -> str:
    """Tell in the validator's words where the example breaks; a long value is not repeated."""
    told = _complaint(question, example, mask=None)
    return told if len(told) <= MOST_CHARS else _cut(_complaint(question, example, mask="it"))


def _complaint(question: SchemaPair, example: object, mask: str | None) -> str:
    from jsonschema_rs import ValidationError

    try:
        compiled(question.covering, formats=question.formats, mask=mask).validate(example)
    except ValidationError as error:
        place = [str(step) for step in error.instance_path]
        if not question.dropped:
            return ".".join(place) + f": {error.message}" if place else error.message
        cause = getattr(error.kind, "error", None)
        place += [] if cause is None else [str(cause.instance)]
    return ".".join(place) + f": {DROPPED}" if place else DROPPED


def _text(schema: Schema) -> bytes:
    return msgspec.json.encode(schema, order="sorted")


def _first_line(error: ValueError) -> str:
    return str(error).partition("\n")[0]


def _cut(text: str) -> str:
    return text if len(text) <= MOST_CHARS else text[: MOST_CHARS - 1] + "…"
