"""One request and its answer, as they are written down: in the audit log, the access log and the metrics."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec
from msgspec import Raw

from .caller import Caller
from .channel import HTTP_MCP, STDIO_MCP
from .outcome import Outcome

__all__ = ["Exchange", "message_of", "target_of"]

PLAIN_METHOD: Final = re.compile(r"[A-Za-z][\w.$-]{0,63}(?:/[\w.$-]{1,63}){1,3}", re.ASCII)
"""A method as it is written down although nobody knows it; any other text may be anything."""
DOORS: Final = frozenset({HTTP_MCP.name, STDIO_MCP.name})


class Exchange(msgspec.Struct, frozen=True):
    """A request that is about to be answered, whether it was a call, something else, or was refused."""

    caller: Caller
    door: str
    """The door's name, such as `http mcp`, `rest` or `stdio mcp`; `http` for pages and paths that are no door."""
    request: str
    """The method of the request: `POST /mcp`, or on stdio the method of the message. Paths come from outside."""
    status: int
    """The HTTP status; on stdio 200, or 400 for an error."""
    refusal: str = ""
    """Why the request was refused before it was a call; empty for all others."""
    outcome: Outcome | None = None
    """The outcome of the call in it, where it is one."""
    took_s: float = 0.0
    sent_bytes: int = 0
    version: str = ""
    """The version of MCP that the request states."""
    body: bytes = b""
    """The body of a request that is no call; its method and what it names are all that is written of it."""
    is_left: bool = False
    """Whether the client left before its answer."""
    is_vital: bool = False
    """Whether the answer says that the process lives, which is so whether or not the exchange can be written down."""


class _Message(msgspec.Struct):
    """What is read of a message that is no call."""

    method: str = ""
    params: Raw = Raw(b"{}")


class _Named(msgspec.Struct):
    """What a request may name."""

    uri: Any = None
    name: Any = None
    ref: Any = None
    task: Any = msgspec.field(name="taskId", default=None)


_message: Final = msgspec.json.Decoder(_Message).decode
_named: Final = msgspec.json.Decoder(_Named).decode


def message_of(exchange: Exchange) -> tuple[str, str]:
    """Return the method of the MCP message in an exchange, and what it names beside tools; empty where there is none.

    A method that nobody knows is given if it looks like one.
    """
    outcome = exchange.outcome
    if exchange.door not in DOORS:
        return "", ""
    if outcome is not None:
        door = outcome.call.door
        if door.runs_tool:
            return "tools/call", ""
        return door.route, "" if outcome.call.tool_key == door.route else outcome.call.tool_key
    try:
        message = _message(exchange.body)
    except (ValueError, RecursionError):
        return "", ""
    method = message.method if PLAIN_METHOD.fullmatch(message.method) else ""
    return method, target_of(message.params) if method and method != "tools/call" else ""


def target_of(params: Raw | bytes) -> str:
    """Return what the params of a request name: a resource, a prompt, a task; empty for none."""
    try:
        named = _named(params)
    except (ValueError, RecursionError):
        return ""
    reference = named.ref if isinstance(named.ref, dict) else {}
    found = (named.uri, named.name, named.task, reference.get("name"), reference.get("uri"))
    return next((one for one in found if one and isinstance(one, str)), "")
