"""Secrets in recordings: what is left of a message, a body, a request target or a sentence before it is written. Pure.

Only texts are removed. A null, a number, a boolean, a list and an object keep their kind, and an empty text stays
empty, so that a replay reads what was read when it was recorded. Page tokens and numbers of tokens are not secrets:
without them, a replay could not tell one page from the next. Every byte that is not part of such a text is kept.
A replay redacts its requests in the same way, so that equal requests stay equal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

import msgspec

from .redaction import MIN_CHARS, REDACTED, SecretRedactor, redact_shapes
from .secret_patterns import find_secrets, json_names, may_hold_secret, names_secret, parameters

__all__ = ["TEXT_REMOVED", "RecordingRedactor", "secret_parameters"]

TEXT_REMOVED: Final = f"it may be a secret: the recording, and so a replay, has {REDACTED} in its place"
OF_SETTINGS: Final = "a secret of the settings"
"""The name under which the removal of a known secret is reported."""
QUOTED: Final = "%5Bredacted%5D"
"""`REDACTED` as it is written in a request target."""
WITHOUT_SECRET: Final = frozenset(("", REDACTED, QUOTED))

TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]')
"""A string or a sign of a complete JSON text."""
VALUE_PART: Final = re.compile(r'("(?:[^"\\]|\\.)*"?)(\s*:)?|[\[{]|[\]}]')
SCALAR: Final = re.compile(r"(?:null|true|false|-?[0-9][0-9.eE+-]*)(?![^\s,\]}])")
BARE: Final = re.compile(r"[^\s,\]}]+")

SCHEMAS: Final = frozenset(("properties", "$defs", "definitions"))
"""The names of objects in which each name stands for a schema."""
SCHEMA_WORDS: Final = frozenset(("type", "$ref", "anyOf", "oneOf", "allOf", "enum", "const"))
"""The words of which a schema has one."""
JSON_TYPES: Final = frozenset(("null", "boolean", "object", "array", "number", "string", "integer"))
MAX_SCHEMA_CHARS: Final = 65_536

WINDOW_CHARS: Final = 16_384
"""The part of a text that is searched at once, since a search holds the interpreter."""
OVERLAP_CHARS: Final = 1_024
"""The end of one part that is searched again with the next one: longer than a name with the signs beside it."""
MAX_REPORTED: Final = 100
"""The number of names that one recording reports."""
MAX_NAME_CHARS: Final = 60


class RecordingRedactor:
    """Removes secrets from data that is about to be recorded, or compared with recorded data."""

    def __init__(self, secrets: Iterable[str] = (), report: Callable[[str], None] | None = None) -> None:
        """Remove known secrets, texts under names of secrets, and secrets of a known shape.

        Args:
            secrets: the known secrets.
            report: called with the name of each field, or the kind of each secret, that was removed, once.
        """
        known = tuple(secrets)
        self._known = SecretRedactor(known, min_chars=MIN_CHARS)
        digits = sorted((one for one in known if len(one) >= MIN_CHARS and one.isdecimal() and one.isascii()), key=len)
        self._numbers = re.compile(rf"(?<![\w.+-])(?:{'|'.join(digits)})(?![\w.])".encode()) if digits else None
        self._report = report
        self._reported: set[str] = set()

    def target(self, target: str) -> str:
        """Return a request target without secrets in its path and query."""
        known = self._known.text(target, QUOTED)
        self._note_known(known, target)
        return self._without_shapes(parameters().sub(partial(self._parameter, QUOTED), known), QUOTED)

    def text(self, text: str) -> str:
        """Return a text without secrets."""
        known = self._known.text(text)
        self._note_known(known, text)
        return self._text(known)

    def body(self, body: bytes, *, is_definition: bool = False) -> bytes:
        """Return a body without secrets; its other bytes are kept.

        The definitions of a server, which are compared with its lock, lose known secrets only.
        """
        # A text with escaped letters, in which names and secrets are not found at once, is never returned as it is.
        is_suspect = self._known.message(body) is not body or self._known.data(body) != body
        if not is_suspect and (is_definition or not may_hold_secret(body)):
            return body
        is_json = _is_json(body)
        known = self._without_known(body, is_json=is_json)
        self._note_known(known, body)
        if is_definition:
            return known
        text = known.decode(errors="surrogateescape")
        redacted = self._json(text) if is_json else self._unparsed(text)
        return known if redacted == text else redacted.encode(errors="surrogateescape")

    def _without_known(self, body: bytes, *, is_json: bool) -> bytes:
        """Return a body without known secrets; a number of JSON that is one becomes 0, and so stays a number."""
        if not is_json:
            return self._known.data(body)
        known = self._known.message(body)
        return known if self._numbers is None else self._numbers.sub(b"0", known)

    def _text(self, text: str) -> str:
        """Return a text without the secrets in it; JSON, as many results are, field by field."""
        if not may_hold_secret(text):
            return text
        if text.lstrip().startswith(("{", "[")) and _is_json(text.encode(errors="surrogatepass")):
            return self._json(text)
        return self._unparsed(text)

    def _unparsed(self, text: str) -> str:
        """Return a text that is not JSON, though there may be some in it, without its secrets."""
        named = "".join(self._parameters(text))
        return self._without_shapes("".join(self._fields(named)))

    def _json(self, text: str) -> str:
        """Return complete JSON without its secrets."""
        parts: list[str] = []
        done = 0
        for start, end, name in _texts(text):
            value = _value(text[start:end])
            redacted = self._field(name, value) if name else self._name(value) if name is None else self._text(value)
            if redacted != value:
                parts += [text[done:start], msgspec.json.encode(redacted).decode()]
                done = end
        return "".join((*parts, text[done:]))

    def _name(self, name: str) -> str:
        """Return the name of a member without the secrets in it."""
        return self._unparsed(name) if may_hold_secret(name) else name

    def _field(self, name: str, value: str) -> str:
        if value not in WITHOUT_SECRET:
            self._note(name)
        return REDACTED if value else value

    def _fields(self, text: str) -> Iterator[str]:
        """Yield the parts of a text that is not complete JSON, without the texts of fields with names of secrets."""
        end = 0
        while key := json_names().search(text, end):
            yield text[end : key.end()]
            end = key.end()
            if names_secret(key[1]):
                value, end = _redact_unparsed_value(text, end)
                if REDACTED in value:
                    self._note(key[1])
                yield value
        yield text[end:]

    def _parameters(self, text: str) -> Iterator[str]:
        """Yield the parts of a text, without the values of parameters and headers with names of secrets."""
        pattern = parameters(or_headers=True)
        done = start = 0
        while start < len(text):
            end = start + WINDOW_CHARS
            match = pattern.search(text, start, end)
            if match is None:
                start = end - OVERLAP_CHARS if end < len(text) else end
                continue
            if match.end() == end:
                # The value may go on beyond the part that was searched.
                match = pattern.match(text, match.start()) or match
            yield text[done : match.start()]
            yield self._parameter(REDACTED, match)
            done = start = match.end()
        yield text[done:]

    def _parameter(self, instead: str, match: re.Match[str]) -> str:
        """Return a parameter or a header, without its value if it has the name of a secret."""
        start, name, value = [group for group in match.groups() if group is not None]
        if not names_secret(name):
            return match[0]
        if value not in WITHOUT_SECRET:
            self._note(name)
        return f"{start}{instead}"

    def _without_shapes(self, text: str, instead: str = REDACTED) -> str:
        redacted = redact_shapes(text, instead)
        if redacted != text:
            for kind in find_secrets(text):
                self._note(kind)
        return redacted

    def _note_known(self, redacted: object, original: object) -> None:
        if redacted != original:
            self._note(OF_SETTINGS)

    def _note(self, name: str) -> None:
        """Report a name, unless it was reported before or there are too many."""
        if self._report is None:
            return
        shown = name[:MAX_NAME_CHARS]
        if shown not in self._reported and len(self._reported) < MAX_REPORTED:
            self._reported.add(shown)
            self._report(shown)


def secret_parameters(text: str) -> Iterator[str]:
    """Yield the secrets in the query of a URL."""
    return (match[3] for match in parameters().finditer(text) if names_secret(match[2]))


@dataclass(slots=True)
class _Open:
    """A list or an object that has begun."""

    is_object: bool
    secret: str
    """The name of the secret that the texts in it belong to, if any."""
    holds_schemas: bool = False
    key: str | None = None
    """The name of the next value in an object."""


def _texts(text: str) -> Iterator[tuple[int, int, str | None]]:
    """Yield where the texts of complete JSON begin and end, and the name of the secret that each belongs to, if any.

    The names of members have None in its place.
    """
    opened = [_Open(is_object=False, secret="")]
    for token in TOKEN.finditer(text):
        inner, sign = opened[-1], token[0][0]
        if sign in "]}":
            opened.pop()
        elif sign == ",":
            inner.key = None
        elif sign == '"' and inner.is_object and inner.key is None:
            inner.key = _value(token[0])
            yield token.start(), token.end(), None
        elif sign != ":":
            name = inner.key if inner.key is not None and names_secret(inner.key) else inner.secret
            if sign == '"':
                yield token.start(), token.end(), name
                continue
            if sign == "{" and inner.holds_schemas and _is_schema(text, token.start()):
                name = inner.secret
            opened.append(_Open(sign == "{", name, holds_schemas=inner.key in SCHEMAS))


def _is_schema(text: str, start: int) -> bool:
    """Return True if the object that begins at a place of complete JSON is a schema, not a value."""
    from json import JSONDecoder

    try:
        value, _ = JSONDecoder().raw_decode(text[start : start + MAX_SCHEMA_CHARS])
    except (ValueError, RecursionError):
        return False
    types = value.get("type", [])
    known = isinstance(types, list) or types in JSON_TYPES
    return known and not SCHEMA_WORDS.isdisjoint(value)


def _value(string: str) -> str:
    return msgspec.json.decode(string, type=str) if "\\" in string else string[1:-1]


def _is_json(data: bytes) -> bool:
    """Return True for one complete JSON value; its numbers may be greater than any that can be computed with."""
    try:
        data.decode()
        msgspec.json.decode(data, type=msgspec.Raw)
    except (ValueError, RecursionError):
        return False
    return True


def _redact_unparsed_value(text: str, start: int) -> tuple[str, int]:
    """Return the value that begins at a place without its texts, and the place at which it ends."""
    if not text.startswith(('"', "[", "{"), start):
        found = SCALAR.match(text, start) or BARE.match(text, start)
        if found is None:
            return "", start
        return found[0] if found.re is SCALAR else f'"{REDACTED}"', found.end()
    parts: list[str] = []
    depth, end = 0, start
    for part in VALUE_PART.finditer(text, start):
        parts.append(text[end : part.start()])
        is_text = part[1] is not None and part[2] is None and part[1] != '""'
        parts.append(f'"{REDACTED}"' if is_text else part[0])
        end = part.end()
        depth += 0 if part[1] is not None else 1 if part[0] in "[{" else -1
        if depth <= 0:
            return "".join(parts), end
    return "".join((*parts, text[end:])), len(text)
