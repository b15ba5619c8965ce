"""Fields: what the change of one field of an entry means. Pure.

A field is judged by its meaning: schemas by the engine of `signet.compatibility`, hints of behaviour through their
defaults, everything else as text. A text that hides characters or names a new destination is more than a text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

from signet.compatibility.open_objects import Schema
from signet.compatibility.satisfaction import example_of
from signet.compatibility.verdict import Side, Verdict, compare_schemas
from signet.kernel.schema_budget import check_budget
from signet.system.canonical_json import canonical

from .words import danger_of, property_paths, schema_words

__all__ = ["RANKS", "FieldChange", "Prove", "compare_field", "prove_here"]

FieldVerdict = Literal["same", "compatible", "text", "pending", "widened", "breaking"]
RANKS: Final[dict[str, int]] = {"same": 0, "compatible": 1, "text": 2, "pending": 3, "widened": 4, "breaking": 5}
"""The verdicts, the worst last; `pending` is a change of a schema that is still being compared."""
Prove = Callable[[Schema, Schema, Side], Verdict | None]
"""Compares two schemas, or returns None while they are being compared.

The verdict on a compatible output has a value that may come for its example.
"""
MAX_SCHEMA_BYTES: Final = 262_144
"""A larger schema is not compared: its change counts as breaking."""
MAX_COST: Final = 5_000
"""A schema that looks at a value more often is not compared: thousands of values are tried on it."""
SIDES: Final[dict[str, Side]] = {"inputSchema": "input", "outputSchema": "output"}
DEFAULTS: Final = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}
REACHES: Final = ("resourceUri", "csp", "permissions", "domain")
"""The members of a user interface that say what it loads, reaches or may do."""
WORDS_ALONE: Final = "only words changed"


class FieldChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """How one field of an entry changed."""

    field: str
    verdict: FieldVerdict
    why: str
    example: Any | UnsetType = UNSET
    before: Any | UnsetType = UNSET
    after: Any | UnsetType = UNSET


def prove_here(old: Schema, new: Schema, side: Side) -> Verdict:
    """Compare two schemas in this process, however long it takes: what a child does for schemas of others."""
    verdict = compare_schemas(old, new, side)
    if verdict.compatible and side == "output":
        with suppress(ValueError):  # a schema may be comparable and yet not usable: then an example does not exist
            verdict = msgspec.structs.replace(verdict, example=example_of(new))
    return verdict


def compare_field(kind: str, field: str, old: Any, new: Any, prove: Prove | None = prove_here) -> Iterator[FieldChange]:
    """Yield what the change of a field means; UNSET stands for a field that is not there.

    Where nothing can prove it, a changed schema counts as breaking.
    """
    if field in SIDES and kind == "tool":
        yield from _schema(field, SIDES[field], _schema_of(field, old), _schema_of(field, new), prove)
    elif field == "arguments" and kind == "prompt":
        yield from _schema(field, "input", _prompt_schema(old), _prompt_schema(new), prove)
    elif field == "annotations" and kind == "tool":
        yield from _hints(old, new)
    elif field.startswith("_meta."):
        yield _interface(field, old, new)
    elif field == "execution" and _task_support(new) == "required" != _task_support(old):
        yield FieldChange(field, "breaking", "it runs as a task only", UNSET, old, new)
    else:
        yield _text(field, old, new)


def _text(field: str, old: Any, new: Any) -> FieldChange:
    # A picture is shown beside the name, wherever it lies: nobody is sent there.
    danger = danger_of(_as_text(old), _as_text(new), destinations=field != "icons")
    why = danger or ("it is new" if old is UNSET else "it is gone" if new is UNSET else "its text changed")
    return FieldChange(field, "widened" if danger else "text", why, UNSET, old, new)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is UNSET else "\n".join(map(str, _leaves(value)))


def _leaves(value: Any) -> Iterator[Any]:
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, dict):
            stack += (*part.values(), *part)
        elif isinstance(part, list):
            stack += part
        else:
            yield part


def _schema_of(field: str, value: Any) -> Any:
    """Return a schema; without one, an input takes an object and an output promises nothing."""
    if value is not UNSET:
        return value
    return True if SIDES[field] == "output" else {"type": "object"}


def _schema(field: str, side: Side, old: Any, new: Any, prove: Prove | None) -> Iterator[FieldChange]:
    change = _flaw(field, old, new, is_proven=prove is not None)
    if change is not None:
        yield change
        return
    verdict = prove(old, new, side) if prove is not None else None
    if verdict is None:
        yield FieldChange(field, "pending", "its schema changed, and is being compared", UNSET, old, new)
        return
    before, after = property_paths(old), property_paths(new)
    if not verdict.compatible:
        yield FieldChange(field, "breaking", verdict.why, verdict.example, old, new)
    elif side == "output" and old is not True and before - after:
        why = f"{_named(before - after)} no longer comes"
        yield FieldChange(field, "breaking", why, verdict.example, old, new)
    elif side == "input" and after - before:
        yield FieldChange(field, "widened", f"it takes a new argument: {_named(after - before)}", UNSET, old, new)
    elif verdict.why not in {"unchanged", WORDS_ALONE}:
        yield FieldChange(field, "compatible", verdict.why, UNSET, old, new)
    # The names of new arguments are reported already, where they widen or break.
    arguments = {name for path in after - before for name in path} if side == "input" else set[str]()
    yield from _schema_text(field, old, new, verdict.why, arguments)


def _flaw(field: str, old: Any, new: Any, *, is_proven: bool) -> FieldChange | None:
    """Return the change if it cannot be compared."""
    why = ""
    if not is_proven:
        why = "too many schemas changed to compare each, and that counts as breaking"
    elif max(len(msgspec.json.encode(one)) for one in (old, new)) > MAX_SCHEMA_BYTES:
        why = f"it is larger than {MAX_SCHEMA_BYTES:,} bytes, which is not compared and counts as breaking"
    elif not isinstance(old, dict | bool) or not isinstance(new, dict | bool):
        why = "it is no schema"
    else:
        try:
            for one in (old, new):
                property_paths(one)
                check_budget(one, 0, MAX_COST)
        except ValueError as error:
            why = str(error)
        except RecursionError:
            why = "it is nested too deeply"
    return FieldChange(field, "breaking", why, UNSET, old, new) if why else None


def _named(paths: set[tuple[str, ...]]) -> str:
    return ", ".join(sorted(".".join(path) for path in paths)[:3])


def _schema_text(field: str, old: Any, new: Any, why: str, told: set[str]) -> Iterator[FieldChange]:
    """Yield the change of the words in a schema: of those that are new and not told yet, and of defaults."""
    known = {*schema_words(old), *told}
    words = [word for word in schema_words(new) if word not in known]
    if not words:
        if why == WORDS_ALONE or "default" in why:
            yield FieldChange(field, "text", why, UNSET, old, new)
        return
    danger = danger_of("\n".join(known), "\n".join(words))
    yield FieldChange(field, "widened" if danger else "text", danger or "it has new words", UNSET, old, new)


def _prompt_schema(arguments: Any) -> Any:
    """Return the arguments of a prompt as a schema; each of them is a text. What is no such list is no schema."""
    if isinstance(arguments, dict | bool):
        return [arguments]
    listed = [] if arguments is UNSET else arguments
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        return arguments
    names = [str(one.get("name")) for one in listed]
    if len(set(names)) < len(names):
        return arguments
    properties = {
        name: {"type": "string", **{key: one[key] for key in ("title", "description") if key in one}}
        for name, one in zip(names, listed, strict=True)
    }
    required = sorted(name for name, one in zip(names, listed, strict=True) if one.get("required"))
    return {"type": "object", "properties": properties, "required": required}


def _hints(old: Any, new: Any) -> Iterator[FieldChange]:
    """Yield the hints that say more may happen, and all other changes of annotations as text."""
    before, after = _effective(old), _effective(new)
    riskier: dict[str, Callable[[bool, bool], bool]] = {
        "readOnlyHint": lambda was, now: was and not now,
        "destructiveHint": lambda was, now: now and not was,
        "idempotentHint": lambda was, now: was and not now,
        "openWorldHint": lambda was, now: now and not was,
    }
    worse = [name for name, is_riskier in riskier.items() if is_riskier(before[name], after[name])]
    for name in worse:
        why = f"{name} {str(before[name]).lower()} → {str(after[name]).lower()}"
        yield FieldChange("annotations", "widened", why, UNSET, old, new)
    rest_before, rest_after = ({**_others(one), **hints} for one, hints in ((old, before), (new, after)))
    for name in worse:
        del rest_before[name], rest_after[name]
    if canonical(rest_before) != canonical(rest_after):
        change = _text("annotations", rest_before, rest_after)
        yield msgspec.structs.replace(change, before=old, after=new)


def _effective(annotations: Any) -> dict[str, bool]:
    """Return the hints with their defaults; what only reads destroys nothing and may be repeated."""
    given = annotations if isinstance(annotations, dict) else {}
    hints = {name: given[name] if isinstance(given.get(name), bool) else value for name, value in DEFAULTS.items()}
    if hints["readOnlyHint"]:
        hints |= {"destructiveHint": False, "idempotentHint": True}
    return hints


def _others(annotations: Any) -> dict[str, Any]:
    return annotations if isinstance(annotations, dict) else {} if annotations is UNSET else {"": annotations}


def _interface(field: str, old: Any, new: Any) -> FieldChange:
    """Return the change of a user interface: what it newly loads or reaches counts as widened."""
    is_flat = not isinstance(new, dict) and new is not UNSET
    known = set(_reached(old))
    more = [reach for reach in _reached(new) if reach not in known]
    if more or (is_flat and old != new):
        shown = ", ".join(map(str, more[:3])) if more else str(new)
        return FieldChange(field, "widened", f"its user interface reaches more: {shown}", UNSET, old, new)
    return _text(field, old, new)


def _reached(interface: Any) -> Iterator[Any]:
    if isinstance(interface, dict):
        for key in REACHES:
            if key in interface:
                value = interface[key]
                yield from ((f"{key} {leaf}") for leaf in _leaves(value))


def _task_support(execution: Any) -> Any:
    return execution.get("taskSupport") if isinstance(execution, dict) else None
