"""A call on its way in, and its outcome on its way out."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Final

import msgspec

from .caller import NOBODY, Caller
from .errors import Fault
from .schemas import ToolIO
from .tools import Context, Tool
from .wire import Reply, ResponseId

__all__ = ["UNKNOWN_DOOR", "Call", "Door", "Outcome", "Pending", "PreparedCall", "Relayed"]


class Door(msgspec.Struct, frozen=True):
    """The door through which a call came."""

    transport: str
    route: str
    name: str
    """The door without the variable part of its route; the journal counts the steps of each door by this name."""
    by_name: bool = False
    """Whether tools are found by their published names only, not by slug or canonical id."""
    runs_tool: bool = True
    """Whether the request runs a tool; for one of another method, which is the route, the key is what it names."""


UNKNOWN_DOOR: Final = Door("none", "none", "none")


class Call(msgspec.Struct, frozen=True):
    """One request to run a tool: the same value through every door."""

    tool_key: str
    """The tool's name, slug or canonical id."""
    arguments: Any
    context: Context
    door: Door = UNKNOWN_DOOR
    caller: Caller = NOBODY
    idempotency_key: str = ""
    """The client's name for this call: a call with the same name is answered, not run again."""
    trace: str = ""
    """The `traceparent` of the call, if its client sent one."""
    size: int = 0
    """The bytes of the JSON in which the arguments came, and what came beside them; 0 where they came as values."""


class PreparedCall(msgspec.Struct, frozen=True):
    """A call that keeps its input contract, with its typed arguments."""

    call: Call
    tool: Tool
    io: ToolIO
    args: Any
    shadow_violation: Fault | None = None
    """The fault that would have refused the call if contracts were enforced; set in shadow mode only."""
    ignored: tuple[str, ...] = ()
    """The names of arguments that the tool does not know, as a result may tell them."""


class Relayed(msgspec.Struct, frozen=True):
    """The reply of a wrapped server to a call, as that server wrote it."""

    body: bytes
    """The result, or the error where `is_failure`, as JSON."""
    modern: bool
    """The era in which it is written."""
    structured: msgspec.Raw | None = None
    """The structured content of the result."""
    content: msgspec.Raw | None = None
    fault: Fault | None = None
    """What the other doors answer, where the server answers with an error or asks for input."""
    is_failure: bool = False
    """Whether it is a JSON-RPC error instead of a result."""
    is_final: bool = True
    """Whether it ends the call; a question to the caller does not."""
    is_single: bool = False
    """Whether it is known that no two of its members have one name."""
    in_era: Callable[[Relayed, bool], bytes] | None = None
    """Return the body as the modern era (True) or the handshake era (False) writes it."""


class Outcome(msgspec.Struct, frozen=True):
    """The outcome of a call: a result that keeps its contract, or a fault."""

    call: Call
    tool: Tool | None
    result: Any = None
    body: bytes = b""
    """The result as JSON, encoded once for every door; a bytearray where it is large and its tool has written it."""
    fault: Fault | None = None
    shadow_violation: Fault | None = None
    """The fault that there would have been if contracts were enforced; set in shadow mode only."""
    ignored: tuple[str, ...] = ()
    """The names of arguments that the tool does not know, as a result may tell them."""
    relayed: Relayed | None = None
    """The reply of the wrapped server, where the tool is one of its own and the reply may be delivered."""

    def without_result(self) -> Outcome:
        """Return the recorded part of the outcome, to keep longer than its result."""
        return msgspec.structs.replace(self, result=None, body=b"", relayed=None)


class Pending(msgspec.Struct, frozen=True):
    """A reply that has to be awaited, and the id by which it can be cancelled."""

    id: ResponseId
    reply: Coroutine[Any, Any, Reply]
    call: Call
    is_endless: bool = False
    """Whether the reply comes only when the client or the server ends: nobody waits for it at the end."""
