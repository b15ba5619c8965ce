"""The redaction of recordings: removes known secrets, and values whose names mark them as secret.

Pure. Data without a secret stays the same, byte for byte.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from signet.kernel.redaction import MIN_CHARS, NAMES, REDACTED, SecretRedactor

__all__ = ["CassetteRedactor"]

QUOTED: Final = "%5Bredacted%5D"
"""`REDACTED` as it is written in a request target."""

FIELD: Final = re.compile(rf"[\w. -]*{NAMES}", re.IGNORECASE)
PARAMETER: Final = rf"((?:[?&]|%3f|%26|&amp;|\\u0026)[\w.-]{{0,40}}{NAMES}(?:=|%3d))(?:(?!%26)[^&#\s\"'\\<>])*"
IN_TARGET: Final = re.compile(PARAMETER, re.IGNORECASE)
IN_BODY: Final = re.compile(
    rf"{PARAMETER}|(authorization\s*:\s*(?:bearer|basic|digest)\s+)[^\s\"'\\<>]+".encode(), re.IGNORECASE
)
"""A parameter of a URL, or a header, anywhere in a body."""
LOOSE: Final = re.compile(
    rf'("[\w. -]{{0,40}}{NAMES}"\s*:\s*)(?:"(?:[^"\\]|\\.)*"?|[^\s,\]}}]+)'.encode(), re.IGNORECASE
)
"""A field and its value in a body that is not complete JSON."""
WORD: Final = re.compile(NAMES.encode(), re.IGNORECASE)


class CassetteRedactor:
    """Removes secrets from data that is about to be recorded."""

    def __init__(self, secrets: tuple[str, ...] = ()) -> None:
        self._redactor = SecretRedactor(secrets, min_chars=MIN_CHARS)

    def target(self, target: str) -> str:
        """Return a request target without secrets in its path and query."""
        return IN_TARGET.sub(rf"\1{QUOTED}", self._redactor.text(target, QUOTED))

    def text(self, text: str) -> str:
        """Return a text without known secrets."""
        return self._redactor.text(text)

    def body(self, body: bytes) -> bytes:
        """Return a body without secrets; in JSON, the values of all fields with the name of a secret are replaced."""
        body = self._redactor.data(body)
        if not WORD.search(body):
            return body
        body = IN_BODY.sub(rb"\1\2%b" % REDACTED.encode(), body)
        try:
            value = msgspec.json.decode(body)
            redacted = _redact_fields(value)
            return body if redacted == value else msgspec.json.encode(redacted)
        except (ValueError, RecursionError):
            return LOOSE.sub(rb'\1"%b"' % REDACTED.encode(), body)


def _redact_fields(value: Any) -> Any:
    """Return a JSON value with the values of all fields that have the name of a secret replaced."""
    if isinstance(value, list):
        return [_redact_fields(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {name: REDACTED if FIELD.fullmatch(name) else _redact_fields(field) for name, field in value.items()}
