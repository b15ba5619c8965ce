"""A contract derived from the types of a function: the schema of its input and of its output, and how to call it. Pure.

parameters ── one property each ──────────────── input       `args: SomeStruct` alone is the whole input
return type ── an object as it is, any other as {"result": …} ── output
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any, Final, get_args, get_type_hints

import msgspec
from msgspec import UNSET
from msgspec.structs import asdict

from signet.kernel.errors import Code, Fault, bad_arguments
from signet.kernel.schemas import ContractError
from signet.kernel.tools import Context

from .declaration import ToolDeclaration
from .docstring import read_docstring
from .finite import is_finite
from .schema import UNREADABLE, AdaptedType, adapt, hoisted, schema_of_type

__all__ = ["ContractTypeError", "DerivedContract", "derive"]

WHOLE: Final = "args"
"""The name of a parameter whose struct is the whole input."""
RESULT: Final = "result"
"""The property that holds a result which is no object."""


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
        bind = _bind_whole
        schema = _schema(args, WHOLE)
        if schema.get("type") != "object":
            raise ContractTypeError(f"{WHOLE}: {args.__name__} is no object in JSON: take array_like out of it")
    else:
        args, schema, adapted = _input(parameters, hints, texts)
        optional = tuple([name for name, one in parameters.items() if one.default is not one.empty])
        bind = _bind(declaration.name, optional, adapted)
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


def _input(
    parameters: dict[str, inspect.Parameter], hints: dict[str, Any], texts: dict[str, str]
) -> tuple[type[Any], dict[str, Any], dict[str, AdaptedType]]:
    """Return the struct and the schema of an input, and the parameters that another library reads."""
    fields: list[Any] = []
    properties: dict[str, Any] = {}
    definitions: dict[str, Any] = {}
    adapted: dict[str, AdaptedType] = {}
    for name, parameter in parameters.items():
        hint = hints[name]
        if (other := _adapted(hint, name)) is not None:
            adapted[name], hint, schema = other, Any, other.schema
        else:
            schema = _schema(hint, name)
        schema = _described(schema, schema.get("description") or texts.get(name))
        if parameter.default is parameter.empty:
            fields.append((name, hint))
        else:
            # Left out, the function's own default holds: it may be of any kind.
            fields.append((name, hint | msgspec.UnsetType if hint is not Any else Any, UNSET))
            schema = _with_default(schema, parameter.default)
        properties[name] = hoisted(schema, definitions)
    required = [name for name, one in parameters.items() if one.default is one.empty]
    schema = {"type": "object", "properties": properties, **({"required": required} if required else {})}
    schema |= {"$defs": definitions} if definitions else {}
    return msgspec.defstruct("Arguments", fields, kw_only=True, frozen=True), schema, adapted


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


def _bind(tool: str, optional: tuple[str, ...], adapted: dict[str, AdaptedType]) -> Callable[[Any], dict[str, Any]]:
    if not (optional or adapted):
        return asdict

    def bind(args: Any) -> dict[str, Any]:
        values = asdict(args)
        for name in optional:
            if values[name] is UNSET:
                del values[name]
        for name, other in adapted.items():
            if name in values:
                try:
                    values[name] = other.load(values[name])
                except ContractError as error:
                    places = [(f"{name}.{path}" if path else name, message) for path, message in error.places]
                    raise bad_arguments(tool, places) from None
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
    shown = getattr(hint, "__name__", None) if isinstance(hint, type) else None
    shown = shown or str(hint).replace("typing.", "")
    why = str(error)
    if isinstance(error, NameError | AttributeError | SyntaxError) or "not fully defined" in why:
        reason = "a name in them is not defined" if "not fully defined" in why else why
        return f"the types of {shown} cannot be read ({reason}): import or define what they name"
    if "must be tagged" in why or "more than one" in why:
        advice = "a value must tell which of them it is: write class A(msgspec.Struct, tag=True), and so for the others"
    elif "Can only set" in why:
        limit = why.partition("`")[2].partition("`")[0]
        advice = f"the limit belongs to the number or text itself: write Annotated[int, Meta({limit}=…)] | None"
    elif hasattr(sys.modules.get("pydantic"), "BaseModel") and "pydantic" in why:
        advice = why.splitlines()[0]
    else:
        advice = (
            "JSON has no such value: use int, float, bool, str, None, a list or dict of them, an enum, a Literal, "
            "datetime, a dataclass, a TypedDict, a msgspec.Struct or a pydantic model"
        )
    return f"{shown} cannot be a contract; {advice}"
