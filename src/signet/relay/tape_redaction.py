"""Redaction of tapes: what may be written of a message. Pure.

Known secrets are removed from every message. The values of fields with the name of a secret are removed where they are
texts: a number of tokens and the schema of an argument called `token` are none. What a server says about itself keeps
every other byte, because it is compared with the lock. A replay redacts its requests in the same way, so that equal
requests stay equal.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from signet.kernel.redaction import MIN_CHARS, REDACTED, SecretRedactor
from signet.upstream.cassette_folder import FIELD, IN_BODY, LOOSE, WORD

__all__ = ["TapeRedactor"]

PROTOCOL_FIELDS: Final = frozenset({"progressToken"})
"""Fields of the protocol whose names sound like those of secrets."""


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
        if is_definition or not WORD.search(body):
            return body
        body = IN_BODY.sub(rb"\1\2%b" % REDACTED.encode(), body)
        try:
            value = msgspec.json.decode(body)
            redacted = _redact_fields(value)
        except (ValueError, RecursionError):
            return LOOSE.sub(rb'\1"%b"' % REDACTED.encode(), body)
        return body if redacted == value else msgspec.json.encode(redacted)


def _redact_fields(value: Any) -> Any:
    if isinstance(value, list):
        return [_redact_fields(one) for one in value]
    if isinstance(value, str):
        return _redact_json(value)
    if not isinstance(value, dict):
        return value
    return {name: _hidden(one) if _is_secret(name) else _redact_fields(one) for name, one in value.items()}


def _is_secret(name: str) -> bool:
    return name not in PROTOCOL_FIELDS and FIELD.fullmatch(name) is not None


def _hidden(value: Any) -> Any:
    """Return the value of a field with the name of a secret without its texts."""
    if isinstance(value, str):
        return REDACTED
    if isinstance(value, list):
        return [REDACTED if isinstance(one, str) else _redact_fields(one) for one in value]
    return _redact_fields(value)


def _redact_json(text: str) -> str:
    """Return a text without secrets if it is JSON itself, as the text of many results is."""
    if not text.lstrip().startswith(("{", "[")) or not WORD.search(text.encode(errors="replace")):
        return text
    try:
        value = msgspec.json.decode(text)
        redacted = _redact_fields(value)
    except (ValueError, RecursionError):
        return text
    return text if redacted == value else msgspec.json.encode(redacted).decode()
