"""Redaction of tapes: what may be written of a message. Pure.

Known secrets are removed from every message, and texts of fields with the name of a secret: a number of tokens, a page
token and the schema of an argument called `token` are kept. Secrets of a well-known shape are removed from every text.
The definitions of a server keep every other byte, because they are compared with the lock. A replay redacts its
requests in the same way, so that equal requests stay equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from signet.system.redaction import MIN_CHARS, SecretRedactor
from signet.system.secret_shapes import may_hold_secret
from signet.upstream.secret_fields import (
    OF_SETTINGS,
    Removals,
    redact_fields,
    redact_known_shapes,
    redact_parameters,
    redact_unparsed,
)

__all__ = ["TapeRedactor"]

PIECE_CHARS: Final = 16_384
"""The length of the pieces in which a text is searched, since a search holds the interpreter."""


class TapeRedactor:
    """Removes secrets from messages that are about to be recorded, or compared with recorded ones."""

    def __init__(self, secrets: tuple[str, ...] = (), report: Callable[[str], None] | None = None) -> None:
        """Remove known secrets, and texts under names of secrets, which `report` is called with."""
        self._known = SecretRedactor(secrets, min_chars=MIN_CHARS)
        self._removals = Removals(report)

    def text(self, text: str) -> str:
        """Return a text without secrets."""
        return redact_known_shapes(self._known.text(text), self._removals)

    def message(self, body: bytes, *, is_definition: bool = False) -> bytes:
        """Return a message without secrets; its bytes are kept where it has none."""
        known = self._known.data(body)
        if known != body:
            self._removals.add(OF_SETTINGS)
        if is_definition or not may_hold_secret(known):
            return known
        try:
            value = msgspec.json.decode(known)
            redacted = self._redact(value)
        except (ValueError, RecursionError):
            text = redact_parameters(known.decode(errors="surrogateescape"), self._removals)
            text = redact_known_shapes(redact_unparsed(text, self._removals), self._removals)
            return text.encode(errors="surrogateescape")
        return known if redacted == value else msgspec.json.encode(redacted)

    def _redact(self, value: Any) -> Any:
        """Return a value without secrets; an object with the name of a secret may be the schema of an argument."""
        return redact_fields(value, self._removals, text_of=self._redact_text, in_objects=False)

    def _redact_text(self, text: str) -> str:
        """Return a text without the secrets in it; JSON, as many results are, field by field."""
        if not may_hold_secret(text):
            return text
        if text.lstrip().startswith(("{", "[")):
            try:
                value = msgspec.json.decode(text)
                redacted = self._redact(value)
            except (ValueError, RecursionError):
                pass
            else:
                return text if redacted == value else msgspec.json.encode(redacted).decode()
        named = "".join(redact_parameters(piece, self._removals) for piece in _pieces(text))
        return redact_known_shapes(named, self._removals)


def _pieces(text: str) -> Iterator[str]:
    """Yield a text in pieces that end with a line, or where there is none, with a blank."""
    start = 0
    while len(text) - start > PIECE_CHARS:
        end = start + PIECE_CHARS
        cut = max(text.rfind("\n", start, end), text.rfind(" ", start + PIECE_CHARS // 2, end)) + 1 or end
        yield text[start:cut]
        start = cut
    yield text[start:]
