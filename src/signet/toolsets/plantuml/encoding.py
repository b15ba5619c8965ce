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

# The bytes are those of zlib's level 9 with its defaults, whatever the text. The defaults allocate a quarter of a
# megabyte, and the heap gives it back, at each call; zlib takes less and gives the same where nothing is cut short:
#
# - The window may be as small as the text and `MIN_LOOKAHEAD` together: it never slides, and no distance is too far.
# - memLevel sets the size of a block, of which a short text fills one, and that of the hash table. In a smaller table
#   more places collide, and zlib looks at so many places only: 4096 at level 9, and a quarter of them once it has a
#   match of 32 bytes. A text of 1024 bytes has no more, so that all are looked at and the same match is found;
#   a longer one keeps the default.

MIN_LOOKAHEAD: Final = 262
"""What zlib keeps of its window for what comes next."""

SHORT_BYTES: Final = 1024
"""A text with no more places than zlib ever looks at."""

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
    size = len(data)
    if size <= SHORT_BYTES:
        deflate = zlib.compressobj(9, zlib.DEFLATED, -11, 5)
    else:
        deflate = zlib.compressobj(9, zlib.DEFLATED, -min(15, (size + MIN_LOOKAHEAD).bit_length()))
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
