"""`assert_contract`: a value against the contract of a tool, with a message that names each place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from signet.authoring.contract import RESULT, derive
from signet.authoring.declaration import declared
from signet.kernel.schemas import Contract, schema_of
from signet.kernel.wire import encode
from signet.mcp.blocking import ListedTool
from signet.settings.usage import UsageError
from signet.system.text import cut

from .current import current_target

__all__ = ["assert_contract"]

MISSING: Final[Any] = msgspec.UNSET
MAX_SHOWN_CHARS: Final = 400

Tool = str | ListedTool | Callable[..., Any]


def assert_contract(tool: Tool, /, result: Any = MISSING, *, arguments: Mapping[str, Any] = MISSING) -> None:
    """Fail unless a result, or arguments, or both, keep the contract of a tool.

    Args:
        tool: a function with `@signet.tool`, a tool of `signet_client.list_tools()`, or the name of a tool of the
            target that the tests are for.
        result: what the function returned, or what `signet_client.call` did.
        arguments: the input of a call.
    """
    __tracebackhide__ = True
    if result is MISSING and arguments is MISSING:
        raise TypeError("assert_contract takes a result, or arguments=, or both")
    name, inputs, output, shape = _contract_of(tool)
    if arguments is not MISSING:
        _check(f"the arguments of {name} break its contract", inputs, arguments)
    if result is not MISSING:
        _check(f"the result of {name} breaks its contract", output, shape(result))


def _contract_of(tool: Tool) -> tuple[str, Any, Any, Callable[[Any], Any]]:
    """Return the name, the schemas and what gives a result its published form."""
    __tracebackhide__ = True
    if isinstance(tool, ListedTool):
        return tool.name, tool.input_schema, tool.output_schema or {}, _as_is
    if isinstance(tool, str):
        return _contract_by_name(tool)
    declaration = declared(tool)
    if declaration is None:
        raise TypeError(f"{tool!r} is no tool: give a function with @signet.tool, or the name of a tool")
    derived = derive(declaration)

    def shape(result: Any) -> Any:
        # What a client returns has its published form already.
        is_published = isinstance(result, dict) and list(result) == [RESULT]
        return result if is_published or derived.shape is None else derived.shape(result)

    return declaration.name, derived.input, derived.output, shape


def _contract_by_name(name: str) -> tuple[str, Any, Any, Callable[[Any], Any]]:
    __tracebackhide__ = True
    served = current_target()
    if served is None:
        raise UsageError(f"there is no pytest whose settings name the tools: give {name} as a function")
    pipeline = served.server.pipeline
    found = pipeline.toolbox.find(name)
    if found is None:
        known = ", ".join(tool.name for tool in pipeline.toolbox)
        raise UsageError(f"there is no tool '{name}' in {served.target}: its tools are {known}")
    bundle = pipeline.registry.load_bundle(found.slug)
    return found.name, schema_of(bundle.input), schema_of(bundle.output), _as_is


def _as_is(value: Any) -> Any:
    return value


def _check(what: str, schema: Any, value: Any) -> None:
    __tracebackhide__ = True
    try:
        # As it would be sent.
        sent = msgspec.json.decode(encode(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise AssertionError(f"{what}: it is no JSON ({error})") from None
    contract = Contract(schema, "")
    if contract.is_valid(sent):
        return
    places = "".join(f"\n  {path or '/'}: {message}" for path, message in contract.places(sent))
    shown = msgspec.json.encode(sent).decode()
    shown = cut(shown, MAX_SHOWN_CHARS)
    raise AssertionError(f"{what}:{places}\n  in {shown}")
