"""Redaction of tapes: what may be written of a message. Pure.

Known secrets are removed from every message. The values of fields with the name of a secret are removed where they are
texts: a number of tokens and the schema of an argument called `token` are none. What a server says about itself keeps
every other byte, because it is compared with the lock. A replay redacts its requests in the same way, so that equal
requests stay equal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from signet.kernel.redaction import MIN_CHARS, REDACTED, SecretRedactor
from signet.upstream.cassette_folder import FIELD, IN_BODY, LOOSE

__all__ = ["TapeRedactor"]

PROTOCOL_FIELDS: Final = frozenset({"progressToken"})
"""Fields of the protocol whose names sound like those of secrets."""
WORDS: Final = ("token", "authorization", "passw", "secret", "cookie", "key")
"""A part of each name of a secret: a text without any of them is not searched further."""
BYTE_WORDS: Final = tuple(word.encode() for word in WORDS)
IN_TEXT: Final = re.compile(IN_BODY.pattern.decode(), re.IGNORECASE)
PIECE_CHARS: Final = 16_384
"""The length of the pieces in which a text is searched, since a search holds the interpreter."""


class TapeRedactor:
    """Removes secrets from messages that are about to be recorded, or compared with recorded ones."""

    def __init__(self, secrets: tuple[str, ...] = ()) -> None:
        self._known = SecretRedactor(secrets, min_chars=MIN_CHARS)

    def text(self, text: str) -> str:
        """Return a text without known secrets."""
        return self._known.text(text)

    def message(self, body: bytes, *, is_definition: bool = False) -> bytes:
        """Return a message without secrets; its bytes are kept where it has none."""
        body = self._known.data(body)
        if is_definition or not _names_secret(body):
            return body
        try:
            value = msgspec.json.decode(body)
            redacted = _redact(value)
        except (ValueError, RecursionError):
            return LOOSE.sub(rb'\1"%b"' % REDACTED.encode(), IN_BODY.sub(rb"\1\2%b" % REDACTED.encode(), body))
        return body if redacted == value else msgspec.json.encode(redacted)


def _names_secret(body: bytes) -> bool:
    """Return whether a message may have the name of a secret somewhere."""
    lowered = body.lower()
    return any(word in lowered for word in BYTE_WORDS)


def _redact(value: Any) -> Any:
    if isinstance(value, list):
        return [_redact(one) for one in value]
    if isinstance(value, str):
        return _redact_text(value)
    if not isinstance(value, dict):
        return value
    return {name: _hidden(one) if _is_secret(name) else _redact(one) for name, one in value.items()}


def _is_secret(name: str) -> bool:
    return name not in PROTOCOL_FIELDS and FIELD.fullmatch(name) is not None


def _hidden(value: Any) -> Any:
    """Return the value of a field with the name of a secret without its texts."""
    if isinstance(value, str):
        return REDACTED
    if isinstance(value, list):
        return [REDACTED if isinstance(one, str) else _redact(one) for one in value]
    return _redact(value)


def _redact_text(text: str) -> str:
    """Return a text without the secrets of URLs and headers in it; JSON, as many results are, field by field."""
    lowered = text.lower()
    if not any(word in lowered for word in WORDS):
        return text
    if text.lstrip().startswith(("{", "[")):
        try:
            value = msgspec.json.decode(text)
            redacted = _redact(value)
        except (ValueError, RecursionError):
            pass
        else:
            return text if redacted == value else msgspec.json.encode(redacted).decode()
    return "".join(IN_TEXT.sub(rf"\1\2{REDACTED}", piece) for piece in _pieces(text))


def _pieces(text: str) -> Iterator[str]:
    """Yield a text in pieces that end with a line, or where there is none, with a blank."""
    start = 0
    while len(text) - start > PIECE_CHARS:
        end = start + PIECE_CHARS
        cut = max(text.rfind("\n", start, end), text.rfind(" ", start + PIECE_CHARS // 2, end)) + 1 or end
        yield text[start:cut]
        start = cut
    yield text[start:]
