"""The doors as their clients see them: how a call is written for each, how its reply is read, where replies differ.

Pure. `signet parity` sends these messages to processes, the console to the doors of its own process.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Protocol

import msgspec

from signet.kernel.envelope import INVOKE
from signet.kernel.errors import INVALID_PARAMS, METHOD_NOT_FOUND, Code
from signet.kernel.protocol import HANDSHAKE_VERSIONS, MODERN_VERSIONS, Identity
from signet.kernel.schemas import PREFIX
from signet.kernel.text_blocks import MAX_CHARS, MAX_JSON_BYTES
from signet.mcp.messages import MessageBuilder, WireMessage
from signet.system.json_differences import ABSENT, json_differences
from signet.transports.path_names import escaped

__all__ = [
    "HANDSHAKE",
    "IN_RECORD",
    "MODERN",
    "UNREADABLE",
    "Observation",
    "WrittenCall",
    "as_text",
    "differences",
    "most_frequent",
    "read_envelope",
    "read_mcp",
    "read_relayed",
    "read_rest",
    "reader",
    "write_envelope",
    "write_mcp",
    "write_rest",
]

ID: Final = 1
"""The id of every call; calls are sent one at a time."""
UNREADABLE: Final = "UNREADABLE"
"""A code outside of the canonical table, for a reply that is not as the door prescribes."""
IN_RECORD: Final = ""
"""REST has error names of its own; the canonical code is taken from elsewhere, such as the journal record."""
MAX_UNREADABLE_BYTES: Final = 2000

RESOURCE_NOT_FOUND: Final = -32002
RELAYED_CODES: Final = {
    INVALID_PARAMS: Code.INVALID_INPUT,
    METHOD_NOT_FOUND: Code.NOT_FOUND,
    RESOURCE_NOT_FOUND: Code.NOT_FOUND,
}
"""The canonical codes of a wrapped server's own errors; all others are INTERNAL_ERROR."""

CLIENT: Final = Identity("signet parity", "1")
HANDSHAKE: Final = MessageBuilder(HANDSHAKE_VERSIONS[-1], CLIENT, "/mcp")
MODERN: Final = MessageBuilder(MODERN_VERSIONS[-1], CLIENT, "/mcp")


class WrittenCall(Protocol):
    """A call, as messages need it."""

    @property
    def tool(self) -> str:
        """Return the tool's name."""

    @property
    def slug(self) -> str:
        """Return the tool's slug."""

    @property
    def arguments(self) -> Any:
        """Return the arguments."""


class Observation(msgspec.Struct, frozen=True):
    """The reply of one door to one call, and its journal record."""

    result: Any = None
    code: str | None = None
    """The canonical code of an error; None if the call succeeded."""
    record: dict[str, Any] | None = None

    @property
    def is_answer(self) -> bool:
        """Whether there is a result, or a canonical code."""
        return self.code is None or self.code in list(Code)

    @property
    def is_complete(self) -> bool:
        """Whether there is an answer, and a record of it."""
        return self.record is not None and self.is_answer

    def text(self) -> str:
        """Return all fields as text; equal observations have equal texts."""
        return json.dumps(msgspec.to_builtins(self), indent=2, ensure_ascii=False)


Reader = Callable[[bytes], Observation]


# --- writing


def write_mcp(messages: MessageBuilder, call: WrittenCall) -> WireMessage:
    """Write a call for MCP."""
    return messages.request(ID, "tools/call", {"name": call.tool, "arguments": call.arguments})


def write_rest(call: WrittenCall) -> WireMessage:
    """Write a call for REST."""
    return WireMessage(msgspec.json.encode(call.arguments), path=f"/api/tools/{escaped(call.tool)}")


def write_envelope(call: WrittenCall) -> WireMessage:
    """Write a call as an envelope."""
    params = {"tool": PREFIX + call.slug, "input": call.arguments}
    body = msgspec.json.encode({"jsonrpc": "2.0", "id": ID, "method": INVOKE, "params": params})
    return WireMessage(body, path=f"/mcp/tool/{escaped(call.slug)}")


# --- reading


def reader(parse: Callable[[Any], Observation]) -> Reader:
    """Wrap a parser so that a malformed reply gets a code that no other door reports."""

    def read(body: bytes) -> Observation:
        try:
            reply = parse(msgspec.json.decode(body))
            return reply if reply.code in (None, IN_RECORD) else Observation(reply.result, Code(reply.code).value)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
            return Observation(body[:MAX_UNREADABLE_BYTES].decode(errors="replace"), UNREADABLE)

    return read


def _result(answer: Any) -> Any:
    """Return the result of a JSON-RPC reply to our call."""
    if answer["jsonrpc"] != "2.0" or answer["id"] != ID:
        raise ValueError("this answers something else")
    return answer["result"]


@reader
def read_mcp(answer: Any) -> Observation:
    """Parse a JSON-RPC reply to `tools/call`, of either era."""
    if "error" in answer:
        return Observation(code=answer["error"]["data"]["canonical_code"])
    result = _result(answer)
    if result["isError"]:
        return Observation(code=result["_meta"]["canonical_code"])
    blocks = result["content"]
    if blocks[0]["type"] == "image":
        from signet.toolsets.plantuml_tools.tools import read_content

        return Observation(msgspec.to_builtins(read_content(blocks[0])))
    if "structuredContent" not in result:
        # A tool that answers in content blocks: the contract calls a single text block `markdown`.
        return Observation({"markdown": blocks[0]["text"]} if len(blocks) == 1 else {"content": blocks})
    structured = result["structuredContent"]
    # The text of a large result is a cut for people.
    is_cut = len(blocks[0]["text"]) <= MAX_CHARS and len(msgspec.json.encode(structured)) > MAX_JSON_BYTES
    if not is_cut and msgspec.json.decode(blocks[0]["text"]) != structured:
        return Observation({"text": blocks[0]["text"], "structuredContent": structured})
    return Observation(structured)


@reader
def read_relayed(answer: Any) -> Observation:
    """Parse a JSON-RPC reply to `tools/call` of a wrapped server's tool, which is as that server wrote it."""
    if "error" in answer:
        error = answer["error"]
        data = error.get("data")
        known = data.get("canonical_code") if isinstance(data, dict) else None
        return Observation(code=known or RELAYED_CODES.get(error["code"], Code.INTERNAL_ERROR).value)
    result = _result(answer)
    if result.get("isError") is True:
        meta = result.get("_meta")
        known = meta.get("canonical_code") if isinstance(meta, dict) else None
        return Observation(code=known or Code.INTERNAL_ERROR.value)
    structured = result.get("structuredContent")
    return Observation({"content": result.get("content", [])} if structured is None else structured)


@reader
def read_envelope(answer: Any) -> Observation:
    """Parse a reply to an envelope."""
    if "error" in answer:
        return Observation(code=answer["error"]["data"]["canonical_code"])
    return Observation(_result(answer))


@reader
def read_rest(answer: Any) -> Observation:
    """Parse a REST response body."""
    if answer["success"]:
        return Observation(answer["result"])
    return Observation(code=IN_RECORD if answer["error"]["code"] else UNREADABLE)


# --- comparing


def most_frequent(texts: Sequence[str]) -> int | None:
    """Return the place of the first of the most frequent texts; None if there is none."""
    return texts.index(Counter(texts).most_common(1)[0][0]) if texts else None


def differences(before: Any, after: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield the paths at which two values differ, as deep as both are objects, with both values; paths are cut."""
    for one in json_differences(before, after, as_text, in_lists=False, in_order=True):
        yield one.dotted(), _null_if_absent(one.before), _null_if_absent(one.after)


def _null_if_absent(value: Any) -> Any:
    return None if value is ABSENT else value


def as_text(value: Any) -> str:
    """Return a value as text; equal values with their members in the same order have equal texts."""
    return json.dumps(value, ensure_ascii=False)
