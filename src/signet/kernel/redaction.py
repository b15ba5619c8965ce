"""A veil over secrets: takes them out of what is about to be said, in every spelling that they may have there.

Letters and digits are written as they are; the rest may also be escaped as JSON, a request line or HTML does it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, cached_property
from typing import Final

__all__ = ["MIN_CHARS", "NAMES", "REDACTED", "SecretRedactor", "redact_labelled"]

REDACTED: Final = "[redacted]"
MIN_CHARS: Final = 8
"""In what others say, a shorter secret may be a word; taking it out would spoil what it does not protect."""
NAMES: Final = r"(?:token|authorization|passw(?:or)?d|secret|api[ _.-]?key|cookie)(?:s|[_-]?values?)?"
"""What a secret calls itself."""

_IS: Final = r"""["']?[ \t]*[:=][ \t]*"""


def redact_labelled(text: str) -> str:
    """Take out of a text what calls itself a secret."""
    line, value = _named()
    return value.sub(rf"\1{REDACTED}", line.sub(rf"\1{REDACTED}", text))


@cache
def _named() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Compile, at first need, what is secret to the end of its line, and what as one value."""
    return (
        re.compile(rf"""((?:authorization|cookie)s?{_IS}["']?)[^"'\r\n]+""", re.IGNORECASE),
        re.compile(rf"""({NAMES}{_IS})(?:"(?:[^"\\]|\\.)*"?|'[^']*'?|[^\s,;&]+)""", re.IGNORECASE),
    )


class SecretRedactor:
    """Takes some secrets out of texts and bytes."""

    def __init__(self, secrets: Iterable[str], *, min_chars: int = 1) -> None:
        # The longest first: one may hold another.
        self._secrets = sorted((one for one in secrets if len(one.strip()) >= min_chars), key=len, reverse=True)

    def text(self, text: str, instead: str = REDACTED) -> str:
        """Clean a text."""
        for plain, pattern in self._texts:
            if plain in text:
                text = pattern.sub(lambda _: instead, text)
        return text

    def data(self, data: bytes) -> bytes:
        """Clean bytes."""
        for plain, pattern in self._bytes:
            if plain in data:
                data = pattern.sub(REDACTED.encode(), data)
        return data

    @cached_property
    def _texts(self) -> list[tuple[str, re.Pattern[str]]]:
        """Give the longest plain part of each secret, without which it is not there, and all of its spellings."""
        return [(_plain_part(one), re.compile("".join(map(_spellings, one)))) for one in self._secrets]

    @cached_property
    def _bytes(self) -> list[tuple[bytes, re.Pattern[bytes]]]:
        return [(plain.encode(), re.compile(_bytes_of(pattern.pattern))) for plain, pattern in self._texts]


def _bytes_of(text: str) -> bytes:
    """Give the bytes that a text was, also where a variable held what is no UTF-8."""
    return text.encode(errors="surrogateescape")


def _plain_part(secret: str) -> str:
    return max(re.split(r"[^0-9A-Za-z]", secret), key=len)


def _spellings(sign: str) -> str:
    """Write one character as a pattern of all that may stand for it."""
    if sign.isascii() and sign.isalnum():
        return sign
    from html.entities import codepoint2name
    from urllib.parse import quote

    code = ord(sign)
    units = sign.encode("utf-16-be").hex(" ", 2).split() if code > 0xFFFF else [f"{code:04x}"]  # noqa: PLR2004 - the BMP
    escapes = [re.escape("".join(f"\\u{unit}" for unit in units)), f"&#0*{code};", f"&#x0*{code:x};"]
    escapes += [f"%{code:02x}" if sign.isascii() else re.escape(quote(_bytes_of(sign), safe=""))]
    escapes += [f"&{codepoint2name[code]};"] if code in codepoint2name else []
    escapes += ["\\+"] if sign == " " else []
    return rf"(?:\\?{re.escape(sign)}|(?i:{'|'.join(escapes)}))"
