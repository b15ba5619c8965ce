"""Charsets that a content type may name: those of the WHATWG list, in steps; every other name is UTF-8."""

from __future__ import annotations

import asyncio
import encodings.aliases
import random

import pytest

from signet.kernel.charsets import CODECS, charset_of, codec_of, decode_in_turns, decode_text, takes_turns

SLOW = ("punycode", "idna", "unicode_escape", "raw_unicode_escape", "utf-7", "utf_32", "base64", "hex", "rot13", "zip")
LARGE = 1_048_576


@pytest.mark.parametrize(
    ("kind", "charset"),
    [
        ("text/plain; charset=utf-8", "utf-8"),
        ('text/plain;charset="Shift_JIS"; x=y', "shift_jis"),
        ("text/plain; a=b; CHARSET = 'gbk' ", "gbk"),
        ("text/plain; xcharset=gbk", ""),
        ("text/plain", ""),
        ("charset=gbk", ""),
        ("text/plain; charset", ""),
        ("", ""),
    ],
)
def test_a_charset_is_a_parameter_of_a_media_type(kind: str, charset: str) -> None:
    assert charset_of(kind) == charset


@pytest.mark.parametrize(
    ("label", "data", "text"),
    [
        ("utf-8", "é日".encode(), "é日"),
        ("iso-8859-1", b"\x80\xe9\x81", "€é\x81"),
        ("ascii", b"\xe9", "é"),
        ("windows-874", b"\xa1\x81\xff", "ก\x81\ufffd"),
        ("tis-620", b"\xa1", "ก"),
        ("iso-8859-8-i", b"\xe0", "א"),
        ("koi8-r", b"\xc4", "д"),
        ("macintosh", b"\x8e", "é"),
        ("gb2312", "漢€".encode("gb18030"), "漢€"),
        ("big5", "漢字".encode("big5"), "漢字"),
        ("euc-jp", "日本".encode("euc_jp"), "日本"),
        ("iso-2022-jp", "日本a".encode("iso2022_jp"), "日本a"),
        ("shift_jis", "①日本".encode("cp932"), "①日本"),
        ("euc-kr", "한글".encode("cp949"), "한글"),
        ("utf-16", "é".encode("utf-16-le"), "é"),
        ("utf-16", b"\xfe\xff" + "é".encode("utf-16-be"), "é"),
        ("utf-16be", b"\xff\xfe" + "é".encode("utf-16-le"), "é"),
        ("utf-16le", b"\x00\xd8a\x00", "\ufffda"),
        ("x-user-defined", b"a\x80\xff", "a\uf780\uf7ff"),
        ("hz-gb-2312", b"~{VPND~}", "\ufffd"),
        ("hz-gb-2312", b"", ""),
        ("shift_jis", b"a\x81", "a\ufffd"),
    ],
)
def test_a_label_is_read_by_its_codec(label: str, data: bytes, text: str) -> None:
    assert decode_text(data, f"text/plain; charset={label}") == text
    assert asyncio.run(decode_in_turns(data, f"text/plain; charset={label}")) == text


@pytest.mark.parametrize("name", [*SLOW, "latin-1", "mbcs", "undefined", "x" * 10_000, "\0", "\uff55tf-16", "../a", ""])
def test_a_name_that_is_not_on_the_list_is_utf_8(name: str) -> None:
    assert decode_text("é".encode() + b"\xff", f"text/plain; charset={name}") == "é\ufffd"


def test_no_codec_but_those_of_the_list_can_be_named() -> None:
    names = {*encodings.aliases.aliases, *encodings.aliases.aliases.values(), *SLOW}

    reached = {codec_of(name) for name in names} | {codec_of(name.replace("_", "-")) for name in names}

    assert reached.isdisjoint({*SLOW, "utf_7", "utf_16", "utf_32", "hz", "iso2022_kr", "cp65001"})


@pytest.mark.parametrize(
    "label", ["utf-8", "gbk", "big5", "euc-jp", "iso-2022-jp", "shift_jis", "euc-kr", "utf-16le", "windows-1252"]
)
def test_steps_join_to_what_one_step_would_read(label: str) -> None:
    """Steps end inside of characters."""
    data = random.Random(7).randbytes(300_001)

    in_turns = asyncio.run(decode_in_turns(data, f"text/plain; charset={label}"))

    if label != "windows-1252":
        assert in_turns == data.decode(codec_of(label), errors="replace")
    assert in_turns == decode_text(data, f"text/plain; charset={label}")


@pytest.mark.parametrize("label", ["gb18030", "shift_jis", "utf-16", "windows-874", "utf-8"])
def test_others_get_their_turn_while_a_large_body_is_decoded(label: str) -> None:
    async def run() -> int:
        turns = 0
        task = asyncio.create_task(decode_in_turns(b"\x81" * LARGE, f"text/plain; charset={label}"))
        while not task.done():
            turns += 1
            await asyncio.sleep(0)
        return turns

    assert asyncio.run(run()) >= 16


def test_small_bodies_and_utf_8_take_no_turns() -> None:
    kinds = ["text/plain", "text/plain; charset=utf-8", "text/plain; charset=gbk", "text/plain; charset=punycode"]

    taken = [[takes_turns(b"a" * size, kind) for kind in kinds] for size in (65_536, 65_537, 4_194_305)]

    assert taken == [[False] * 4, [False, False, True, False], [True] * 4]


def test_every_label_reads_any_bytes() -> None:
    """228 labels stand in the standard."""
    chance = random.Random(11)
    bodies = [chance.randbytes(2_000), bytes(range(256)) * 3, b"\xff" * 999, b"\x1b$B" * 333, b"\x81\x30" * 500, b""]

    labels = list(CODECS)
    texts = [decode_text(body, f"text/plain; charset={label}") for label in labels for body in bodies]

    assert len(labels) == 228
    assert all(isinstance(text.encode(), bytes) for text in texts)
