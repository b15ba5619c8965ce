"""What an author writes: `@signet.tool` on a function, and `signet.Toolset` around some of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, Final, TypeVar, overload

import msgspec

from signet.kernel.tools import MAX_RESULT_BYTES
from signet.kernel.toolset import NoSettings

__all__ = ["LISTED", "MARK", "ToolDeclaration", "ToolsetDeclaration", "declared", "tool"]

MARK: Final = "__signet_tool__"
"""The attribute of a function that is a tool."""
LISTED: Final = "__signet_tools__"
"""The global of a module that lists its tools, also those whose name another one took later."""

LARGEST_RESULT_BYTES: Final = 16 << 20
"""The largest limit that an author may set; it is the limit of a wrapped server's results too."""
KINDS: Final = {str: "a text", bool: "True or False"}

F = TypeVar("F", bound=Callable[..., Any])


class ToolDeclaration(msgspec.Struct, frozen=True, kw_only=True):
    """A function that is to be a tool, and what its author says beside its types."""

    function: Callable[..., Any]
    name: str
    slug: str = ""
    title: str = ""
    example: Mapping[str, Any] | None = None
    annotations: Mapping[str, bool] = msgspec.field(default_factory=dict)
    inline: bool = False
    public: bool = False
    max_result_bytes: int = MAX_RESULT_BYTES

    def __post_init__(self) -> None:
        """Raise TypeError, which says what to write, for a word of the wrong type."""
        _check("@signet.tool", self, str, "name", "slug", "title")
        _check("@signet.tool", self, bool, "inline", "public")
        most = MAX_RESULT_BYTES if self.inline else LARGEST_RESULT_BYTES
        if type(self.max_result_bytes) is not int or not 0 < self.max_result_bytes <= most:
            beside = " beside inline=True" if self.inline else ""
            raise TypeError(f"max_result_bytes= of @signet.tool takes a number from 1 to {most:_}{beside}")
        if self.example is not None and not _is_named(self.example, object):
            raise TypeError("example= of @signet.tool takes valid arguments by their names: write {'a': 1}")
        if not _is_named(self.annotations, bool):
            raise TypeError("annotations= of @signet.tool takes hints that are True or False: {'readOnlyHint': True}")


class ToolsetDeclaration(msgspec.Struct, frozen=True, kw_only=True):
    """Some tools under one name, with what they have in common: `signet.Toolset(name="weather", tools=[now])`."""

    name: str
    """The word behind `--toolsets`; the prefix of its variables and of its tools' slugs."""
    tools: Sequence[Callable[..., Any]]
    """Functions that are decorated with `@signet.tool`."""
    title: str = ""
    """What people call it."""
    instructions: str = ""
    """What a model should do first with these tools."""
    version: str = "0.1.0"
    """The version of its contracts: a change that breaks callers needs a higher one."""
    settings: type[Any] = NoSettings
    """A msgspec struct; its values come from the environment and `signet.toml`, and stand in `Context.settings`."""

    def __post_init__(self) -> None:
        """Raise TypeError, which says what to write, for a word of the wrong type."""
        _check("signet.Toolset", self, str, "name", "title", "instructions", "version")
        if not isinstance(self.tools, Sequence):
            raise TypeError("tools= of signet.Toolset takes a list of functions that are decorated with @signet.tool")


def _check(place: str, declaration: msgspec.Struct, kind: type[Any], *names: str) -> None:
    for name in names:
        value = getattr(declaration, name)
        if not isinstance(value, kind):
            raise TypeError(f"{name}= of {place} takes {KINDS[kind]}, not {type(value).__name__}")


def _is_named(value: object, kind: type[Any]) -> bool:
    """Return whether a value is a mapping of names to values of a kind."""
    return isinstance(value, Mapping) and all(
        isinstance(name, str) and isinstance(one, kind) for name, one in value.items()
    )


@overload
def tool(function: F, /) -> F: ...


@overload
def tool(
    *,
    name: str = "",
    slug: str = "",
    title: str = "",
    example: Mapping[str, Any] | None = None,
    annotations: Mapping[str, bool] | None = None,
    inline: bool = False,
    public: bool = False,
    max_result_bytes: int = MAX_RESULT_BYTES,
) -> Callable[[F], F]: ...


def tool(function: Any = None, /, **given: Any) -> Any:
    """Make a function a tool; it can still be called as before.

    The docstring is the description, and its `Args:` section describes the parameters. The types are the contract.

    Args:
        function: the function, where the decorator is written bare.
        **given: `name`, the name in MCP and REST (default: the function's); `slug`, the name of the contract (default:
            the toolset's name and the tool's); `title`; `example`, valid arguments, which `signet check` runs;
            `annotations`, MCP's hints such as `{"readOnlyHint": True}`; `inline`, whether a plain function is so
            quick that it may run on the event loop, and not in a thread; `public`, whether any web page may call it;
            `max_result_bytes`, the size that a result may have as JSON (default: 2 MiB, at most 16 MiB).
    """
    if function is not None and not callable(function):
        raise TypeError(f"@signet.tool takes its words by name: write @signet.tool(name={function!r})")

    def decorate(function: F) -> F:
        if not isinstance(function, FunctionType):
            raise TypeError(f"@signet.tool makes functions tools, and {function!r} is none: write a def around it")
        facts = {name: value for name, value in given.items() if value is not None}
        facts["name"] = facts.get("name") or function.__name__
        declaration = ToolDeclaration(function=function, **facts)
        setattr(function, MARK, declaration)
        # Another decorator may have wrapped it: the wrapper's globals are those of another module.
        module = sys.modules.get(function.__module__)
        names = function.__globals__ if module is None else vars(module)
        names.setdefault(LISTED, []).append(declaration)
        return function

    return decorate if function is None else decorate(function)


def declared(value: object) -> ToolDeclaration | None:
    """Return the declaration of a tool's function, or None for anything else."""
    found = getattr(value, MARK, None)
    return found if isinstance(found, ToolDeclaration) else None
