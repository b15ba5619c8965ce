"""The eight channels: which process each needs, how it writes a call, how it reads the reply. Pure."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import msgspec

from signet.kernel.envelope import INVOKE
from signet.kernel.errors import Code
from signet.kernel.protocol import HANDSHAKE_VERSIONS, MODERN_VERSIONS, Identity
from signet.kernel.schemas import PREFIX
from signet.kernel.text_blocks import MAX_CHARS, MAX_JSON_BYTES
from signet.upstream.mcp_messages import Message, MessageBuilder

from .corpus import CorpusCall
from .report import Observation

__all__ = ["CHANNELS", "IN_RECORD", "NO_ANSWER", "Channel"]

ID: Final = 1
"""The id of every call; calls are sent one at a time."""
NO_ANSWER: Final = "NO_ANSWER"
UNREADABLE: Final = "UNREADABLE"
"""Codes outside of the canonical table, for a reply that is missing or not as the channel prescribes."""
IN_RECORD: Final = ""
"""REST has error names of its own; the canonical code is taken from the journal record."""
MAX_UNREADABLE_BYTES: Final = 2000

CLIENT: Final = Identity("signet parity", "1")
HANDSHAKE: Final = MessageBuilder(HANDSHAKE_VERSIONS[-1], CLIENT, "/mcp")
MODERN: Final = MessageBuilder(MODERN_VERSIONS[-1], CLIENT, "/mcp")

Reader = Callable[[bytes], Observation]


class Channel(NamedTuple):
    """One way into the server."""

    name: str
    command: str
    """The key of the command line to start: `stdio`, `serve` or `call`."""
    write: Callable[[CorpusCall], Message]
    read: Reader
    handshake: MessageBuilder | None = None
    """The revision whose handshake comes before the first call."""


# --- writing


def _write_mcp(messages: MessageBuilder, call: CorpusCall) -> Message:
    return messages.request(ID, "tools/call", {"name": call.tool, "arguments": call.arguments})


def _write_rest(call: CorpusCall) -> Message:
    return Message(msgspec.json.encode(call.arguments), path=f"/api/tools/{quote(call.tool, safe='')}")


def _write_envelope(call: CorpusCall) -> Message:
    params = {"tool": PREFIX + call.slug, "input": call.arguments}
    body = msgspec.json.encode({"jsonrpc": "2.0", "id": ID, "method": INVOKE, "params": params})
    return Message(body, path=f"/mcp/tool/{quote(call.slug, safe='')}")


def _write_command_line(call: CorpusCall) -> Message:
    return Message(msgspec.json.encode([call.tool, msgspec.json.encode(call.arguments).decode()]))


# --- reading


def _reader(parse: Callable[[Any], Observation]) -> Reader:
    """Wrap a parser so that a malformed reply gets a code that no other channel reports."""

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


@_reader
def _read_mcp(answer: Any) -> Observation:
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


@_reader
def _read_envelope(answer: Any) -> Observation:
    """Parse a reply to an envelope."""
    if "error" in answer:
        return Observation(code=answer["error"]["data"]["canonical_code"])
    return Observation(_result(answer))


@_reader
def _read_rest(answer: Any) -> Observation:
    """Parse a REST response body."""
    if answer["success"]:
        return Observation(answer["result"])
    return Observation(code=IN_RECORD if answer["error"]["code"] else UNREADABLE)


@_reader
def _read_command_line(answer: Any) -> Observation:
    """Parse the output of a command by its exit status."""
    output = msgspec.json.decode(answer["shown"])
    return Observation(output) if answer["status"] == 0 else Observation(code=output["error"]["canonical_code"])


CHANNELS: Final = (
    Channel(f"stdio {HANDSHAKE.version}", "stdio", partial(_write_mcp, HANDSHAKE), _read_mcp, HANDSHAKE),
    Channel(f"stdio {MODERN.version}", "stdio", partial(_write_mcp, MODERN), _read_mcp),
    Channel(f"HTTP {HANDSHAKE.version}", "serve", partial(_write_mcp, HANDSHAKE), _read_mcp, HANDSHAKE),
    Channel(f"HTTP {MODERN.version}", "serve", partial(_write_mcp, MODERN), _read_mcp),
    Channel("REST", "serve", _write_rest, _read_rest),
    Channel("envelope stdio", "stdio", _write_envelope, _read_envelope),
    Channel("envelope HTTP", "serve", _write_envelope, _read_envelope),
    Channel("command line", "call", _write_command_line, _read_command_line),
)
