"""What a recording may not hold, taken out: secrets that we were given, and values whose names say what they are.

Pure. What holds no secret stays as it is, byte for byte.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from signet.kernel.redaction import MIN_CHARS, NAMES, REDACTED, SecretRedactor

__all__ = ["CassetteRedactor"]

QUOTED: Final = "%5Bredacted%5D"
"""The same on a request line: what a redacted argument is asked for with."""

FIELD: Final = re.compile(rf"[\w. -]*{NAMES}", re.IGNORECASE)
PARAMETER: Final = rf"((?:[?&]|%3f|%26|&amp;|\\u0026)[\w.-]{{0,40}}{NAMES}(?:=|%3d))(?:(?!%26)[^&#\s\"'\\<>])*"
IN_TARGET: Final = re.compile(PARAMETER, re.IGNORECASE)
IN_BODY: Final = re.compile(
    rf"{PARAMETER}|(authorization\s*:\s*(?:bearer|basic|digest)\s+)[^\s\"'\\<>]+".encode(), re.IGNORECASE
)
"""A parameter of a URL, a header: in whatever text they stand."""
LOOSE: Final = re.compile(
    rf'("[\w. -]{{0,40}}{NAMES}"\s*:\s*)(?:"(?:[^"\\]|\\.)*"?|[^\s,\]}}]+)'.encode(), re.IGNORECASE
)
"""A field and its value in what is no whole JSON."""
WORD: Final = re.compile(NAMES.encode(), re.IGNORECASE)


class CassetteRedactor:
    """Takes secrets out of what is about to be written."""

    def __init__(self, secrets: tuple[str, ...] = ()) -> None:
        self._veil = SecretRedactor(secrets, min_chars=MIN_CHARS)

    def target(self, target: str) -> str:
        """Clean a request line's path and query."""
        return IN_TARGET.sub(rf"\1{QUOTED}", self._veil.text(target, QUOTED))

    def text(self, text: str) -> str:
        """Take the secrets that are known out of a text."""
        return self._veil.text(text)

    def body(self, body: bytes) -> bytes:
        """Clean a body; one that is JSON also of every field whose name says that it is secret."""
        body = self._veil.data(body)
        if not WORD.search(body):
            return body
        body = IN_BODY.sub(rb"\1\2%b" % REDACTED.encode(), body)
        try:
            value = msgspec.json.decode(body)
            veiled = _veiled(value)
            return body if veiled == value else msgspec.json.encode(veiled)
        except (ValueError, RecursionError):
            return LOOSE.sub(rb'\1"%b"' % REDACTED.encode(), body)


def _veiled(value: Any) -> Any:
    """Put a word in the place of every field with a secret's name, whatever its value is."""
    if isinstance(value, list):
        return [_veiled(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {name: REDACTED if FIELD.fullmatch(name) else _veiled(one) for name, one in value.items()}
