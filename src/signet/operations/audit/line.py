"""The lines of an audit log, and what an exchange tells in one.

Pure. A line is one JSON object in ASCII on one line. It never holds arguments, results or paths: of a path the door is
told, of a tool the slug. What a request to a wrapped server names comes from its caller: it is cut, without secrets.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

import msgspec

from signet.kernel.errors import ACCESS_FAULTS, Code
from signet.kernel.exchange import Exchange, message_of
from signet.kernel.outcome import Outcome
from signet.system.redaction import redact_secrets, redact_user_info

__all__ = [
    "CONTINUED",
    "MAX_LINE_BYTES",
    "PERIODIC",
    "ROTATED",
    "STARTED",
    "STOPPED",
    "UNCLOSED",
    "CheckpointLine",
    "RequestLine",
    "content_of",
    "request_line",
    "timestamp",
]

MAX_LINE_BYTES: Final = 12_288
"""The longest line: all text from outside is cut, and JSON takes at most twelve bytes per character."""
MAX_NAME_CHARS: Final = 255
MAX_ID_CHARS: Final = 128
MAX_ADDRESS_CHARS: Final = 120
METHODS: Final = frozenset({
    *("CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"),
    *("initialize", "mcp.tool.invoke", "ping", "server/discover", "tools/call", "tools/list"),
    *("completion/complete", "logging/setLevel", "prompts/get", "prompts/list", "resources/list", "resources/read"),
    *("resources/subscribe", "resources/templates/list", "resources/unsubscribe", "subscriptions/listen"),
})  # fmt: skip
"""The methods that are written down by their names: of HTTP and of messages, beside others that look like a method."""
UNKNOWN: Final = "unknown"
TRACEPARENT: Final = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?", re.DOTALL)
NOT_PRINTABLE_ASCII: Final = re.compile(r"[^\x20-\x7e]")
CODES: Final = {401: Code.UNAUTHORIZED, 403: Code.UNAUTHORIZED, 429: Code.UNAUTHORIZED, 404: Code.NOT_FOUND}
"""The canonical codes of requests that were refused before they were a call, beside those of all 4xx and 5xx."""

STARTED, CONTINUED, PERIODIC, ROTATED, STOPPED = "started", "continued", "periodic", "rotated", "stopped"
"""Why a checkpoint was written: a process began, went on in a new file, counted, found its file moved away, ended."""
UNCLOSED: Final = "unclosed"
"""The first line of a file where the one before was not closed: moved while no process ran, removed or emptied."""

_encode: Final = msgspec.json.Encoder().encode


class RequestLine(msgspec.Struct, rename="camel", gc=False, tag="request", tag_field="kind"):
    """One request; the last fields are those of the chain."""

    time: str
    principal: str | None
    address: str | None
    door: str
    method: str
    tool: str | None
    contract: str | None
    code: str
    refusal: str | None
    status: int
    duration_ms: float
    left: bool
    request_id: str | None
    trace_id: str | None
    target: str | None = None
    """What the message names: the tool, the resource, the prompt or the task."""
    calls: int = 0
    """The number of accepted calls in this file, with this one if it is one."""
    seq: int = 0
    prev: str = ""

    @property
    def is_call(self) -> bool:
        """Return whether the request was an accepted call: one of a known tool that its caller was allowed to make."""
        return self.tool is not None and self.refusal is None


class CheckpointLine(msgspec.Struct, rename="camel", gc=False, tag="checkpoint", tag_field="kind"):
    """What a process says of the file: why, and how much there is in it."""

    time: str
    event: str
    process: str
    """The name of the process, made up anew at each start."""
    lines: int
    """The number of lines in this file, with this one."""
    keyed: bool
    """Whether the hashes are made with a key."""
    calls: int = 0
    seq: int = 0
    prev: str = ""


def content_of(line: RequestLine | CheckpointLine) -> bytes:
    """Return the part of a line that is hashed: the object without its last field, which is the hash, and its brace."""
    content = _encode(line)[:-1]
    if content.isascii() and b"\x7f" not in content:
        return content
    return NOT_PRINTABLE_ASCII.sub(_escaped, content.decode()).encode("ascii")


def _escaped(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def request_line(
    exchange: Exchange, now_s: float, digest: Callable[[str], str], shown: Callable[[str], str] = redact_secrets
) -> RequestLine:
    """Return the line of an exchange; `digest` tells that of a tool's contracts, `shown` a text without secrets."""
    caller, outcome = exchange.caller, exchange.outcome
    method, target = message_of(exchange)
    known = exchange.request.partition(" ")[0]
    tool = outcome.tool.slug if outcome is not None and outcome.tool is not None else None
    trace = (outcome.call.trace if outcome is not None else "") or caller.trace
    code, refusal = _verdict(exchange)
    return RequestLine(
        timestamp(int(now_s * 1000)),
        caller.name[:MAX_NAME_CHARS] or None,
        caller.address[:MAX_ADDRESS_CHARS] or None,
        exchange.door,
        (method if method in METHODS else shown(method)) or (known if known in METHODS else UNKNOWN),
        tool,
        digest(tool) if tool is not None else None,
        code,
        refusal,
        exchange.status,
        int(exchange.took_s * 1_000_000) / 1000,
        exchange.is_left,
        caller.request_id[:MAX_ID_CHARS] or None,
        _trace_id(trace) if trace else None,
        _shown_target(outcome, target, shown) or None,
    )


def _shown_target(outcome: Outcome | None, target: str, shown: Callable[[str], str]) -> str:
    if outcome is not None and outcome.tool is not None:
        return outcome.tool.name[:MAX_NAME_CHARS]
    return shown(redact_user_info(target))[:MAX_NAME_CHARS] if target else ""


def _verdict(exchange: Exchange) -> tuple[str, str | None]:
    """Return the canonical code of an exchange, or OK, and the name of its refusal."""
    fault = exchange.outcome.fault if exchange.outcome is not None else None
    if fault is not None:
        is_refused = fault.name in ACCESS_FAULTS
        return fault.code.value, fault.name if is_refused else exchange.refusal or None
    if exchange.is_left:
        return Code.INTERNAL_ERROR.value, exchange.refusal or None
    if exchange.status < 400 and not exchange.refusal:  # noqa: PLR2004 - the first status of an error
        return "OK", None
    fallback = Code.INTERNAL_ERROR if exchange.status >= 500 else Code.INVALID_INPUT  # noqa: PLR2004 - the server's own
    return CODES.get(exchange.status, fallback).value, exchange.refusal or None


def _trace_id(traceparent: str) -> str | None:
    match = TRACEPARENT.fullmatch(traceparent)
    return match[1] if match is not None and match[1].strip("0") else None


def timestamp(now_ms: int) -> str:
    """Return a time in UTC, with milliseconds."""
    second, ms = divmod(now_ms, 1000)
    return f"{_date_and_time(second)}.{ms:03d}Z"


@lru_cache(maxsize=2)
def _date_and_time(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
