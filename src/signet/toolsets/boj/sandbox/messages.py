"""The 24 messages of the API, and the fault that stands for a message.

The Japanese texts are the Bank's own, and so are the six English texts that its responses have shown; the Bank has not
published the other English texts, so those were written for this sandbox.
"""

from __future__ import annotations

from typing import Final

from signet.kernel.errors import Code, Fault
from signet.toolsets.boj.faults import bank_messages

__all__ = ["DONE", "LANGS", "MESSAGES", "NO_DATA", "refuse", "text_of"]

LANGS: Final = ("jp", "en")
"""The languages of responses; the first is the default."""

DONE: Final = "M181000I"
NO_DATA: Final = "M181030I"

MESSAGES: Final = bank_messages()


def refuse(message_id: str, n: int = 0) -> Fault:
    """Return the fault for a message; `n` is the number of the series code that it concerns."""
    code = Code.INTERNAL_ERROR if message_id.endswith("S") else Code.INVALID_INPUT
    status = MESSAGES[message_id].status
    return Fault(code, text_of(message_id, "en", n), name=message_id, status=status, data={"n": n})


def text_of(message_id: str, lang: str, n: int = 0) -> str:
    """Return the text of a message in a language."""
    message = MESSAGES[message_id]
    return (message.english if lang == "en" else message.japanese).format(n=n)
