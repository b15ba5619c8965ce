"""What a way answered, brought to one form: a result or a canonical code. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from signet.kernel.errors import Code

__all__ = [
    "ID",
    "IN_RECORD",
    "NO_ANSWER",
    "ParsedReply",
    "Reader",
    "read_envelope",
    "read_line",
    "read_mcp",
    "read_rest",
    "silent",
]

NO_ANSWER: Final = "NO_ANSWER"
UNREADABLE: Final = "UNREADABLE"
"""Not canonical: what a way is told to have said when nothing or nonsense came."""
ID: Final = 1
"""The id of every call; one is asked at a time."""
IN_RECORD: Final = ""
"""REST has names of its own for what is wrong; the canonical code stands in its record."""


class ParsedReply(msgspec.Struct, frozen=True):
    """One answer."""

    result: Any = None
    code: str | None = None
    """What was wrong; None where nothing was."""


Reader = Callable[[bytes], ParsedReply]


def silent(why: str) -> ParsedReply:
    """Stand in for an answer that did not come."""
    return ParsedReply(why, NO_ANSWER)


def _readable(read: Callable[[Any], ParsedReply]) -> Reader:
    """Make of nonsense an answer that no other way gives."""

    def careful(body: bytes) -> ParsedReply:
        try:
            said = read(msgspec.json.decode(body))
            return said if said.code in (None, IN_RECORD) else ParsedReply(said.result, Code(said.code).value)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
            return ParsedReply(body[:2000].decode(errors="replace"), UNREADABLE)

    return careful


def _result(answer: Any) -> Any:
    """Give a JSON-RPC answer's result, if it is the answer that was asked for."""
    if answer["jsonrpc"] != "2.0" or answer["id"] != ID:
        raise ValueError("this answers something else")
    return answer["result"]


@_readable
def read_mcp(answer: Any) -> ParsedReply:
    """Read a JSON-RPC answer to `tools/call`, of either era."""
    if "error" in answer:
        return ParsedReply(code=answer["error"]["data"]["canonical_code"])
    result = _result(answer)
    if result["isError"]:
        return ParsedReply(code=result["_meta"]["canonical_code"])
    blocks = result["content"]
    if "structuredContent" not in result:
        # Tools that answer in blocks: a text is what their contract calls markdown.
        return ParsedReply({"markdown": blocks[0]["text"]} if len(blocks) == 1 else {"content": blocks})
    structured = result["structuredContent"]
    if msgspec.json.decode(blocks[0]["text"]) != structured:
        return ParsedReply({"text": blocks[0]["text"], "structuredContent": structured})
    return ParsedReply(structured)


@_readable
def read_envelope(answer: Any) -> ParsedReply:
    """Read an answer to an envelope."""
    return (
        ParsedReply(code=answer["error"]["data"]["canonical_code"])
        if "error" in answer
        else ParsedReply(_result(answer))
    )


@_readable
def read_rest(answer: Any) -> ParsedReply:
    """Read an answer of REST."""
    if answer["success"]:
        return ParsedReply(answer["result"])
    return ParsedReply(code=IN_RECORD if answer["error"]["code"] else UNREADABLE)


@_readable
def read_line(answer: Any) -> ParsedReply:
    """Read what a command printed, by its exit status."""
    shown = msgspec.json.decode(answer["shown"])
    return ParsedReply(shown) if answer["status"] == 0 else ParsedReply(code=shown["error"]["canonical_code"])
