"""The text of a structured result: the same JSON, or for a large one a cut that can be read.

A client that knows structured content has the data already; a model reads the text, and pays for all of it.
"""

from __future__ import annotations

from typing import Final

from .outcome import Outcome
from .tools import Tool
from .wire import PIECE_BYTES, encode, quoted

__all__ = ["MAX_CHARS", "MAX_JSON_BYTES", "text_blocks"]

MAX_JSON_BYTES: Final = 65_536
"""The largest result that is repeated as text."""
MAX_CHARS: Final = 8_000
"""The longest cut."""
HEAD_CHARS: Final = 5_000
TAIL_CHARS: Final = 2_500
"""How much of the beginning and the end is shown of a result whose tool has no words for it."""
MORE_BYTES: Final = 4  # rule: @MORE_BYTES
"""The longest character of UTF-8."""


def text_blocks(outcome: Outcome, *, whole: bool) -> bytes:
    """Return the content blocks of a structured result as JSON; `whole` asks for the JSON alone, whatever its size."""
    tool, body = outcome.tool, outcome.body
    if whole or tool is None:
        text = encode(body.decode()) if len(body) <= PIECE_BYTES else b"".join(quoted(body))
        return b'[{"type":"text","text":' + text + b"}]"
    if len(body) > MAX_JSON_BYTES:
        return encode([_block(_cut(tool, outcome))])
    blocks = b'{"type":"text","text":' + encode(body.decode()) + b"}"
    remark = tool.remark(outcome.result) if tool.remark is not None else ""
    return b"[" + blocks + (b"," + encode(_block(remark)) if remark else b"") + b"]"


def _block(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def _cut(tool: Tool, outcome: Outcome) -> str:
    """Return the tool's own summary of a large result, or the beginning and the end of its JSON."""
    if tool.summarize is not None:
        return tool.summarize(outcome.result)[:MAX_CHARS]
    body = outcome.body
    head = body[: HEAD_CHARS * MORE_BYTES].decode(errors="ignore")[:HEAD_CHARS]
    tail = body[-TAIL_CHARS * MORE_BYTES :].decode(errors="ignore")[-TAIL_CHARS:]
    note = f"The result has {len(body):,} bytes: the whole of it is in structuredContent, and this text is a cut of it."
    return f"{note}\n\nIt begins:\n{head}\n\nIt ends:\n{tail}"
