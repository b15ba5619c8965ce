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
    "Reader",
    "Said",
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


class Said(msgspec.Struct, frozen=True):
    """One answer."""

    result: Any = None
    code: str | None = None
    """What was wrong; None where nothing was."""


Reader = Callable[[bytes], Said]


def silent(why: str) -> Said:
    """Stand in for an answer that did not come."""
    return Said(why, NO_ANSWER)


def _readable(read: Callable[[Any], Said]) -> Reader:
    """Make of nonsense an answer that no other way gives."""

    def careful(body: bytes) -> Said:
        try:
            said = read(msgspec.json.decode(body))
            return said if said.code in (None, IN_RECORD) else Said(said.result, Code(said.code).value)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
            return Said(body[:2000].decode(errors="replace"), UNREADABLE)

    return careful


def _result(answer: Any) -> Any:
    """Give a JSON-RPC answer's result, if it is the answer that was asked for."""
    if answer["jsonrpc"] != "2.0" or answer["id"] != ID:
        raise ValueError("this answers something else")
    return answer["result"]


@_readable
def read_mcp(answer: Any) -> Said:
    """Read a JSON-RPC answer to `tools/call`, of either era."""
    if "error" in answer:
        return Said(code=answer["error"]["data"]["canonical_code"])
    result = _result(answer)
    if result["isError"]:
        return Said(code=result["_meta"]["canonical_code"])
    blocks = result["content"]
    if "structuredContent" not in result:
        # Tools that answer in blocks: a text is what their contract calls markdown.
        return Said({"markdown": blocks[0]["text"]} if len(blocks) == 1 else {"content": blocks})
    structured = result["structuredContent"]
    if msgspec.json.decode(blocks[0]["text"]) != structured:
        return Said({"text": blocks[0]["text"], "structuredContent": structured})
    return Said(structured)


@_readable
def read_envelope(answer: Any) -> Said:
    """Read an answer to an envelope."""
    return Said(code=answer["error"]["data"]["canonical_code"]) if "error" in answer else Said(_result(answer))


@_readable
def read_rest(answer: Any) -> Said:
    """Read an answer of REST."""
    if answer["success"]:
        return Said(answer["result"])
    return Said(code=IN_RECORD if answer["error"]["code"] else UNREADABLE)


@_readable
def read_line(answer: Any) -> Said:
    """Read what a command printed, by its exit status."""
    shown = msgspec.json.decode(answer["shown"])
    return Said(shown) if answer["status"] == 0 else Said(code=shown["error"]["canonical_code"])
