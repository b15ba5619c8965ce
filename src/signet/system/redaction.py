"""Redaction: removes secrets from text before it is written, in every spelling that they may have there.

Letters and digits have one spelling. Other characters may also be escaped, as in JSON, a request line or HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final

import msgspec

from .secret_patterns import lines_after_names, secret_spans, user_info, values_after_names

__all__ = [
    "MIN_CHARS",
    "REDACTED",
    "SecretRedactor",
    "redact_labelled",
    "redact_secrets",
    "redact_shapes",
    "redact_user_info",
]

REDACTED: Final = "[redacted]"
MIN_CHARS: Final = 8
"""The shortest secret to remove from text of an upstream: a shorter one may be an ordinary word of that text."""

MAX_SPELLING_CHARS: Final = 16
"""The longest spelling of a character: a surrogate pair in JSON has 12, and a number in HTML may begin with zeros."""
SEARCHED_CHARS: Final = 8_192
"""The part of a text of which the beginning is kept that is searched for secrets."""
MAX_BMP_CODE: Final = 0xFFFF
"""The last character of the Basic Multilingual Plane; JSON escapes the characters beyond it as surrogate pairs."""

MAX_ECHOES: Final = 1_000
"""The places in one message that are redacted string by string; behind them, secrets are cut out of its bytes."""
ESCAPE: Final = rb"\u00"
ESCAPED_LETTER: Final = re.compile(rb"\\u00(?:3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa])")
"""A letter or a digit that JSON need not escape."""
QUOTE: Final = b'"'


def redact_secrets(text: str) -> str:
    """Redact all secrets that are recognised in a message: by their shapes, or by the names before them."""
    return redact_labelled(redact_shapes(text))


def redact_shapes(text: str, instead: str = REDACTED) -> str:
    """Redact the secrets that are recognised by their shapes."""
    kept, at = [], 0
    for start, end in secret_spans(text):
        kept += [text[at:start], instead]
        at = end
    return "".join([*kept, text[at:]]) if kept else text


def redact_labelled(text: str) -> str:
    """Redact the values that follow the name of a secret."""
    instead = rf"\1{REDACTED}"
    return values_after_names().sub(instead, lines_after_names().sub(instead, text))


def redact_user_info(text: str) -> str:
    """Redact the names and passwords that stand in URLs before the host."""
    return user_info().sub("…", text)


class SecretRedactor:
    """Removes known secrets from text and bytes."""

    def __init__(self, secrets: Iterable[str], *, min_chars: int = 1) -> None:
        # The longest first: a secret may be part of another.
        long_enough = (secret for secret in secrets if len(secret.strip()) >= min_chars)
        self._secrets = sorted(long_enough, key=len, reverse=True)

    def text(self, text: str, instead: str = REDACTED) -> str:
        """Return a text with every secret replaced."""
        for plain, pattern in self._texts:
            if plain in text:
                text = pattern.sub(lambda _: instead, text)
        return text

    def beginning(self, text: str, chars: int) -> str:
        """Return the beginning of a text with every secret replaced, known or labelled; a long rest is not searched.

        A secret that is cut in two is not recognised, so as much as the longest spelling of one is left out at the cut.
        """
        longest = max(map(len, self._secrets), default=0) * MAX_SPELLING_CHARS
        searched = text[: SEARCHED_CHARS + longest]
        found = redact_secrets(self.text(searched))
        if len(searched) < len(text):
            found = found[: max(len(found) - longest, 0)]
        return found[:chars]

    def data(self, data: bytes) -> bytes:
        """Return bytes with every secret replaced."""
        for plain, pattern in self._bytes:
            if plain in data:
                data = pattern.sub(REDACTED.encode(), data)
        return data

    def message(self, data: bytes) -> bytes:
        """Return a JSON text with every secret in its strings replaced; all else keeps its bytes, numbers too.

        A message without a secret is only searched: the same object is returned.
        """
        if not any(needle in data for needle in self._needles) and (
            ESCAPE not in data or ESCAPED_LETTER.search(data) is None
        ):
            return data
        # Of the same length, and each quotation mark that is left begins or ends a string.
        masked = data.replace(rb"\\", b"..").replace(rb"\"", b"..")
        parts: list[bytes] = []
        done = outside = 0
        for number, at in enumerate(self._hits(data)):
            if number == MAX_ECHOES:
                return b"".join((*parts, self.data(data[done:])))
            if at < outside:
                continue
            if masked.count(QUOTE, outside, at) % 2:
                start, end = masked.rfind(QUOTE, outside, at), masked.find(QUOTE, at) + 1 or len(data)
                parts += [data[done:start], self._string(data[start:end])]
                done = outside = end
            else:
                outside = at
        return b"".join((*parts, data[done:]))

    def _hits(self, data: bytes) -> Iterator[int]:
        """Return the places where a secret may be, in order."""
        from heapq import merge

        escaped = (match.start() for match in ESCAPED_LETTER.finditer(data))
        return merge(escaped, *[_places(data, needle) for needle in self._needles])

    def _string(self, string: bytes) -> bytes:
        """Return a string of a JSON text with every secret replaced."""
        try:
            text = msgspec.json.decode(string, type=str)
        except ValueError:
            return self.data(string)
        redacted = self.text(text)
        return string if redacted == text else msgspec.json.encode(redacted)

    @cached_property
    def _needles(self) -> tuple[bytes, ...]:
        """The bytes of which a message with a secret has some."""
        parts = {part for secret in self._secrets for part in _parts_to_find(secret)}
        return tuple(map(_bytes_of, parts))

    @cached_property
    def _texts(self) -> list[tuple[str, re.Pattern[str]]]:
        """Pair the longest plain part of each secret, which is searched first, with the pattern of its spellings."""
        return [(_plain_part(secret), re.compile("".join(map(_spellings, secret)))) for secret in self._secrets]

    @cached_property
    def _bytes(self) -> list[tuple[bytes, re.Pattern[bytes]]]:
        return [(plain.encode(), re.compile(_bytes_of(pattern.pattern))) for plain, pattern in self._texts]


def _bytes_of(text: str) -> bytes:
    """Return the bytes of a text, which may come from an environment variable that is not UTF-8."""
    return text.encode(errors="surrogateescape")


def _places(data: bytes, needle: bytes) -> Iterator[int]:
    at = data.find(needle)
    while at >= 0:
        yield at
        at = data.find(needle, at + len(needle))


def _parts_to_find(secret: str) -> tuple[str, ...]:
    """Return what some part of a secret looks like in a message, in each of its spellings."""
    plain = _plain_part(secret)
    first = secret.strip()[:1]
    return (plain,) if plain else (first, _json_escape(first), _json_escape(first).upper().replace("U", "u", 1))


def _json_escape(char: str) -> str:
    """Return a character as JSON escapes it by its number; of one beyond the first plane, the first half."""
    return f"\\u{char.encode('utf-16-be', errors='replace')[:2].hex()}"


def _plain_part(secret: str) -> str:
    return max(re.split(r"[^0-9A-Za-z]", secret), key=len)


def _spellings(char: str) -> str:
    """Return a pattern that matches a character and each of its escaped forms."""
    if char.isascii() and char.isalnum():
        return char
    from html.entities import codepoint2name
    from urllib.parse import quote

    code = ord(char)
    units = char.encode("utf-16-be").hex(" ", 2).split() if code > MAX_BMP_CODE else [f"{code:04x}"]
    escapes = [re.escape("".join(f"\\u{unit}" for unit in units)), f"&#0*{code};", f"&#x0*{code:x};"]
    escapes += [f"%{code:02x}" if char.isascii() else re.escape(quote(_bytes_of(char), safe=""))]
    escapes += [f"&{codepoint2name[code]};"] if code in codepoint2name else []
    escapes += ["\\+"] if char == " " else []
    return rf"(?:\\?{re.escape(char)}|(?i:{'|'.join(escapes)}))"
