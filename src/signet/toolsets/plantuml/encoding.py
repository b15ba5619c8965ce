"""PlantUML's text encoding: raw deflate, then base64 in PlantUML's own alphabet.

The two example strings in spec 4 do not follow from its algorithm. This module follows the algorithm, and PlantUML
decodes its strings.
"""

from __future__ import annotations

import binascii
import zlib
from typing import Final

__all__ = ["MAX_DECODED_BYTES", "decode", "encode", "encode_bytes", "unmap"]

_BASE64: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_PLANTUML: Final = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"  # rule: 4.encoding.mapping
_TO_PLANTUML: Final = bytes.maketrans(_BASE64, _PLANTUML)
_TO_BASE64: Final = bytes.maketrans(_PLANTUML + b"+/=", _BASE64 + b"!!!")
"""What base64 uses and PlantUML does not becomes what neither does, so that it is refused."""

# The output is always that of zlib's level 9 with default parameters. The defaults allocate a quarter of a megabyte per
# call, which the heap returns to the system each time. Smaller parameters save that, and give the same output where
# they do not limit the search for matches:
#
# - The window may be as small as the text and `MIN_LOOKAHEAD` together: then it never slides, and every distance fits.
# - memLevel sets the size of a block, of which a short text fills one, and the size of the hash table. A smaller table
#   has more collisions, and zlib follows a chain for a limited number of positions: 4096 at level 9, and a quarter of
#   that once it has a match of 32 bytes. A text of 1024 bytes has no more positions, so every one is examined and the
#   same match is found. A longer text keeps the default.

MIN_LOOKAHEAD: Final = 262  # rule: @MIN_LOOKAHEAD
"""The part of the window that zlib reserves for input to come."""

SHORT_BYTES: Final = 1024  # rule: @SHORT_BYTES
"""The longest text with no more positions than zlib examines for one match."""

MAX_DECODED_BYTES: Final = 1 << 20
"""The largest decoded text: a few characters could inflate to gigabytes."""


def encode(text: str) -> str:
    """Return diagram text, encoded; raise UnicodeEncodeError for half a surrogate pair."""
    return encode_bytes(text.encode())  # rule: 4.encoding.utf8/2


def encode_bytes(data: bytes) -> str:
    """Return the UTF-8 bytes of diagram text, encoded."""
    size = len(data)  # rule: 4.encoding.output
    if size <= SHORT_BYTES:  # rule: @encode_bytes
        deflate = zlib.compressobj(9, zlib.DEFLATED, -11, 5)  # rule: 4.encoding.deflate
    else:
        # rule: 4.encoding.deflate/2
        deflate = zlib.compressobj(9, zlib.DEFLATED, -min(15, (size + MIN_LOOKAHEAD).bit_length()))
    compressed = deflate.compress(data) + deflate.flush()
    # rule: 4.encoding.base64
    return binascii.b2a_base64(compressed, newline=False).rstrip(b"=").translate(_TO_PLANTUML).decode()


def decode(encoded: str) -> str:
    """Return the diagram text of an encoded string, which may be padded with `0` to a multiple of four.

    Raises:
        ValueError: the string is not an encoded text, or its text is longer than `MAX_DECODED_BYTES`.
    """
    inflate = zlib.decompressobj(-15)
    try:
        data = inflate.decompress(unmap(encoded), MAX_DECODED_BYTES)
    except zlib.error as error:
        raise ValueError(f"not a PlantUML string: {error}") from None
    if not inflate.eof:
        raise ValueError("not a PlantUML string: it is cut off or too long")
    return data.decode()


def unmap(encoded: str) -> bytes:
    """Return the bytes that PlantUML's alphabet stands for; raise ValueError for a character outside of it."""
    digits = encoded.encode("ascii").translate(_TO_BASE64)
    return binascii.a2b_base64(digits + b"A" * (-len(digits) % 4), strict_mode=True)
