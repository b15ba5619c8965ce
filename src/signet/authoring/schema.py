"""The JSON Schema of a type: msgspec's with references written out, or pydantic's for what it describes. Pure."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, Final

import msgspec

from signet.kernel.schemas import ContractError

from .finite import is_finite
from .type_parts import misplaced_limits, needs_pydantic

__all__ = ["UNREADABLE", "AdaptedType", "UnsupportedTypeError", "adapt", "hoisted", "inlined", "schema_of_type"]

MAX_NODES: Final = 5000
"""The size up to which references are written out: types that share types could grow without bound."""
MAX_DEPTH: Final = 64
MAX_PLACES: Final = 10
REF: Final = "#/$defs/"
ANYTHING: Final = ("$comment", "anything")
"""The mark of `object` in a schema of msgspec, which takes no empty one for it."""
UNREADABLE: Final = (TypeError, ValueError, NameError, AttributeError, SyntaxError, RuntimeError, ImportError)
"""What msgspec and pydantic raise for a type; pydantic's own errors and RecursionError are kinds of RuntimeError.

ImportError is for a type of pydantic that needs a package, as `EmailStr` does.
"""


class UnsupportedTypeError(TypeError):
    """A type has no schema; `kind` is the class that has none, which may lie within the type."""

    def __init__(self, kind: type[Any]) -> None:
        super().__init__(f"type {kind!r} is not supported")
        self.kind = kind


class AdaptedType(msgspec.Struct, frozen=True):
    """A type that another library reads and writes."""

    schema: dict[str, Any]
    load: Callable[[Any], Any]
    """Return the typed value of a JSON value; raise ContractError if it is none."""
    dump: Callable[[Any], Any]
    """Return the JSON value of a typed one; raise ValueError, TypeError or RecursionError if there is none."""
    accepts: Callable[[Any], bool]
    """Return whether a default is of the type."""
    default: Callable[[], Any] | None = None
    """Return a new default, where the type itself states one."""
    has_factory: bool = False
    """Whether each default is computed when it is needed."""


def schema_of_type(hint: Any) -> dict[str, Any]:
    """Return the schema of a type; raise one of `UNREADABLE` if JSON has no such value, or a name is not defined."""
    _check_limits(hint, by_pydantic=False)
    return inlined(msgspec.json.schema(hint, schema_hook=_custom))


def _check_limits(hint: Any, *, by_pydantic: bool) -> None:
    """Raise TypeError if a type has limits that would not hold."""
    if why := misplaced_limits(hint, by_pydantic=by_pydantic):
        raise TypeError(why)


def _custom(kind: type[Any]) -> dict[str, Any]:
    """Return the schema of a type that msgspec does not know: only `object` has one, the same as `Any`."""
    if kind is object:
        return dict([ANYTHING])
    raise UnsupportedTypeError(kind)


def adapt(hint: Any, *, is_result: bool = False) -> AdaptedType | None:
    """Return how pydantic reads or writes a type that mentions its models or fields, or None for any other type.

    A result is described as it is written: by its aliases, with the fields that are computed.
    """
    if not needs_pydantic(hint):
        return None
    _check_limits(hint, by_pydantic=True)
    from pydantic import TypeAdapter, ValidationError

    field = _default_of(hint)
    adapter = TypeAdapter(hint)
    schema = inlined(adapter.json_schema(by_alias=True, mode="serialization" if is_result else "validation"))

    def load(value: Any) -> Any:
        try:
            return adapter.validate_python(value)
        except ValidationError as error:
            errors = error.errors(include_url=False, include_context=False, include_input=False)[:MAX_PLACES]
            raise ContractError([(".".join(map(str, one["loc"])), one["msg"]) for one in errors]) from None

    def dump(value: Any) -> Any:
        return adapter.dump_python(value, mode="json", by_alias=True, warnings=False)

    def accepts(value: Any) -> bool:
        with contextlib.suppress(ValueError, TypeError, RecursionError):
            adapter.validate_python(value, strict=True)
            return True
        # Written in JSON, a day is a text, and so is an address.
        with contextlib.suppress(ValueError, TypeError, RecursionError):
            adapter.validate_json(msgspec.json.encode(dump(value)), strict=True)
            return True
        return False

    if field is None:
        return AdaptedType(schema, load, dump, accepts)
    has_factory = field.default_factory is not None
    return AdaptedType(schema, load, dump, accepts, _maker(adapter, accepts if has_factory else None), has_factory)


def _maker(adapter: Any, accepts: Callable[[Any], bool] | None) -> Callable[[], Any]:
    """Return a function that makes the default of a type; it raises TypeError if `accepts` refuses the default."""

    def make() -> Any:
        stated = adapter.get_default_value()
        value = stated.value if stated is not None else None
        if accepts is not None and not accepts(value):
            raise TypeError("the default that a default_factory made is not of the parameter's type")
        return value

    return make


def _default_of(hint: Any) -> Any:
    """Return the last `Field` of a type that states a default, or None; raise TypeError for one that cannot hold here.

    An alias, and a factory that takes the other values, are for the fields of a model alone.
    """
    from pydantic.fields import FieldInfo

    fields = [one for one in getattr(hint, "__metadata__", ()) if isinstance(one, FieldInfo)]
    for field in fields:
        if field.alias or field.validation_alias:
            raise TypeError("pydantic's alias= is for the fields of a model: name the parameter itself so")
        if getattr(field, "default_factory_takes_validated_data", False):
            raise TypeError("a default_factory of pydantic that takes other values is for the fields of a model alone")
    return next((one for one in reversed(fields) if not one.is_required()), None)


def inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema whose references are written out; a type that contains itself keeps its own.

    Clients of several makes do not follow references.
    """
    definitions = schema.get("$defs") or {}
    if not definitions:
        return dict(_cleaned(schema))
    kept: set[str] = set()
    budget = [MAX_NODES]

    def expand(part: Any, above: tuple[str, ...]) -> Any:
        budget[0] -= 1
        if isinstance(part, list):
            return [expand(one, above) for one in part]
        if not isinstance(part, dict):
            return part
        name = part["$ref"].removeprefix(REF) if isinstance(part.get("$ref"), str) else None
        if name is None or name not in definitions:
            return {key: expand(value, above) for key, value in part.items()}
        beside = {key: value for key, value in part.items() if key != "$ref"}
        if name in above or budget[0] < 0 or len(above) > MAX_DEPTH:
            kept.add(name)
            return {"$ref": REF + name, **beside}
        return {**expand(definitions[name], (*above, name)), **beside}

    whole: dict[str, Any] = expand({key: value for key, value in schema.items() if key != "$defs"}, ())
    if kept:
        # What a kept definition refers to is kept as well.
        pending, whole["$defs"] = list(kept), {}
        while pending:
            name = pending.pop()
            whole["$defs"][name] = definitions[name]
            pending += [other for other in _references(definitions[name]) if other not in {*whole["$defs"], *pending}]
    return dict(_cleaned(whole))


def hoisted(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """Return a schema as a part of another, whose definitions get those of the part; a name that is taken changes."""
    own = schema.get("$defs") or {}
    names = {}
    for name, definition in own.items():
        new, count = name, 1
        while new in definitions and definitions[new] != definition:
            new, count = f"{name}_{count + 1}", count + 1
        names[name] = new
        definitions[new] = definition
    part: dict[str, Any] = _renamed({key: value for key, value in schema.items() if key != "$defs"}, names)
    for name, new in names.items():
        definitions[new] = _renamed(own[name], names)
    return part


def _renamed(part: Any, names: dict[str, str]) -> Any:
    if isinstance(part, list):
        return [_renamed(one, names) for one in part]
    if not isinstance(part, dict):
        return part
    whole = {key: _renamed(value, names) for key, value in part.items()}
    ref = whole.get("$ref")
    if isinstance(ref, str) and ref.startswith(REF):
        whole["$ref"] = REF + names[ref.removeprefix(REF)]
    return whole


def _references(part: Any) -> set[str]:
    if isinstance(part, list):
        return set().union(*map(_references, part))
    if not isinstance(part, dict):
        return set()
    found = set().union(*map(_references, part.values()))
    ref = part.get("$ref")
    return found | {ref.removeprefix(REF)} if isinstance(ref, str) and ref.startswith(REF) else found


def _cleaned(part: Any) -> Any:
    """Return a schema in which a choice of texts says that it is text: some clients ask for a type.

    A default that JSON cannot write is left out, and so are the mark of `object` and pydantic's `discriminator`, a word
    of OpenAPI that names definitions by reference: the branches of `oneOf` tell by their own `const` which one it is.
    """
    if isinstance(part, list):
        return [_cleaned(one) for one in part]
    if not isinstance(part, dict):
        return part
    # A list or dict of anything is one without a word on what it holds.
    is_group = part.get("type") in ("array", "object")
    is_choice = isinstance(part.get("oneOf"), list)
    part = {
        key: value if key in {"default", "examples", "enum"} else _cleaned(value)
        for key, value in part.items()
        if (key, value) != ANYTHING
        and not (is_group and value == dict([ANYTHING]))
        and not (key == "default" and not is_finite(value))
        and not (key == "discriminator" and is_choice)
    }
    choices = part.get("enum")
    if isinstance(choices, list) and choices and "type" not in part and all(isinstance(one, str) for one in choices):
        part = {"type": "string", **part}
    return part
