"""A contract derived from the types of a function: the schema of its input and of its output, and how to call it. Pure.

parameters ── one property each ──────────────── input       `args: SomeStruct` alone is the whole input
return type ── an object as it is, any other as {"result": …} ── output
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Annotated, Any, Final, get_args, get_type_hints

import msgspec
from msgspec import UNSET
from msgspec.structs import asdict

from signet.kernel.errors import Code, Fault, bad_arguments
from signet.kernel.schemas import ContractError
from signet.kernel.tools import Context
from signet.system.text import cut

from .declaration import ToolDeclaration
from .docstring import read_docstring
from .finite import is_finite
from .schema import UNREADABLE, AdaptedType, UnsupportedTypeError, adapt, hoisted, schema_of_type

__all__ = ["ContractTypeError", "DerivedContract", "derive"]

WHOLE: Final = "args"
"""The name of a parameter whose struct is the whole input."""
RESULT: Final = "result"
"""The property that holds a result which is no object."""
MAX_VALUE_CHARS: Final = 80
"""The part of a default that a message shows."""
NO_JSON: Final = (
    "JSON has no such value: use int, float, bool, str, None, a list or dict of them, an enum, a Literal, "
    "datetime, a dataclass, a TypedDict, a msgspec.Struct or a pydantic model"
)


class ContractTypeError(Exception):
    """A function's types cannot be a contract; the text says what to write."""


class DerivedContract(msgspec.Struct, frozen=True, kw_only=True):
    """What the types of a function say."""

    description: str
    args: type[Any]
    """The typed view of the input."""
    input: dict[str, Any]
    output: dict[str, Any]
    nullable: frozenset[str]
    """The parameters whose type has None."""
    context: str | None
    """The name of the parameter that takes the context."""
    bind: Callable[[Any], dict[str, Any]]
    """Return the keyword arguments of a call of the function, as a dict of the call's own; the context is not in it."""
    shape: Callable[[Any], Any] | None
    """Return a result in the form that the output contract describes; None where results have that form."""


def derive(declaration: ToolDeclaration) -> DerivedContract:
    """Return the contract of a function; raise ContractTypeError, which names the parameter, if there can be none."""
    function = declaration.function
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise ContractTypeError("it is a generator: return a list")
    description, texts = read_docstring(function.__doc__)
    hints = _hints(function)
    parameters, context = _parameters(function, hints)
    if "return" not in hints:
        raise ContractTypeError("its result has no type: write -> and the type behind the parameters")
    output, shape = _output(hints["return"], declaration.name)
    bind: Callable[[Any], dict[str, Any]]
    if list(parameters) == [WHOLE] and _is_struct(hints[WHOLE]):
        args = hints[WHOLE]
        if _is_field(parameters[WHOLE].default):
            raise ContractTypeError(f"{WHOLE}: the whole input takes no Field: write its limits in {args.__name__}")
        bind = _bind_whole
        schema = _schema(args, WHOLE)
        if schema.get("type") != "object":
            raise ContractTypeError(f"{WHOLE}: {args.__name__} is no object in JSON: take array_like out of it")
    else:
        inputs = [_read_parameter(name, hints[name], one.default) for name, one in parameters.items()]
        args, schema = _input(inputs, texts)
        bind = _bind(declaration.name, inputs)
    return DerivedContract(
        description=description,
        args=args,
        input=_root(schema),
        output=_root(output),
        nullable=frozenset(name for name, part in schema.get("properties", {}).items() if _takes_null(part)),
        context=context,
        bind=bind,
        shape=shape,
    )


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        hints = get_type_hints(function, include_extras=True)
    except UNREADABLE as error:
        raise ContractTypeError(f"its types cannot be read ({error}): import or define what they name") from None
    return hints


def _parameters(function: Callable[..., Any], hints: dict[str, Any]) -> tuple[dict[str, inspect.Parameter], str | None]:
    """Return the parameters that are inputs, and the name of the one that takes the context."""
    parameters: dict[str, inspect.Parameter] = {}
    context: str | None = None
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
            star = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**"
            raise ContractTypeError(f"{star}{name} takes anything: write a parameter for each value")
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise ContractTypeError(f"{name} can only be passed by its place: take the / out of the parameters")
        if name not in hints:
            if name in {"self", "cls"}:
                raise ContractTypeError("it is a method: decorate a function outside of a class")
            raise ContractTypeError(f"{name} has no type: write {name}: int, or the type that it is")
        if Context in {hints[name], *get_args(hints[name])}:
            context = name
        else:
            parameters[name] = parameter
    return parameters, context


class _Input(msgspec.Struct, frozen=True):
    """A parameter that is an input."""

    name: str
    hint: Any
    """The type that msgspec reads; Any where another library does."""
    schema: dict[str, Any]
    adapted: AdaptedType | None
    is_optional: bool
    default: Callable[[], Any] | None
    """Return a default for one call; None where the function has its own."""


def _read_parameter(name: str, hint: Any, given: Any) -> _Input:
    """Return a parameter as an input; `given` is its default, which may be a `Field` of pydantic with another one."""
    if _is_field(given):
        hint, given = Annotated[hint, given], inspect.Parameter.empty
    other = _adapted(hint, name)
    schema = other.schema if other is not None else _schema(hint, name)
    schema = _described(schema, schema.get("description") or _annotated_text(hint))
    read = hint if other is None else Any
    if given is not inspect.Parameter.empty:
        _check_default(name, hint, other, given)
        # Left out, the function's own default holds: it may be of any kind.
        return _Input(name, read, _with_default(schema, given), other, is_optional=True, default=None)
    make = other.default if other is not None else None
    if other is not None and make is not None and not other.has_factory:
        _check_default(name, hint, other, make())
    return _Input(name, read, schema, other, is_optional=make is not None, default=make)


def _is_field(default: Any) -> bool:
    """Return whether a default is a `Field` of pydantic, which describes the parameter."""
    fields = sys.modules.get("pydantic.fields")
    return fields is not None and isinstance(default, fields.FieldInfo)


def _annotated_text(hint: Any) -> str | None:
    """Return the first text beside a type: `Annotated[int, "how many"]`."""
    return next((one for one in getattr(hint, "__metadata__", ()) if isinstance(one, str)), None)


def _check_default(name: str, hint: Any, other: AdaptedType | None, default: Any) -> None:
    """Raise ContractTypeError if a default is not of the parameter's type.

    A bare `object()` is a mark that the argument was left out, and NaN and infinity are numbers without a word in JSON:
    they are not published.
    """
    if type(default) is object or default is UNSET or not is_finite(default):
        return
    if other is not None:
        is_right = other.accepts(default)
    else:
        try:
            msgspec.json.decode(msgspec.json.encode(default), type=hint)
        except (TypeError, ValueError, RecursionError):
            is_right = hint is Any or (isinstance(hint, type) and isinstance(default, hint))
        else:
            is_right = True
    if not is_right:
        advice = "write | None behind the type" if default is None else "mend the default or the type"
        has_field = any(map(_is_field, getattr(hint, "__metadata__", ())))
        shown = f"{_shown(hint)} within the limits of its Field" if has_field else _shown(hint)
        given = cut(repr(default), MAX_VALUE_CHARS)
        raise ContractTypeError(f"{name}: the default {given} is not of type {shown}: {advice}")


def _input(inputs: list[_Input], texts: dict[str, str]) -> tuple[type[Any], dict[str, Any]]:
    """Return the struct and the schema of an input."""
    fields: list[Any] = []
    properties: dict[str, Any] = {}
    definitions: dict[str, Any] = {}
    for one in inputs:
        schema = one.schema if "description" in one.schema else _described(one.schema, texts.get(one.name))
        properties[one.name] = hoisted(schema, definitions)
        if one.is_optional:
            fields.append((one.name, one.hint | msgspec.UnsetType if one.hint is not Any else Any, UNSET))
        else:
            fields.append((one.name, one.hint))
    required = [one.name for one in inputs if not one.is_optional]
    schema = {"type": "object", "properties": properties, **({"required": required} if required else {})}
    schema |= {"$defs": definitions} if definitions else {}
    return msgspec.defstruct("Arguments", fields, kw_only=True, frozen=True), schema


def _schema(hint: Any, name: str) -> dict[str, Any]:
    try:
        return schema_of_type(hint)
    except UNREADABLE as error:
        raise ContractTypeError(f"{name}: {_in_words(hint, error)}") from None


def _adapted(hint: Any, name: str, *, is_result: bool = False) -> AdaptedType | None:
    try:
        return adapt(hint, is_result=is_result)
    except UNREADABLE as error:
        raise ContractTypeError(f"{name}: {_in_words(hint, error)}") from None


def _output(hint: Any, tool: str) -> tuple[dict[str, Any], Callable[[Any], Any] | None]:
    """Return the schema of a result, and the function that gives a result its published form, if it takes one."""
    other = _adapted(hint, "the result", is_result=True)
    schema = other.schema if other is not None else _schema(hint, "the result")
    schema = _described(schema, schema.get("description") or _annotated_text(hint))
    dump = _dump(tool, other) if other is not None else None
    if schema.get("type") == "object":
        return schema, dump
    definitions: dict[str, Any] = {}
    wrapped = {"type": "object", "properties": {RESULT: hoisted(schema, definitions)}, "required": [RESULT]}
    wrapped |= {"$defs": definitions} if definitions else {}
    if dump is None:
        return wrapped, lambda value: {RESULT: value}
    return wrapped, lambda value: {RESULT: dump(value)}


def _dump(tool: str, other: AdaptedType) -> Callable[[Any], Any]:
    def dump(value: Any) -> Any:
        try:
            return other.dump(value)
        except (ValueError, TypeError, RecursionError) as error:
            raise Fault(Code.INVALID_OUTPUT, f"{tool} gave a result that breaks its contract") from error

    return dump


def _bind_whole(args: Any) -> dict[str, Any]:
    return {WHOLE: args}


def _bind(tool: str, inputs: list[_Input]) -> Callable[[Any], dict[str, Any]]:
    optional = tuple([(one.name, one.default) for one in inputs if one.is_optional])
    adapted = tuple([(one.name, one.adapted) for one in inputs if one.adapted is not None])
    if not (optional or adapted):
        return asdict

    def bind(args: Any) -> dict[str, Any]:
        values = asdict(args)
        for name, other in adapted:
            if values[name] is not UNSET:
                try:
                    values[name] = other.load(values[name])
                except ContractError as error:
                    places = [(f"{name}.{path}" if path else name, message) for path, message in error.places]
                    raise bad_arguments(tool, places) from None
        for name, default in optional:
            if values[name] is UNSET:
                if default is None:
                    del values[name]
                else:
                    values[name] = default()
        return values

    return bind


def _with_default(schema: dict[str, Any], default: Any) -> dict[str, Any]:
    """Return a schema that states the default, where it can be written in JSON."""
    try:
        plain = msgspec.json.decode(msgspec.json.encode(default))
    except (TypeError, ValueError, RecursionError):
        return schema
    return {**schema, "default": plain} if is_finite(default) else schema


def _described(schema: dict[str, Any], text: str | None) -> dict[str, Any]:
    """Return a schema with a description; of a value or null some clients keep only that of the value's branch."""
    if text is None:
        return schema
    branches = schema.get("anyOf", [])
    if {"type": "null"} in branches:
        others = [
            one if one == {"type": "null"} or "description" in one else {**one, "description": text} for one in branches
        ]
        schema = {**schema, "anyOf": others}
    return {**schema, "description": text}


def _takes_null(schema: dict[str, Any]) -> bool:
    names_null = schema.get("type") == "null" or {"type": "null"} in schema.get("anyOf", ())
    return (
        names_null or None in schema.get("enum", ()) or not {"type", "anyOf", "oneOf", "enum", "const"} & schema.keys()
    )


def _root(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an object as it is published: with properties, and without the name of a class."""
    rest = {name: value for name, value in schema.items() if name not in {"title", "type", "properties"}}
    return {"type": "object", "properties": schema.get("properties", {}), **rest}


def _is_struct(hint: Any) -> bool:
    """Return whether a type can be a whole input; one that pydantic reads stands below its name."""
    if not isinstance(hint, type) or hasattr(hint, "__pydantic_fields__"):
        return False
    return issubclass(hint, msgspec.Struct) or hasattr(hint, "__dataclass_fields__")


def _in_words(hint: Any, error: Exception) -> str:
    """Return why a type cannot be a contract, and what to write."""
    shown = _shown(hint)
    why = str(error)
    if isinstance(error, NameError | AttributeError | SyntaxError) or "not fully defined" in why:
        reason = "a name in them is not defined" if "not fully defined" in why else why
        return f"the types of {shown} cannot be read ({reason}): import or define what they name"
    if isinstance(error, UnsupportedTypeError):
        advice = _instead_of(error.kind)
    elif "must be tagged" in why or "more than one" in why:
        advice = "a value must tell which of them it is: write class A(msgspec.Struct, tag=True), and so for the others"
    elif "Can only set" in why:
        limit = why.partition("`")[2].partition("`")[0]
        advice = f"the limit belongs to the number or text itself: write Annotated[int, Meta({limit}=…)] | None"
    elif isinstance(error, ImportError) or "pydantic" in why:
        advice = why.splitlines()[0]
    else:
        advice = NO_JSON
    return f"{shown} cannot be a contract; {advice}"


def _instead_of(kind: type[Any]) -> str:
    """Return what to write instead of a class that has no schema."""
    if kind.__module__.partition(".")[0] == "pydantic":
        return f"only pydantic reads {kind.__name__}: write a pydantic model instead of the class that holds it"
    if kind.__module__.partition(".")[0] == "pathlib":
        return f"JSON has no paths: write str instead of {kind.__name__}, and {kind.__name__}(value) in the function"
    return NO_JSON


def _shown(hint: Any) -> str:
    """Return a type as it is written, without the limits of a `Field`."""
    if any(map(_is_field, getattr(hint, "__metadata__", ()))):
        return _shown(hint.__origin__)
    shown = getattr(hint, "__name__", None) if isinstance(hint, type) else None
    return shown or str(hint).replace("typing.", "")
