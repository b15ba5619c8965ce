"""The parts of a type: its arguments, what stands beside it in `Annotated`, and the members of its classes. Pure."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator
from typing import Any, Final, get_args, get_origin, get_type_hints

import msgspec

__all__ = ["is_of_pydantic", "misplaced_limits", "needs_pydantic"]

MODELS: Final = ("__pydantic_core_schema__", "__pydantic_fields__", "__get_pydantic_core_schema__")
"""The attributes of models, and of types such as `HttpUrl`."""
LIMITS: Final = frozenset(("pydantic", "annotated_types"))
"""The packages whose objects beside a type are its limits: `Field(ge=1)`, `Ge(1)`."""
NAMED: Final = ("__value__", "__supertype__")
"""The attributes under which `type A = …` and `NewType` keep the type."""


def needs_pydantic(hint: Any) -> bool:
    """Return whether pydantic must read a type, since it or a part of it has pydantic's limits or is of pydantic.

    Structs of msgspec are not searched: pydantic cannot read them.
    """
    return "pydantic" in sys.modules and any(_is_limit(part) or is_of_pydantic(part) for part in _parts(hint))


def is_of_pydantic(part: Any) -> bool:
    """Return whether a type is a model or another type of pydantic."""
    return any(hasattr(part, name) for name in MODELS)


def misplaced_limits(hint: Any, *, by_pydantic: bool) -> str:
    """Return where a type has limits that its reader, pydantic or msgspec, does not apply; empty if nowhere."""
    if "pydantic" not in sys.modules:
        return ""
    for part in _parts(hint, into_structs=not by_pydantic):
        if by_pydantic and isinstance(part, msgspec.Meta):
            return "pydantic reads this type, and applies no Meta of msgspec: write Field(…) instead of Meta(…)"
        if not by_pydantic and _is_limit(part):
            return "a struct of msgspec applies no limits of pydantic: write Meta(…) in it, or make it a pydantic model"
    return ""


def _is_limit(part: Any) -> bool:
    return not isinstance(part, type) and type(part).__module__.partition(".")[0] in LIMITS


def _parts(hint: Any, *, into_structs: bool = False) -> Iterator[Any]:
    """Yield a type and its parts at any depth, each once; those of pydantic's models are left to pydantic."""
    seen: dict[int, Any] = {}
    pending = [hint]
    while pending:
        part = pending.pop()
        if id(part) in seen:
            continue
        seen[id(part)] = part
        yield part
        pending += get_args(part)
        pending += [vars(part)[name] for name in NAMED if name in getattr(part, "__dict__", ())]
        kind = get_origin(part) or part
        if isinstance(kind, type) and not is_of_pydantic(kind):
            pending += _members(kind, into_structs=into_structs)


def _members(kind: type[Any], *, into_structs: bool) -> list[Any]:
    """Return the types of the members of a class, and their defaults."""
    if isinstance(kind, type(msgspec.Struct)):
        if not into_structs:
            return []
        defaults: Any = kind.__struct_defaults__
    elif dataclasses.is_dataclass(kind):
        defaults = [field.default for field in dataclasses.fields(kind)]
    elif issubclass(kind, tuple) and hasattr(kind, "_field_defaults"):
        defaults = kind._field_defaults.values()
    elif hasattr(kind, "__required_keys__"):
        # A TypedDict, of typing or of typing_extensions.
        defaults = ()
    else:
        return []
    return [*get_type_hints(kind, include_extras=True).values(), *defaults]
