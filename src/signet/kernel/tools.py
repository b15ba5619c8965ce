"""A tool: a typed function of two arguments, with everything that the doors publish about it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, Final, Protocol, TypeVar, get_type_hints

import msgspec

from .arguments import whole_numbers
from .errors import Fault
from .schemas import PREFIX
from .upstream import Upstream, UpstreamRequest, UpstreamResponse
from .waiting import Waiting

__all__ = ["MAX_RESULT_BYTES", "NULL_CONTEXT", "READ_ONLY", "Context", "Tool", "Toolbox", "ToolsetRuntime", "tool"]

MAX_RESULT_BYTES: Final = 2_097_152
"""The largest result of a tool that has no limit of its own."""

READ_ONLY: Final = {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False}
"""The annotations of a tool that changes nothing and uses no upstream."""

T = TypeVar("T")
Result = Any
"""The return value of a tool: any value that msgspec can encode as a JSON object."""


class Offload(Protocol):
    """Runs a long computation outside of the event loop."""

    def __call__(self, function: Callable[..., T], /, *args: object) -> Awaitable[T]:
        """Run a function in a thread and return its result."""


class Progress(Protocol):
    """Reports how far a call is."""

    def __call__(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Report a number that grows, of how many in all, and a text."""


class Context(msgspec.Struct, frozen=True):
    """What a tool may use beside its arguments."""

    offload: Offload
    """Run work in a thread that would block the event loop for more than a millisecond."""
    progress: Progress
    """Report the progress of the call to the client (done, total, message), if it asked for reports."""
    capabilities: Mapping[str, Any]
    """The capabilities that the client of this call declares."""
    upstream: Upstream | None = None
    """The service behind the toolset, where there is one."""
    settings: Any = None
    """The settings of the toolset."""
    today: Callable[[], str] = str
    """Return the date by UTC in ISO format; a replay returns the date of the recording."""
    wait: Waiting | None = None
    """What the call waits for, where somebody may be told."""
    request: Any = None
    """The MCP request of a call of a wrapped server's tool (`server.RpcRequest`); None through the other doors."""
    written: Any = None
    """The arguments of a call of a wrapped server's tool as another door got them (`msgspec.Raw`), where it knows."""
    is_cancelled: Callable[[], bool] = bool
    """Return whether nobody waits for the call any more, in a function that runs in a thread."""

    def waiting(self, now: str | Callable[[], str]) -> None:
        """Say what the call waits for from now on: a text, or a function where the text changes with time."""
        if self.wait is not None:
            self.wait.now = now

    def send(self, request: UpstreamRequest) -> Awaitable[UpstreamResponse]:
        """Send a request to the service behind the toolset; raise RuntimeError if there is none."""
        if self.upstream is None:
            raise RuntimeError("this tool was given no upstream")
        return self.upstream.send(request, self.wait)


class ToolsetRuntime(msgspec.Struct, frozen=True):
    """What the tools of one toolset find in their context while a server runs."""

    upstream: Upstream | None
    settings: Any
    today: Callable[[], str]


def _ignore(*_: object, **__: object) -> Any:
    """Do nothing."""


NULL_CONTEXT: Final = Context(_ignore, _ignore, {})
"""The context of a call that never runs."""


def _unchanged(fault: Fault) -> Fault:
    return fault


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """One tool: its function, its published description, and the form of its results and faults."""

    name: str
    """The name in MCP and REST, as the tool's spec has it."""
    slug: str
    """The name of the contract's file; with the prefix, the canonical id."""
    title: str
    description: str
    """The text that the model reads to decide when to use the tool."""
    args: type[Any]
    """The typed view of the input contract."""
    is_strict: bool = False
    """Whether a text is never read as another type: where the contract takes a text, the function gets it."""
    run: Callable[[Any, Context], Result | Awaitable[Result]]
    example: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """Valid arguments for people to try."""
    has_example: bool = True
    keeps_nulls: frozenset[str] = frozenset()
    """The optional arguments for which null is a value of its own; for all others it counts as absent."""
    annotations: Mapping[str, bool] = msgspec.field(default_factory=lambda: dict(READ_ONLY))
    public: bool = False
    """Whether any web page may call the tool: only if it needs no secret and changes nothing."""
    max_result_bytes: int = MAX_RESULT_BYTES
    raised_limit: Callable[[Any], int] | None = None
    """Return the largest result under the settings of the toolset, where one of them raises the limit."""
    mode: str = ""
    """The validation mode of its output, where it is not the pipeline's: `enforce`, `shadow`, `relax` or `off`."""
    input_mode: str = ""
    """The same for its input."""
    relays: bool = False
    """Whether the tool is a wrapped server's: it gets the arguments as they came, and returns a `Relayed`."""
    is_foreign: bool = False
    """Whether the tool is somebody else's: the fault of a result that breaks its contract says where."""
    validate_in_thread: bool = False
    """Whether results may be so large that they are validated outside of the event loop."""
    to_content: Callable[[Any], list[Any]] | None = None
    """Return the MCP content blocks of a result; without it, MCP sends the result as structured content."""
    summarize: Callable[[Any], str] | None = None
    """Return a readable cut of a large result, to be its text beside the structured content."""
    remark: Callable[[Any], str] | None = None
    """Return what a reader of a result should do next, or an empty text; it is a text block of its own."""
    adapt_fault: Callable[[Fault], Fault] = _unchanged
    """Return a fault of the pipeline with the code and text that the tool's spec asks for."""
    tidy: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    """Return arguments that break the contract as the tool's spec reads them; they are then checked again."""
    explain: Callable[[Any], object] | None = None
    """Raise the tool's own fault for typed arguments that break the contract, where a rule of it has better words.

    Pure, and called for refused arguments only; where it raises nothing, the contract's words are used.
    """
    defined_at: tuple[str, int] | None = None
    """The file and the line of the function, where it is not Signet's own."""
    rest_errors: tuple[tuple[str, int], ...] = ()
    """The REST codes and statuses beyond the canonical ones, for the OpenAPI page."""

    @property
    def id(self) -> str:
        """Return the canonical id of spec 5."""
        return PREFIX + self.slug

    def tidied(self, arguments: Any) -> Any:
        """Return arguments that break the contract as the tool's spec reads them."""
        return arguments if self.tidy is None or not isinstance(arguments, dict) else self.tidy(arguments)

    def explained(self, arguments: Any) -> Fault | None:
        """Return the tool's own fault for arguments that break the contract, if their types fit and a rule refuses."""
        if self.explain is None:
            return None
        try:
            self.explain(msgspec.convert(arguments, self.args))
        except Fault as fault:
            return fault
        except msgspec.ValidationError:
            return None
        return None

    def read_again(self, arguments: Any, error: msgspec.ValidationError, *, is_lax: bool) -> Any:
        """Return the typed view of arguments that were refused at first, or the error.

        To JSON Schema 10.0 is an integer, and the keys of an object are texts whatever they stand for; a strict tool
        takes these, and coerces nothing else unless `is_lax`.
        """
        if not self.is_strict:
            return error
        try:
            return msgspec.convert(whole_numbers(arguments), self.args, str_keys=True)
        except msgspec.ValidationError as refusal:
            if not is_lax:
                return refusal
        try:
            return msgspec.convert(arguments, self.args, strict=False)
        except msgspec.ValidationError as refusal:
            return refusal


def tool(**fields: Any) -> Callable[[Callable[[Any, Context], Any]], Tool]:
    """Turn a function into a `Tool`: its docstring is the description, the type of `args` the typed input."""

    def decorate(function: Callable[[Any, Context], Any]) -> Tool:
        description = " ".join((function.__doc__ or "").split()).removesuffix(".")
        args = get_type_hints(function)["args"]
        return Tool(run=function, args=args, **{"description": description, **fields})

    return decorate


class Toolbox:
    """The enabled tools in their listing order, each to be found by name, slug or canonical id."""

    def __init__(self, *groups: tuple[Tool, ...]) -> None:
        self.replace(*groups)

    def replace(self, *groups: tuple[Tool, ...]) -> None:
        """Hold other tools from now on; raise ValueError where two of them answer to one key."""
        tools = tuple(tool for group in groups for tool in group)
        index: dict[str, Tool] = {}
        for tool in tools:
            for key in {tool.name, tool.slug, tool.id}:
                if key in index:
                    raise ValueError(f"two enabled tools answer to {key!r}: {index[key].id} and {tool.id}")
                index[key] = tool
        self.groups = groups
        """The tools of each toolset, and behind them those of each wrapped server."""
        self._tools = tools
        self.is_public = all(tool.public for tool in tools)
        """Whether no tool is private."""
        self.slugs = [tool.slug for tool in tools]
        self.find = index.get
        """Return the tool with this name, slug or canonical id, or None."""
        self.named = {tool.name: tool for tool in tools}.get
        """Return the tool with this name, or None.

        MCP and REST use no other key: a gateway that blocks a tool knows it by its listed name.
        """

    def of(self, key: str, *, by_name: bool) -> Tool | None:
        """Return the tool of a call, found by its name alone or by any of its keys."""
        return self.named(key) if by_name else self.find(key)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools)
