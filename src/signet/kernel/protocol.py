"""The part of MCP that a tools-only server needs: versions, eras, params and the shapes of results.

Two eras share the wire. A *handshake* message belongs to a connection that began with `initialize`;
a *modern* message carries its protocol version in `params._meta`. The era is decided per message.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from .equal_names import has_equal_members, has_equal_names_in_pieces
from .errors import INVALID_PARAMS, UNSUPPORTED_VERSION, Fault, broken_promise, result_too_large
from .json_limits import parse_float
from .outcome import Outcome, PreparedCall, Relayed
from .schemas import Contract, ContractError, SchemaRegistry
from .text_blocks import text_blocks
from .tools import Tool, Toolbox
from .wire import (
    LARGE_RESULT_BYTES,
    PIECE_BYTES,
    Id,
    ProtocolError,
    QuotedText,
    Reply,
    ResponseId,
    decode_in_chunks,
    encode,
    failure,
    relayed_failure,
    success,
)

__all__ = [
    "CANCEL",
    "CAPABILITIES_KEY",
    "HANDSHAKE_VERSIONS",
    "LIST_TTL_MS",
    "MODERN_VERSIONS",
    "NO_META",
    "PARAMS",
    "PREAMBLE",
    "SERVER_INFO_KEY",
    "STRUCTURED_SINCE",
    "VERSION_KEY",
    "CallParams",
    "CancelParams",
    "Era",
    "Identity",
    "InitializeParams",
    "ListParams",
    "Meta",
    "Params",
    "RequestPreamble",
    "check_meta",
    "check_version",
    "discover_result",
    "eras",
    "finish_relayed",
    "initialize_result",
    "list_result",
    "listing",
    "oversized",
    "progress_notification",
    "settled_version",
    "to_reply",
    "unsupported",
]

HANDSHAKE_VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN_VERSIONS: Final = ("2026-07-28",)
STRUCTURED_SINCE: Final = "2025-06-18"
"""The first revision whose clients know `structuredContent`; revisions are named by their dates."""

VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY: Final = "io.modelcontextprotocol/clientCapabilities"
SERVER_INFO_KEY: Final = "io.modelcontextprotocol/serverInfo"

CAPABILITIES: Final = {"tools": {"listChanged": False}}
LIST_TTL_MS: Final = 3_600_000
"""How long a client may cache a list: it changes only with the server's version."""


NOT_STRUCTURED: Final = "it has no structuredContent"
DOUBLED: Final = "a name stands twice in one object of it"
UNREADABLE: Final = "its structuredContent cannot be read as JSON"


class Identity(msgspec.Struct, frozen=True):
    """The name and version that the server reports."""

    name: str
    version: str


MAX_TOKEN_CHARS: Final = 4_096
"""The longest progress token: every report of progress repeats it."""


class Meta(msgspec.Struct, frozen=True):
    """The members of `params._meta` that are read."""

    version: Any = msgspec.field(name=VERSION_KEY, default=UNSET)
    capabilities: Any = msgspec.field(name=CAPABILITIES_KEY, default=UNSET)
    progress_token: Annotated[str, msgspec.Meta(max_length=MAX_TOKEN_CHARS)] | int | UnsetType = msgspec.field(
        name="progressToken", default=UNSET
    )
    idempotency_key: Annotated[str, msgspec.Meta(max_length=255)] = msgspec.field(name="idempotencyKey", default="")
    trace: Any = msgspec.field(name="traceparent", default=UNSET)
    trace_state: Any = msgspec.field(name="tracestate", default=UNSET)
    baggage: Any = UNSET


NO_META: Final = Meta()


class Params(msgspec.Struct, frozen=True, gc=False):
    """The params that every method may have. They are JSON and hold no cycles: no work for the garbage collector."""

    meta: Meta | None = msgspec.field(name="_meta", default=None)


class RequestPreamble(Params, frozen=True):
    """The params that are read of a request whatever its method."""

    name: Any = UNSET
    uri: Any = UNSET


class InitializeParams(Params, frozen=True, kw_only=True):
    """The params of `initialize`."""

    version: str = msgspec.field(name="protocolVersion")
    capabilities: dict[str, Any]
    client: dict[str, Any] = msgspec.field(name="clientInfo")


class ListParams(Params, frozen=True):
    """The params of `tools/list`; there is only one page."""

    cursor: str | None = None


class CallParams(Params, frozen=True, kw_only=True, gc=False):
    """The params of `tools/call`."""

    name: str
    arguments: dict[str, Any] | None = None


class CancelParams(Params, frozen=True, kw_only=True):
    """The params of `notifications/cancelled`."""

    request_id: Id = msgspec.field(name="requestId")


PREAMBLE: Final = msgspec.json.Decoder(RequestPreamble, float_hook=parse_float)
CANCEL: Final = msgspec.json.Decoder(CancelParams, float_hook=parse_float)
PARAMS: Final[dict[str, msgspec.json.Decoder[Any]]] = {
    "initialize": msgspec.json.Decoder(InitializeParams, float_hook=parse_float),
    "tools/list": msgspec.json.Decoder(ListParams, float_hook=parse_float),
    "tools/call": msgspec.json.Decoder(CallParams, float_hook=parse_float),
}
"""The decoder of each method's params; the others have nothing that is read."""


def check_meta(meta: Meta) -> None:
    """Raise ProtocolError (-32602) for a `_meta` key that a modern request lacks or gives with a wrong type."""
    if isinstance(meta.version, str) and isinstance(meta.capabilities, dict):
        return
    required = (VERSION_KEY, meta.version), (CAPABILITIES_KEY, meta.capabilities)
    missing = [key for key, value in required if value is UNSET]
    if missing:
        raise ProtocolError(INVALID_PARAMS, f"Invalid params: params._meta lacks {' and '.join(missing)}")
    if not isinstance(meta.version, str):
        raise ProtocolError(INVALID_PARAMS, f"Invalid params: {VERSION_KEY} must be a string")
    raise ProtocolError(INVALID_PARAMS, f"Invalid params: {CAPABILITIES_KEY} must be an object")


def check_version(meta: Meta) -> None:
    """Raise ProtocolError (-32022), with the versions that are served, if that of a modern request is not."""
    if meta.version not in MODERN_VERSIONS:
        raise unsupported(meta.version)


def unsupported(version: str) -> ProtocolError:
    """Return the error for a version that is not served, with the versions that are."""
    data = {"supported": list(MODERN_VERSIONS), "requested": version[:100]}
    return ProtocolError(UNSUPPORTED_VERSION, "Unsupported protocol version", data)


def listing(toolbox: Toolbox, registry: SchemaRegistry) -> bytes:
    """Return the JSON list of the tools, which both eras share."""
    return encode([_list_entry(tool, registry) for tool in toolbox])


def _list_entry(tool: Tool, registry: SchemaRegistry) -> dict[str, Any]:
    bundle = registry.load_bundle(tool.slug)
    entry: dict[str, Any] = {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": bundle.input,
        "annotations": {"title": tool.title, **tool.annotations},
    }
    if tool.to_content is None:
        # Clients hide the text when there is structured content, so a tool that returns blocks declares none.
        entry["outputSchema"] = bundle.output
    return entry


class Era(msgspec.Struct, frozen=True):
    """The members that an era adds to each result."""

    modern: bool
    tail: bytes
    """The members at the end of every result, as JSON."""
    about: dict[str, Any]
    """The members of every result's `_meta`."""
    result_end: bytes
    """The end of every tool's result, as JSON."""


def eras(identity: Identity) -> tuple[Era, Era]:
    """Return the handshake era and the modern era of a server with this identity."""
    about = {SERVER_INFO_KEY: msgspec.to_builtins(identity)}
    tail = b',"resultType":"complete","_meta":' + encode(about)
    handshake = Era(modern=False, tail=b"", about={}, result_end=b',"isError":false}')
    return handshake, Era(modern=True, tail=tail, about=about, result_end=b',"isError":false' + tail + b"}")


def _tool_result(outcome: Outcome, era: Era, whole_text: bool) -> bytes:  # noqa: FBT001 - as `to_reply` has it
    """Return a tool's result: structured content and its text, or the tool's own content blocks."""
    tool, body, end = outcome.tool, outcome.body, _result_end(outcome, era)
    if tool is not None and tool.to_content is not None:
        return b"".join((b'{"content":', encode(tool.to_content(outcome.result)), end))
    if len(body) <= PIECE_BYTES and (whole_text or tool is None or tool.remark is None):
        text = encode(body.decode())
        # rule: 3.output.structured
        return b"".join((b'{"content":[{"type":"text","text":', text, b'}],"structuredContent":', body, end))
    blocks = text_blocks(outcome, whole=whole_text)
    return b"".join((b'{"content":', blocks, b',"structuredContent":', body, end))


def _result_end(outcome: Outcome, era: Era) -> bytes:
    """Return the end of a tool's result: that of the era, with the names of ignored arguments where there are any."""
    if not outcome.ignored:
        return era.result_end
    kind = b',"resultType":"complete"' if era.modern else b""
    about = {**era.about, "ignored_arguments": outcome.ignored}
    return b"".join((b',"isError":false', kind, b',"_meta":', encode(about), b"}"))


def _error_result(outcome: Outcome, fault: Fault, era: Era) -> bytes:
    """Return a result for a fault that the model can act on; `_meta` has the canonical code and the fault's data."""
    result: dict[str, Any] = {"content": [{"type": "text", "text": fault.message}], "isError": True}
    if era.modern:
        result["resultType"] = "complete"
    ignored = {"ignored_arguments": outcome.ignored} if outcome.ignored else {}
    return encode({**result, "_meta": {**era.about, **_facts(fault), **ignored}})


def _facts(fault: Fault) -> dict[str, Any]:
    return {"canonical_code": fault.code, **fault.data, **(fault.details or {})}  # rule: 3.errors.canonical


def settled_version(requested: str) -> str:
    """Return the version that a handshake settles on: the client's if it is served, else the newest."""
    return requested if requested in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]


def initialize_result(version: str, identity: Identity, instructions: str, *, list_changed: bool = False) -> bytes:
    """Return the result of `initialize`; `list_changed` is whether the client is told when the tools change."""
    result = {
        "protocolVersion": settled_version(version),
        "capabilities": {"tools": {"listChanged": list_changed}},  # rule: 1.S3.2.tools
        "serverInfo": identity,
        "instructions": instructions,
    }
    return encode(result)


def discover_result(instructions: str, era: Era, ttl_ms: int = LIST_TTL_MS) -> bytes:
    """Return the result of `server/discover`."""
    result = {
        "supportedVersions": MODERN_VERSIONS,
        "capabilities": CAPABILITIES,
        "instructions": instructions,
        "ttlMs": ttl_ms,
        "cacheScope": "public",
    }
    return encode(result)[:-1] + era.tail + b"}"


def list_result(toolbox: Toolbox, registry: SchemaRegistry, era: Era, ttl_ms: int = LIST_TTL_MS) -> bytes:
    """Return the result of `tools/list`."""
    hints = b',"ttlMs":%d,"cacheScope":"public"' % ttl_ms if era.modern else b""
    return b'{"tools":' + listing(toolbox, registry) + hints + era.tail + b"}"


def to_reply(
    era: Era,
    whole_text: bool,  # noqa: FBT001 - bound once
    request_id: ResponseId,
    outcome: Outcome,
    *,
    takes_parts: bool = False,
) -> Reply:
    """Return the MCP response for an outcome; `whole_text` repeats a structured result as text, whatever its size.

    With `takes_parts`, a large result is in parts.
    """
    fault = outcome.fault
    if outcome.relayed is not None:
        return _relayed_reply(era, request_id, outcome, outcome.relayed)
    if fault is None:
        if takes_parts and len(outcome.body) > LARGE_RESULT_BYTES and _has_structure(outcome.tool):
            return _in_parts(era, whole_text, request_id, outcome)
        return success(request_id, _tool_result(outcome, era, whole_text), outcome)
    if fault.as_tool_result:
        return success(request_id, _error_result(outcome, fault, era), outcome)
    return failure(request_id, fault.mcp_code, fault.message, _facts(fault), outcome)


def _has_structure(tool: Tool | None) -> bool:
    """Return whether MCP sends the results of a tool as structured content."""
    return tool is not None and tool.to_content is None


def _in_parts(era: Era, whole_text: bool, request_id: ResponseId, outcome: Outcome) -> Reply:  # noqa: FBT001 - as above
    """Return the MCP response for a large result, in parts."""
    body = outcome.body
    opening = b'{"jsonrpc":"2.0","id":' + encode(request_id) + b',"result":{"content":'
    text: tuple[bytes | QuotedText, ...] = (text_blocks(outcome, whole=False),)
    if whole_text:
        text = b'[{"type":"text","text":', QuotedText.of(body), b"}]"
    end = _result_end(outcome, era) + b"}"
    return Reply(b"", outcome=outcome, parts=(opening, *text, b',"structuredContent":', body, end))


def finish_relayed(
    prepared: PreparedCall,
    reply: Relayed,
    rules: tuple[bool, bool],
    broken: Callable[[Tool, Contract, object], Fault],
    work: int,
) -> Outcome:
    """Return the outcome of a reply; errors of the server, and its questions to the caller, promise nothing.

    `rules` are whether the output contract is checked, and whether it is enforced; `work` is what a check may cost.
    """
    call, tool, shadow_violation = prepared.call, prepared.tool, prepared.shadow_violation
    checks, enforces = rules
    fault = None
    is_promised = checks and prepared.io.promises_output
    if is_promised and not (reply.is_failure or reply.is_single) and has_equal_members(reply.body):
        # The caller may see another member than the one that is looked at here.
        fault = _broken_as_a_whole(tool, DOUBLED)
        if enforces:
            return Outcome(call, tool, fault=fault, shadow_violation=shadow_violation)
    if reply.fault is not None or not reply.is_final:
        return Outcome(call, tool, None, reply.body, reply.fault, shadow_violation or fault, relayed=reply)
    if len(reply.body) > tool.max_result_bytes:
        return Outcome(
            call, tool, fault=oversized(tool, len(reply.body), tool.max_result_bytes), shadow_violation=shadow_violation
        )
    result = None
    if is_promised and fault is None:
        fault, result = _checked_content(prepared, reply, broken, work)
    if fault is not None and enforces:
        return Outcome(call, tool, fault=fault, shadow_violation=shadow_violation)
    return Outcome(call, tool, result, _relayed_value(reply), None, shadow_violation or fault, relayed=reply)


def _checked_content(
    prepared: PreparedCall, reply: Relayed, broken: Callable[[Tool, Contract, object], Fault], work: int
) -> tuple[Fault | None, object]:
    """Return the fault of structured content that breaks its contract, and its value."""
    tool, contract = prepared.tool, prepared.io.output_validator
    if reply.structured is None:
        return _broken_as_a_whole(tool, NOT_STRUCTURED), None
    try:
        result = decode_in_chunks(reply.structured)
        if has_equal_names_in_pieces(reply.structured, result):
            return _broken_as_a_whole(tool, DOUBLED), result
        is_small = len(reply.body) <= contract.free_bytes
        is_valid = contract.is_valid_at_once(result) if is_small else contract.is_valid(result, work)
        return None if is_valid else broken(tool, contract, result), result
    except (ValueError, RecursionError) as error:
        # JSON by its grammar, and yet no value: a number may be out of range.
        return broken_promise(tool.name, error, UNREADABLE).at("output"), None


def _relayed_value(reply: Relayed) -> bytes:
    """Return what REST and the envelope answer with: the structured content, else the content blocks."""
    if reply.structured is not None:
        return bytes(reply.structured)
    return b'{"content":' + bytes(reply.content or b"[]") + b"}"


def oversized(tool: Tool, size: int, limit: int) -> Fault:
    """Return the fault for a result that is larger than its tool may give."""
    excess = ContractError([("", f"{size:,} bytes, more than {limit:,}")])
    return tool.adapt_fault(result_too_large(tool.name, size, limit, excess)).at("output")


def _broken_as_a_whole(tool: Tool, why: str) -> Fault:
    return broken_promise(tool.name, ContractError([("", why)]), why).at("output")


def _relayed_reply(era: Era, request_id: ResponseId, outcome: Outcome, relayed: Relayed) -> Reply:
    """Return the reply of a wrapped server, in the era of the caller."""
    is_foreign = relayed.modern != era.modern
    body = relayed.in_era(relayed, era.modern) if is_foreign and relayed.in_era is not None else relayed.body
    if relayed.is_failure and outcome.fault is not None:
        return relayed_failure(request_id, body, outcome.fault.mcp_code, outcome)
    return success(request_id, body, outcome)


def progress_notification(token: Id, done: float, total: float | None, message: str | None) -> bytes:
    """Return the notification that reports the progress of a call."""
    values = {"progressToken": token, "progress": done, "total": total, "message": message}
    params = {key: value for key, value in values.items() if value is not None}
    return encode({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
