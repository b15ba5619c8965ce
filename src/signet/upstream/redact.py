"""What a recording may not hold, taken out: secrets that we were given, and values whose names say what they are.

Pure. What holds no secret stays as it is, byte for byte.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

__all__ = ["MIN_CHARS", "REDACTED", "Redactor"]

REDACTED: Final = "[redacted]"
QUOTED: Final = "%5Bredacted%5D"
"""The same on a request line: what a redacted argument is asked for with."""
MIN_CHARS: Final = 8
"""A shorter secret may be a word of any answer; taking it out would spoil what it does not protect."""

WORDS: Final = ("token", "authorization", "password", "passwd", "secret", "api_key", "api-key", "apikey", "cookie")
NAME: Final = rf"[\w-]*(?:{'|'.join(WORDS)})s?"
FIELD: Final = re.compile(NAME, re.IGNORECASE)
PARAMETER: Final = re.compile(rf"([?&]{NAME}=)[^&#]*", re.IGNORECASE)
LOOSE: Final = re.compile(rf'("{NAME}"\s*:\s*)(?:"(?:[^"\\]|\\.)*"?|[^\s,\]}}]+)'.encode(), re.IGNORECASE)
"""A field and its value in what is no whole JSON."""


class Redactor:
    """Takes secrets out of what is about to be written."""

    def __init__(self, secrets: tuple[str, ...] = ()) -> None:
        from urllib.parse import quote

        known = sorted((one for one in secrets if len(one) >= MIN_CHARS), key=len, reverse=True)
        self._literal = [
            form
            for one in known
            for form in dict.fromkeys((one, msgspec.json.encode(one)[1:-1].decode(), quote(one, safe="")))
        ]

    def target(self, target: str) -> str:
        """Clean a request line's path and query."""
        for form in self._literal:
            target = target.replace(form, QUOTED)
        return PARAMETER.sub(rf"\1{QUOTED}", target)

    def text(self, text: str) -> str:
        """Take the secrets that are known out of a text."""
        for form in self._literal:
            text = text.replace(form, REDACTED)
        return text

    def body(self, body: bytes) -> bytes:
        """Clean a body; one that is JSON also of every field whose name says that it is secret."""
        for form in self._literal:
            body = body.replace(form.encode(), REDACTED.encode())
        lowered = body.lower()
        if not any(word.encode() in lowered for word in WORDS) or not LOOSE.search(body):
            return body
        try:
            value = msgspec.json.decode(body)
        except (ValueError, RecursionError):
            return LOOSE.sub(rb'\1"%b"' % REDACTED.encode(), body)
        return msgspec.json.encode(_veiled(value))


def _veiled(value: Any) -> Any:
    """Put a word in the place of every field with a secret's name, whatever its value is."""
    if isinstance(value, list):
        return [_veiled(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {name: REDACTED if FIELD.fullmatch(name) else _veiled(one) for name, one in value.items()}
