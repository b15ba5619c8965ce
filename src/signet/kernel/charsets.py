"""Charsets that a content type may name: those of the WHATWG Encoding Standard, decoded in bounded steps. Pure.

Python knows many more codecs, and some of them take quadratic time. A name outside of the standard is read as UTF-8.
Bytes that cannot be read are replaced by U+FFFD.
"""

from __future__ import annotations

from codecs import charmap_decode, getincrementaldecoder
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

__all__ = ["CODECS", "STEP_BYTES", "charset_of", "codec_of", "decode_in_turns", "decode_text", "takes_turns"]

STEP_BYTES: Final = 65_536
"""The bytes that are decoded at once, which takes 1 ms, and some 5 ms with an error at every byte."""
LARGE_BYTES: Final = 4_194_304
"""From this size on, UTF-8 takes too long in one step as well."""
UTF_8: Final = "utf-8"
REPLACEMENT: Final = "\ufffd"
REFUSED: Final = "replacement"
"""The standard's name for charsets that must not be decoded: a text in one of them is one U+FFFD."""
USER_DEFINED: Final = "x-user-defined"
UTF_16_MARKS: Final = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
BYTES: Final = bytes(range(256))
C1: Final = range(0x80, 0xA0)
PRIVATE_USE: Final = 0xF700

LABELS: Final = {
    "cp866": "866 cp866 csibm866 ibm866",
    "iso8859_2": "csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2",
    "iso8859_3": "csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3",
    "iso8859_4": "csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4",
    "iso8859_5": "csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988",
    "iso8859_6": (
        "arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6 iso-8859-6-e iso-8859-6-i "
        "iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987"
    ),
    "iso8859_7": (
        "csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7 iso88597 iso_8859-7 "
        "iso_8859-7:1987 sun_eu_greek"
    ),
    "iso8859_8": (
        "csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-ir-138 iso8859-8 iso88598 iso_8859-8 "
        "iso_8859-8:1988 visual csiso88598i iso-8859-8-i logical"
    ),
    "iso8859_10": "csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6",
    "iso8859_13": "iso-8859-13 iso8859-13 iso885913",
    "iso8859_14": "iso-8859-14 iso8859-14 iso885914",
    "iso8859_15": "csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9",
    "iso8859_16": "iso-8859-16",
    "koi8_r": "cskoi8r koi koi8 koi8-r koi8_r",
    "koi8_u": "koi8-ru koi8-u",
    "mac_roman": "csmacintosh mac macintosh x-mac-roman",
    "mac_cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "cp874": "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874",
    "cp1250": "cp1250 windows-1250 x-cp1250",
    "cp1251": "cp1251 windows-1251 x-cp1251",
    "cp1252": (
        "ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591 iso_8859-1 "
        "iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252"
    ),
    "cp1253": "cp1253 windows-1253 x-cp1253",
    "cp1254": (
        "cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 l5 latin5 "
        "windows-1254 x-cp1254"
    ),
    "cp1255": "cp1255 windows-1255 x-cp1255",
    "cp1256": "cp1256 windows-1256 x-cp1256",
    "cp1257": "cp1257 windows-1257 x-cp1257",
    "cp1258": "cp1258 windows-1258 x-cp1258",
    "gb18030": "chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk gb18030",
    "big5hkscs": "big5 big5-hkscs cn-big5 csbig5 x-x-big5",
    "euc_jp": "cseucpkdfmtjapanese euc-jp x-euc-jp",
    "iso2022_jp": "csiso2022jp iso-2022-jp",
    "cp932": "csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis",
    "cp949": (
        "cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 windows-949"
    ),
    "utf-16-be": "unicodefffe utf-16be",
    "utf-16-le": "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le",
    REFUSED: "csiso2022kr hz-gb-2312 iso-2022-cn iso-2022-cn-ext iso-2022-kr replacement",
    USER_DEFINED: "x-user-defined",
    UTF_8: "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8",
}
"""The labels of the standard, by Python's name of the codec that reads them."""
CODECS: Final = {label: codec for codec, labels in LABELS.items() for label in labels.split()}
IN_STEPS: Final = frozenset(
    (UTF_8, "gb18030", "big5hkscs", "euc_jp", "iso2022_jp", "cp932", "cp949", "utf-16-be", "utf-16-le")
)
"""The codecs of several bytes for a character; each of the others is a table of 256 characters."""


def charset_of(content_type: str) -> str:
    """Return the charset that a media type names, in lower case; empty where it names none."""
    for parameter in content_type.split(";")[1:]:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            return value.strip(" \t\"'").lower()
    return ""


def codec_of(charset: str) -> str:
    """Return the codec of a charset of the standard; that of UTF-8 for every other name."""
    return CODECS.get(charset, UTF_8)


def decode_text(body: bytes | bytearray, content_type: str) -> str:
    """Return the text of a body, by the charset of its media type."""
    codec = codec_of(charset_of(content_type))
    return body.decode(errors="replace") if codec == UTF_8 else "".join(_pieces(body, codec))


def takes_turns(body: bytes | bytearray, content_type: str) -> bool:
    """Return True for a body whose text is to be decoded by `decode_in_turns`, or others would wait."""
    return len(body) > LARGE_BYTES or (len(body) > STEP_BYTES and codec_of(charset_of(content_type)) != UTF_8)


async def decode_in_turns(body: bytes | bytearray, content_type: str) -> str:
    """Return the same text; others get their turn on the event loop after each step."""
    from asyncio import sleep

    pieces = []
    for piece in _pieces(body, codec_of(charset_of(content_type))):
        pieces.append(piece)
        await sleep(0)
    return "".join(pieces)


def _pieces(body: bytes | bytearray, codec: str) -> Iterator[str]:
    """Yield the text of a body, a step at a time."""
    if codec == REFUSED:
        yield REPLACEMENT if body else ""
        return
    view = memoryview(body)
    if codec not in IN_STEPS:
        table = _table(codec)
        for at in range(0, len(view), STEP_BYTES):
            yield charmap_decode(view[at : at + STEP_BYTES], "replace", table)[0]
        return
    start = 0
    if codec.startswith("utf-16") and (marked := UTF_16_MARKS.get(bytes(view[:2]))) is not None:
        codec, start = marked, 2
    decoder = getincrementaldecoder(codec)("replace")
    for at in range(start, len(view), STEP_BYTES):
        yield decoder.decode(view[at : at + STEP_BYTES])
    yield decoder.decode(b"", final=True)


@lru_cache(maxsize=64)
def _table(codec: str) -> str:
    """Return the characters of the 256 bytes. A table is fast at every byte: a codec calls Python for each error."""
    if codec == USER_DEFINED:
        return "".join(map(chr, range(0x80))) + "".join(chr(PRIVATE_USE + byte) for byte in BYTES[0x80:])
    characters = list(BYTES.decode(codec, errors="replace"))
    if codec.startswith("cp") and codec != "cp866":
        # In the standard, what Windows leaves open among these bytes are the control characters of the same number.
        for byte in C1:
            if characters[byte] == REPLACEMENT:
                characters[byte] = chr(byte)
    return "".join(characters)
