"""What is asked and what must come back: payloads, requests with their numbers, and the check of an answer.

Every call asks for another text, so that a server that remembers answers gains nothing by it.
"""

from __future__ import annotations

import base64
import json
import string
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

__all__ = [
    "FIRST",
    "INITIALIZE",
    "INITIALIZED",
    "LARGE",
    "LEGACY",
    "LIST_TOOLS",
    "MODERN",
    "SMALL",
    "TOOL",
    "Call",
    "WrongAnswerError",
]

LEGACY = "2025-11-25"
MODERN = "2026-07-28"
TOOL = "encodePlantUML"
VIEWER = "https://www.plantuml.com/plantuml/svg/"
FIRST = 10_000_001
"""The first call's number; all numbers have eight digits, so that all frames of a kind are of one length."""

_STAND_IN = 77_777_777
_SAMPLE = 50
"""Every so many answers one is inflated and compared with its source; the ids are all compared."""
_BASE64 = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"
_PLANTUML = string.digits + string.ascii_uppercase + string.ascii_lowercase + "-_"
_FROM_PLANTUML = bytes.maketrans(_PLANTUML.encode(), _BASE64.encode())
_PARTS = ("browser", "gateway", "orders", "stock", "billing", "mailer", "ledger", "search", "audit")
_DEEDS = ("asks for", "confirms", "cancels", "reserves", "looks up", "signs", "forwards", "rejects")
_THINGS = ("an order", "the invoice", "a token", "one page", "a refund", "the stock level", "a receipt")
_WORDS = (_PARTS, _PARTS, _DEEDS, _THINGS)


class WrongAnswerError(Exception):
    """A server answered something else than what it was asked; its speed is then of no interest."""


def _line(**message: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode() + b"\n"


_CLIENT = {"name": "bench", "version": "1"}
INITIALIZE = _line(
    id=0,
    method="initialize",
    params={"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": _CLIENT},
)
INITIALIZED = _line(method="notifications/initialized")
LIST_TOOLS = _line(id=1, method="tools/list", params={})


def diagram(size: int) -> str:
    """Draw a sequence diagram of exactly so many bytes, with the call's number in its second line."""
    lines, end = ["@startuml", f"' call {_STAND_IN}"], "\n@enduml"
    room = size - len("\n".join(lines)) - len(end)
    for index in range(size):
        line = "\n" + _message(index)
        if len(line) > room:
            break
        lines.append(line[1:])
        room -= len(line)
    return "\n".join(lines) + " " * room + end


def _message(index: int) -> str:
    """Write one arrow; a checksum picks the words, so that the text repeats no more than such text does."""
    pick = zlib.crc32(b"%d" % index)
    words = [choice[(pick >> 4 * place) % len(choice)] for place, choice in enumerate(_WORDS)]
    return "{} -> {} : {} {} no. {}".format(*words, pick % 9973)


SMALL = 372
LARGE = 19_859


@dataclass(frozen=True)
class Call:
    """One kind of tools/call: its bytes with a place for the number, and the text it carries."""

    head: bytes
    middle: bytes
    tail: bytes
    text: str

    @classmethod
    def of(cls, size: int, era: str = LEGACY) -> Call:
        """Build the call for a payload of this size in one protocol era."""
        text = diagram(size)
        params: dict[str, object] = {"name": TOOL, "arguments": {"plantumlCode": text}}
        if era == MODERN:
            scope = "io.modelcontextprotocol/"
            params["_meta"] = {
                f"{scope}protocolVersion": MODERN,
                f"{scope}clientInfo": _CLIENT,
                f"{scope}clientCapabilities": {},
            }
        frame = _line(id=_STAND_IN, method="tools/call", params=params)
        head, middle, tail = frame.split(str(_STAND_IN).encode())
        return cls(head, middle, tail, text)

    def frame(self, number: int) -> bytes:
        """Write the request with this number, one line."""
        return b"%b%d%b%d%b" % (self.head, number, self.middle, number, self.tail)

    def check(self, answers: Iterable[bytes], numbers: Iterable[int], *, echoes: bool = False) -> None:
        """Prove that exactly these numbers were answered, each once, and that a sample holds its text.

        Raises:
            WrongAnswerError: an id, an error or a text is not what was asked for.
        """
        left = set(numbers)
        for index, answer in enumerate(answers):
            message = json.loads(answer)
            number = message.get("id")
            if number not in left:
                complaint = f"no call {number!r} is open: {answer[:200]!r}"
                raise WrongAnswerError(complaint)
            left.remove(number)
            if not echoes:
                self._check_result(message, inflate=index % _SAMPLE == 0)
        if left:
            complaint = f"{len(left)} calls were never answered"
            raise WrongAnswerError(complaint)

    def _check_result(self, message: dict[str, Any], *, inflate: bool) -> None:
        result = message.get("result", {})
        answer = result.get("structuredContent", {})
        encoded = answer.get("encoded", "")
        whole = not result.get("isError") and result.get("content") and encoded
        if not whole or answer != {"url": VIEWER + encoded, "encoded": encoded, "format": "svg"}:
            complaint = f"not the tool's answer: {str(message)[:200]}"
            raise WrongAnswerError(complaint)
        if inflate and _inflate(encoded) != self.text.replace(str(_STAND_IN), str(message["id"])):
            complaint = f"call {message['id']} does not inflate back to its source"
            raise WrongAnswerError(complaint)


def _inflate(encoded: str) -> str:
    packed = encoded.encode("ascii").translate(_FROM_PLANTUML)
    return zlib.decompress(base64.b64decode(packed + b"=" * (-len(packed) % 4)), -zlib.MAX_WBITS).decode()
