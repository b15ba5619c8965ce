"""PlantUML's text encoding: raw deflate, then base64 in PlantUML's own alphabet.

The two example strings that spec 4 prints do not follow from its algorithm; this module does,
and what it writes is what PlantUML itself decodes.
"""

from __future__ import annotations

import binascii
import zlib
from typing import Final

__all__ = ["decode", "encode", "encode_bytes"]

_BASE64: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_PLANTUML: Final = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"
_TO_PLANTUML: Final = bytes.maketrans(_BASE64, _PLANTUML)
_TO_BASE64: Final = bytes.maketrans(_PLANTUML, _BASE64)

MAX_DECODED_BYTES: Final = 1 << 20
"""What a string may inflate to: a few characters could hold gigabytes."""


def encode(text: str) -> str:
    """Encode diagram text.

    Raises:
        UnicodeEncodeError: the text holds half a surrogate pair.
    """
    return encode_bytes(text.encode())


def encode_bytes(data: bytes) -> str:
    """Encode the UTF-8 bytes of diagram text."""
    # A window and hash table of the input's size give the same bytes as zlib's defaults, without
    # the quarter of a megabyte that those allocate, and the heap gives back, at each call.
    size = len(data)
    window_bits = min(15, max(9, (size + 262).bit_length()))
    memory_level = min(8, max(1, size.bit_length() - 5))
    deflate = zlib.compressobj(9, zlib.DEFLATED, -window_bits, memory_level)
    packed = deflate.compress(data) + deflate.flush()
    return binascii.b2a_base64(packed, newline=False).rstrip(b"=").translate(_TO_PLANTUML).decode()


def decode(encoded: str) -> str:
    """Give the diagram text of a string, bare or padded with `0` to a multiple of four.

    Raises:
        ValueError: it is no such string, or holds more than `MAX_DECODED_BYTES`.
    """
    digits = encoded.encode("ascii").translate(_TO_BASE64)
    packed = binascii.a2b_base64(digits + b"A" * (-len(digits) % 4), strict_mode=True)
    inflate = zlib.decompressobj(-15)
    try:
        data = inflate.decompress(packed, MAX_DECODED_BYTES)
    except zlib.error as error:
        message = f"not a PlantUML string: {error}"
        raise ValueError(message) from None
    if not inflate.eof:
        message = "not a PlantUML string: it is cut off or too long"
        raise ValueError(message)
    return data.decode()
