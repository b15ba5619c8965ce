"""How any answer is written: its format, language and encoding, the keys that it begins with, lines of CSV; pure."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from signet.kernel.errors import Fault
from signet.sandbox.message import SandboxResponse

from .messages import LANGS, MESSAGES, text_of

__all__ = ["LINE_END", "SAMPLE", "ResponseFormat", "csv_of", "head_of", "key_of", "refusal", "spoken"]

LINE_END: Final = "\r\n"

SAMPLE: Final = {"x-data": "sample"}
"""The header that says of every answer what it is."""


class ResponseFormat(msgspec.Struct, frozen=True):
    """How an answer is to be written, and its date."""

    format: str
    lang: str
    date: str

    @property
    def encoding(self) -> str:
        """The encoding of its text."""
        return "cp932" if (self.format, self.lang) == ("csv", "jp") else "utf-8"

    def response(self, body: bytes) -> SandboxResponse:
        """Answer with a body; only of English CSV does the Bank tell the encoding."""
        if self.format == "json":
            return SandboxResponse(200, body, headers=SAMPLE)
        return SandboxResponse(200, body, "text/csv; charset=utf-8" if self.lang == "en" else "text/csv", SAMPLE)


def head_of(message_id: str, lang: str, date: str, n: int = 0) -> dict[str, Any]:
    """Give the keys that every answer begins with."""
    text = text_of(message_id, lang, n)
    return {"STATUS": MESSAGES[message_id].status, "MESSAGEID": message_id, "MESSAGE": text, "DATE": date}


def refusal(fault: Fault, lang: str, date: str) -> SandboxResponse:
    """Answer that it is not so: in JSON, whatever was asked for."""
    head = head_of(fault.name, lang, date, fault.data["n"])
    return SandboxResponse(fault.status, msgspec.json.encode(head), headers=SAMPLE)


def key_of(name: str, lang: str) -> str:
    """Give the key of a text in a language."""
    return f"{name}_J" if lang == "jp" else name


def spoken(name: str, pair: tuple[str, str], *langs: str) -> dict[str, str]:
    """Give the keys of a text in one language or in both."""
    return {key_of(name, lang): pair[LANGS.index(lang)] for lang in langs}


def csv_of(lines: Iterable[Iterable[Any]]) -> str:
    """Write lines, each with its end; nothing at all for None."""
    text = io.StringIO()
    csv.writer(text, lineterminator=LINE_END).writerows(lines)
    return text.getvalue()
