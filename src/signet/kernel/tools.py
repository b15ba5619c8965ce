"""What a tool is: a typed function of two arguments, with everything that doors publish about it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, Final, Protocol, TypeVar, get_type_hints

import msgspec

from .errors import Fault
from .schemas import PREFIX
from .upstream import Upstream, UpstreamRequest, UpstreamResponse

__all__ = [
    "MAX_RESULT_BYTES",
    "NULL_CONTEXT",
    "READ_ONLY",
    "Context",
    "Result",
    "Tool",
    "Toolbox",
    "ToolsetRuntime",
    "tool",
]

MAX_RESULT_BYTES: Final = 2_097_152
"""The largest result that a tool may give unless it states its own limit."""

READ_ONLY: Final = {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False}
"""The annotations of a tool that changes nothing and asks nobody."""

T = TypeVar("T")
Result = Any
"""What a tool returns: any value that msgspec can write as a JSON object."""


class Offload(Protocol):
    """Runs a long computation beside the event loop."""

    def __call__(self, function: Callable[..., T], /, *args: object) -> Awaitable[T]:
        """Give the function's result once a thread has made it."""


class Context(msgspec.Struct, frozen=True):
    """What a running tool may use beside its arguments."""

    offload: Offload
    """For work that would hold the event loop for more than a millisecond."""
    progress: Callable[[float, float | None, str | None], None]
    """Tell the client how far the call is: done, total, message; nobody listening is no error."""
    capabilities: Mapping[str, Any]
    """What the client of this call says that it can do."""
    upstream: Upstream | None = None
    """The service behind the toolset, where there is one."""
    settings: Any = None
    """The toolset's own settings."""
    today: Callable[[], str] = str
    """Return the day by UTC, as ISO writes it; a replay returns the day of the recording."""

    def send(self, request: UpstreamRequest) -> Awaitable[UpstreamResponse]:
        """Ask the service behind the tool."""
        if self.upstream is None:
            message = "this tool was given no upstream"
            raise RuntimeError(message)
        return self.upstream.send(request)


class ToolsetRuntime(msgspec.Struct, frozen=True):
    """What the tools of one toolset find in their context while a server runs."""

    upstream: Upstream | None
    settings: Any
    today: Callable[[], str]


def _nothing(*_: object) -> Any:
    """Do nothing: there is nobody to do it for."""


NULL_CONTEXT: Final = Context(_nothing, _nothing, {})
"""The context of what never runs."""


def _as_it_is(fault: Fault) -> Fault:
    return fault


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """One tool: how it is called, what is published about it, how its results and faults are shown."""

    name: str
    """Its MCP and REST name, as its spec has it."""
    slug: str
    """Its contract's file name; with the prefix, its canonical id."""
    title: str
    description: str
    """What the model reads to decide when to use it."""
    args: type[Any]
    """The typed view of its input contract."""
    run: Callable[[Any, Context], Result | Awaitable[Result]]
    example: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """Arguments that work, for people to try."""
    annotations: Mapping[str, bool] = msgspec.field(default_factory=lambda: dict(READ_ONLY))
    public: bool = False
    """Whether any web page may call it: only for tools that need no secret and touch nothing."""
    max_result_bytes: int = MAX_RESULT_BYTES
    validate_in_thread: bool = False
    """Whether its results may be so large that they are checked beside the event loop."""
    to_content: Callable[[Any], list[Any]] | None = None
    """Makes MCP content blocks of a result; without it, MCP sends the result as structured content."""
    adapt_fault: Callable[[Fault], Fault] = _as_it_is
    """Gives the pipeline's own faults the face that the tool's spec asks for."""
    rest_errors: tuple[tuple[str, int], ...] = ()
    """The REST codes and statuses beyond the canonical ones, for the OpenAPI page."""

    @property
    def id(self) -> str:
        """Spec 5's canonical id."""
        return PREFIX + self.slug


def tool(**facts: Any) -> Callable[[Callable[[Any, Context], Any]], Tool]:
    """Make a `Tool` of a function; its docstring is the description, its first argument the typed input."""

    def made(function: Callable[[Any, Context], Any]) -> Tool:
        described = " ".join((function.__doc__ or "").split()).removesuffix(".")
        args = get_type_hints(function)["args"]
        return Tool(run=function, args=args, **{"description": described, **facts})

    return made


class Toolbox:
    """The enabled tools in their listing order, each found by name, slug or canonical id."""

    def __init__(self, *groups: tuple[Tool, ...]) -> None:
        self.groups = groups
        """The tools of each toolset."""
        self._tools = tools = tuple(tool for group in groups for tool in group)
        self.slugs = [tool.slug for tool in tools]
        self._index: dict[str, Tool] = {}
        for one in tools:
            for key in {one.name, one.slug, one.id}:
                if key in self._index:
                    message = f"two enabled tools answer to {key!r}: {self._index[key].id} and {one.id}"
                    raise ValueError(message)
                self._index[key] = one
        self.find = self._index.get
        """Give the tool of a name, slug or canonical id."""
        self.named = {one.name: one for one in tools}.get
        """Give the tool of a name: all that a list offers, and so all that a gateway may be told to refuse."""

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools)
