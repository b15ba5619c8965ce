"""One request and its answer, as they are written down: in the audit log, the access log and the metrics."""

from __future__ import annotations

import re
from typing import Final

import msgspec
from msgspec import Raw

from .caller import Caller
from .channel import HTTP_MCP, STDIO_MCP
from .outcome import Outcome
from .wire import method_and_params

__all__ = ["Exchange", "is_plain_method", "message_of", "target_of"]

PLAIN_METHOD: Final = re.compile(r"[A-Za-z][\w.$-]{0,63}(?:/[\w.$-]{1,63}){1,3}", re.ASCII)
"""The form of a method whose name is recorded as it is; any other text may be anything."""
MAX_METHOD_CHARS: Final = 128
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
    """The body of a request other than a call; only its method and target are recorded."""
    is_left: bool = False
    """Whether the client left before its answer."""
    is_vital: bool = False
    """Whether the answer says that the process lives, which is so whether or not the exchange can be written down."""


COMPLETION: Final = "completion/complete"
TARGETS: Final = {
    "tools/call": ("name",),
    "prompts/get": ("name",),
    **dict.fromkeys(("resources/read", "resources/subscribe", "resources/unsubscribe"), ("uri",)),
    COMPLETION: ("ref.name", "ref.uri"),
}
"""The members that say what a method is about."""


_members: Final = msgspec.json.Decoder(dict[str, Raw]).decode


def message_of(exchange: Exchange) -> tuple[str, str]:
    """Return the method of the MCP message in an exchange, and what it names beside tools; empty where there is none.

    An unknown method may be any text; this is its beginning.
    """
    outcome = exchange.outcome
    if exchange.door not in DOORS:
        return "", ""
    if outcome is not None:
        door = outcome.call.door
        if door.runs_tool:
            return "tools/call", ""
        return door.route[:MAX_METHOD_CHARS], "" if outcome.call.tool_key == door.route else outcome.call.tool_key
    named, params = method_and_params(exchange.body)
    method = named[:MAX_METHOD_CHARS]
    return method, target_of(method, params) if method and method != "tools/call" else ""


def is_plain_method(method: str) -> bool:
    """Return whether a text looks like a method."""
    return PLAIN_METHOD.fullmatch(method) is not None


def target_of(method: str, params: Raw | bytes) -> str:
    """Return what the params of a request name: a resource, a prompt, a task; empty for none.

    Of a method that is known it is what the method names, whatever other members there are.
    """
    try:
        parts = _members(params)
        reference = _members(parts["ref"]) if "ref" in parts else {}
    except (ValueError, RecursionError):
        return ""
    found = {"uri": parts.get("uri"), "name": parts.get("name"), "taskId": parts.get("taskId")}
    found |= {"ref.name": reference.get("name"), "ref.uri": reference.get("uri")}
    known = TARGETS.get(method, ("taskId",) if method.startswith("tasks/") else tuple(found))
    if method == COMPLETION and _text(reference.get("type")) == "ref/resource":
        known = known[::-1]
    return next((text for text in (_text(found[key]) for key in known) if text), "")


def _text(value: Raw | None) -> str:
    """Return a text, or empty for anything else."""
    try:
        text = None if value is None else msgspec.json.decode(value)
    except (ValueError, RecursionError):
        return ""
    return text if isinstance(text, str) else ""
