"""Frames: the requests with their payloads, and the checks of the replies.

Every call carries another text, so that a server gains nothing from a cache of its replies.
"""

from __future__ import annotations

import base64
import json
import string
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from signet.kernel.protocol import HANDSHAKE_VERSIONS, MODERN_VERSIONS, Identity
from signet.mcp.messages import MessageBuilder

__all__ = [
    "FIRST",
    "INITIALIZE",
    "INITIALIZED",
    "LARGE",
    "LEGACY",
    "LIST_TOOLS",
    "MODERN",
    "SLUG",
    "SMALL",
    "TOOL",
    "Call",
    "EnvelopeCall",
    "RestCall",
    "WrongAnswerError",
]

LEGACY = HANDSHAKE_VERSIONS[-1]
MODERN = MODERN_VERSIONS[-1]
TOOL = "encodePlantUML"
SLUG = "plantuml.encode"
VIEWER = "https://www.plantuml.com/plantuml/svg/"
FIRST = 10_000_001
"""The number of the first call; all numbers have eight digits, so that all frames of a kind have one length."""

_PLACEHOLDER = 77_777_777
_SAMPLE = 50
"""One of so many replies is inflated and compared with its source; all ids are compared."""
_BASE64 = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"
_PLANTUML = string.digits + string.ascii_uppercase + string.ascii_lowercase + "-_"
_FROM_PLANTUML = bytes.maketrans(_PLANTUML.encode(), _BASE64.encode())
_PARTS = ("browser", "gateway", "orders", "stock", "billing", "mailer", "ledger", "search", "audit")
_DEEDS = ("asks for", "confirms", "cancels", "reserves", "looks up", "signs", "forwards", "rejects")
_THINGS = ("an order", "the invoice", "a token", "one page", "a refund", "the stock level", "a receipt")
_WORDS = (_PARTS, _PARTS, _DEEDS, _THINGS)


class WrongAnswerError(Exception):
    """A reply is not the one that was requested; the speed of the server is then of no interest."""


_CLIENT = Identity("bench", "1")
_HANDSHAKE = MessageBuilder(LEGACY, _CLIENT)
INITIALIZE = _HANDSHAKE.initialize(0).body + b"\n"
INITIALIZED = _HANDSHAKE.initialized().body + b"\n"
LIST_TOOLS = _HANDSHAKE.request(1, "tools/list", {}).body + b"\n"


def diagram(size: int) -> str:
    """Return a sequence diagram of exactly so many bytes, with the number of the call in its second line."""
    lines, end = ["@startuml", f"' call {_PLACEHOLDER}"], "\n@enduml"
    room = size - len("\n".join(lines)) - len(end)
    for index in range(size):
        line = "\n" + _message(index)
        if len(line) > room:
            break
        lines.append(line[1:])
        room -= len(line)
    return "\n".join(lines) + " " * room + end


def _message(index: int) -> str:
    """Return one arrow; a checksum picks the words, so that the text is about as repetitive as real text."""
    pick = zlib.crc32(b"%d" % index)
    words = [choice[(pick >> 4 * place) % len(choice)] for place, choice in enumerate(_WORDS)]
    return "{} -> {} : {} {} no. {}".format(*words, pick % 9973)


SMALL = 372
LARGE = 19_859


@dataclass(frozen=True)
class Call:
    """One kind of tools/call: its bytes with places for the number, its text and its HTTP headers."""

    head: bytes
    middle: bytes
    tail: bytes
    text: str
    headers: Mapping[str, str]

    @classmethod
    def of(cls, size: int, era: str = LEGACY) -> Call:
        """Return the call for a payload of this size in one protocol revision."""
        text = diagram(size)
        params = {"name": TOOL, "arguments": {"plantumlCode": text}}
        message = MessageBuilder(era, _CLIENT).request(_PLACEHOLDER, "tools/call", params)
        head, middle, tail = message.body.split(str(_PLACEHOLDER).encode())
        return cls(head, middle, tail + b"\n", text, message.headers)

    def frame(self, number: int) -> bytes:
        """Return the request with this number as one line."""
        return b"%b%d%b%d%b" % (self.head, number, self.middle, number, self.tail)

    def check(self, answers: Iterable[bytes], numbers: Iterable[int], *, echoes: bool = False) -> None:
        """Check that exactly these numbers were answered, each once, and that a sample holds its text.

        Raises:
            WrongAnswerError: a reply is missing, superfluous or wrong.
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
        encoded = _encoded(self._answer(message.get("result", {})), message)
        if inflate and _inflate(encoded) != self.text.replace(str(_PLACEHOLDER), str(message["id"])):
            complaint = f"call {message['id']} does not inflate back to its source"
            raise WrongAnswerError(complaint)

    def _answer(self, result: dict[str, Any]) -> dict[str, Any]:
        """Return the tool's answer in a result, or nothing where the result is not whole."""
        whole = not result.get("isError") and result.get("content")
        answer: dict[str, Any] = result.get("structuredContent", {}) if whole else {}
        return answer


@dataclass(frozen=True)
class EnvelopeCall(Call):
    """One kind of envelope: the same as a call, but the result is the tool's answer itself."""

    @classmethod
    def of(cls, size: int, _: str = LEGACY) -> EnvelopeCall:
        """Return the envelope for a payload of this size; it is the same in every protocol revision."""
        text = diagram(size)
        params = {"tool": f"mcp.tool:{SLUG}", "input": {"plantumlCode": text}}
        message = {"jsonrpc": "2.0", "id": _PLACEHOLDER, "method": "mcp.tool.invoke", "params": params}
        head, middle, tail = json.dumps(message).encode().split(str(_PLACEHOLDER).encode())
        return cls(head, middle, tail, text, {"content-type": "application/json"})

    def _answer(self, result: dict[str, Any]) -> dict[str, Any]:
        return result


@dataclass(frozen=True)
class RestCall:
    """One kind of REST call: its bytes with a place for the number, its text and its HTTP headers."""

    head: bytes
    tail: bytes
    text: str
    headers: Mapping[str, str]

    @classmethod
    def of(cls, size: int) -> RestCall:
        """Return the call for a payload of this size."""
        text = diagram(size)
        head, tail = json.dumps({"plantumlCode": text}).encode().split(str(_PLACEHOLDER).encode())
        return cls(head, tail, text, {"content-type": "application/json"})

    def frame(self, number: int) -> bytes:
        """Return the body with this number."""
        return b"%b%d%b" % (self.head, number, self.tail)

    def check(self, answers: Iterable[bytes], numbers: Iterable[int], *, echoes: bool = False) -> None:
        """Check that exactly these numbers were answered, each once; the text of each answer tells its number.

        Raises:
            WrongAnswerError: a reply is missing, superfluous or wrong.
        """
        if echoes:
            raise WrongAnswerError("an echo of a REST call tells nothing")
        left = {self.text.replace(str(_PLACEHOLDER), str(number)) for number in numbers}
        for answer in answers:
            message = json.loads(answer)
            text = _inflate(_encoded(message.get("result", {}) if message.get("success") else {}, message))
            if text not in left:
                complaint = f"no call is open for {answer[:200]!r}"
                raise WrongAnswerError(complaint)
            left.remove(text)
        if left:
            complaint = f"{len(left)} calls were never answered"
            raise WrongAnswerError(complaint)


def _encoded(answer: Mapping[str, Any], message: Mapping[str, Any]) -> str:
    """Return the encoded diagram of an answer, which must be the tool's and whole."""
    encoded = str(answer.get("encoded", ""))
    if not encoded or answer != {"url": VIEWER + encoded, "encoded": encoded, "format": "svg"}:
        complaint = f"not the tool's answer: {str(message)[:200]}"
        raise WrongAnswerError(complaint)
    return encoded


def _inflate(encoded: str) -> str:
    packed = encoded.encode("ascii").translate(_FROM_PLANTUML)
    return zlib.decompress(base64.b64decode(packed + b"=" * (-len(packed) % 4)), -zlib.MAX_WBITS).decode()
