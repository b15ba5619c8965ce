"""The result of a call in a file, as `signet call … --out FILE` writes it: a picture decoded, a text as text."""

from __future__ import annotations

import base64
import os
import sys
from typing import Any, NamedTuple

import msgspec

from signet.kernel.outcome import Outcome
from signet.system.files import replacing

from .terminal import counted, say

__all__ = ["ResultPart", "part_of_blocks", "part_of_outcome", "write_part"]

JSON = "application/json"
TEXT = "text"
STDOUT = "-"


class ResultPart(NamedTuple):
    """The part of a result that a file gets."""

    kind: str
    """The media type, or `text`."""
    data: bytes
    left_out: int = 0
    """The number of further pictures, sounds and files in the result."""


def part_of_outcome(outcome: Outcome) -> ResultPart:
    """Return the part of an outcome without a fault that a file gets."""
    tool, relayed = outcome.tool, outcome.relayed
    if relayed is not None:
        blocks = msgspec.json.decode(relayed.content or b"[]")
        return part_of_blocks(blocks, outcome.body, is_structured=relayed.structured is not None)
    if tool is not None and tool.to_content is not None:
        return part_of_blocks(tool.to_content(outcome.result), outcome.body)
    match outcome.result:
        case {"result": str(text)} if len(outcome.result) == 1:
            return ResultPart(TEXT, text.encode())
    return ResultPart(JSON, outcome.body + b"\n")


def part_of_blocks(blocks: list[Any], body: bytes, *, is_structured: bool = False) -> ResultPart:
    """Return the first picture, sound or file among content blocks, else their texts, else the result as JSON.

    The texts of a structured result only repeat it.
    """
    blobs = [blob for block in blocks if (blob := _blob(block)) is not None]
    if blobs:
        return ResultPart(*blobs[0], len(blobs) - 1)
    texts = [text for block in blocks if (text := _text(block)) is not None]
    if texts and not is_structured:
        return ResultPart(TEXT, "\n".join(texts).encode())
    return ResultPart(JSON, body + b"\n")


def write_part(part: ResultPart, out: str) -> bool:
    """Write a part of a result, replacing the file if there is one; say what was written, or why nothing was."""
    if out == STDOUT:
        if sys.stdout is None:
            return False
        sys.stdout.buffer.write(part.data)
        return True
    try:
        with replacing(out, f"{out}.{os.getpid()}.new") as file:
            file.write(part.data)
    except OSError as error:
        say(f"cannot write {out} ({error.strerror}); the result follows on standard output")
        return False
    more = f"; {counted(part.left_out, 'further part')} of the result not written" if part.left_out else ""
    say(f"wrote {out}: {part.kind}, {counted(len(part.data), 'byte')}{more}")
    return True


def _blob(block: Any) -> tuple[str, bytes] | None:
    """Return the media type and the bytes of a block that has some."""
    match block:
        case {"type": "image" | "audio", "data": str(data)}:
            kind = block.get("mimeType")
        case {"type": "resource", "resource": {"blob": str(data)}}:
            kind = block["resource"].get("mimeType")
        case _:
            return None
    try:
        return str(kind or "application/octet-stream"), base64.b64decode(data, validate=True)
    except ValueError:
        return None


def _text(block: Any) -> str | None:
    match block:
        case {"type": "text", "text": str(text)} | {"type": "resource", "resource": {"text": str(text)}}:
            return text
    return None
