"""Reads a diagram back from its link: any PlantUML server's address, or the encoded text alone. Pure."""

from __future__ import annotations

import re
import zlib
from typing import Final
from urllib.parse import unquote

from signet.toolsets.plantuml.encoding import MAX_DECODED_BYTES, unmap

__all__ = ["decode_any"]

_EXTENSION: Final = re.compile(r"\.(?:svg|png|txt|pdf|eps)$", re.IGNORECASE)
_HOST: Final = re.compile(r"^(?:[A-Za-z]+:)?//[^/?#]*")
_TEXT_PARAMETER: Final = re.compile(r"[?&](?:text|uml)=([^&#]+)")
_HEX: Final = re.compile(r"(?:[0-9A-Fa-f]{2})+")
_WORDS: Final = re.compile(r"[0-9A-Za-z_-]+")
_RAW: Final = -zlib.MAX_WBITS
_ZLIB: Final = zlib.MAX_WBITS
_GZIP: Final = zlib.MAX_WBITS + 16
_WINDOWS: Final = {"": (_RAW, _ZLIB), "~0": (_RAW, _ZLIB), "~1": (_ZLIB, _RAW), "~g": (_GZIP,)}
"""The mark before a text, and the forms of compression to try: those that PlantUML reads, and what libraries write."""


def decode_any(given: str) -> str:
    """Return the diagram's text.

    Raises:
        ValueError: it is no encoded diagram, or one whose text is too long; the text says what to do.
    """
    encoded = _encoded_part(given.strip())
    if not encoded:
        raise ValueError(
            "there is no encoded diagram in it: a link ends with one, as in …/svg/SyfFKj2rKt3CoKnELR1Io4ZDoSa70000"
        )
    if encoded.startswith("~h"):
        return _text(_from_hex(encoded[2:]))
    windows = _WINDOWS.get(encoded[:2] if encoded.startswith("~") else "")
    if windows is None:
        raise ValueError(
            f"{encoded[:2]} marks an unknown encoding; write ~0 (deflate), ~1 (zlib), ~g (gzip), ~h (hex) or no mark"
        )
    # Some libraries pad to a multiple of four, as base64 does.
    encoded = (encoded[2:] if encoded.startswith("~") else encoded).rstrip("=")
    if not _WORDS.fullmatch(encoded):
        raise ValueError("it has characters that PlantUML's encoding does not use: letters, digits, - and _ alone")
    return _text(_inflate(encoded, windows))


def _encoded_part(given: str) -> str:
    """Return the encoded text of a link: its last segment, or the parameter that holds it."""
    if parameter := _TEXT_PARAMETER.search(given):
        return unquote(parameter[1])
    path = re.split(r"[?#]", _HOST.sub("", given), maxsplit=1)[0].rstrip("/")  # rule: @_encoded_part
    return _EXTENSION.sub("", unquote(path.rpartition("/")[2]))


def _from_hex(digits: str) -> bytes:
    if not _HEX.fullmatch(digits):
        raise ValueError("~h is followed by something that is not hexadecimal: two digits for each byte")
    data = bytes.fromhex(digits)
    if len(data) > MAX_DECODED_BYTES:
        raise ValueError(_too_long())
    return data


def _inflate(encoded: str, windows: tuple[int, ...]) -> bytes:
    """Return the inflated bytes, by the first form of compression that fits."""
    compressed = unmap(encoded)
    for window in windows:
        inflate = zlib.decompressobj(window)
        try:
            data = inflate.decompress(compressed, MAX_DECODED_BYTES)
        except zlib.error:
            continue
        if inflate.eof:
            return data
        raise ValueError(_too_long() if inflate.unconsumed_tail or len(data) == MAX_DECODED_BYTES else _cut_off())
    if encoded.startswith("0") and _RAW in windows:
        raise ValueError("it is Brotli, which PlantUML has given up: draw it with the server that made the link")
    raise ValueError("it is not an encoded diagram: PlantUML's links hold deflate, and this does not inflate")


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ValueError("it decodes to bytes that are not UTF-8 text, so it is no diagram") from None


def _too_long() -> str:
    return f"its text is longer than {MAX_DECODED_BYTES} bytes, more than any diagram that can be drawn"


def _cut_off() -> str:
    return "it is cut off: copy the whole link"
