"""Links are read back: every form of PlantUML's encoding, every shape of a server's address, and bombs."""

from __future__ import annotations

import gzip
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagram_harness import Diagrams, diagrams
from signet.toolsets.plantuml.encoding import encode
from signet.toolsets.plantuml_tools.decoding import decode_any

BOB = "@startuml\nBob -> Alice : hello\n@enduml"
BOB_ENCODED = "SoWkIImgAStDuNBAJrBGjLDmpCbCJbMmKiX8pSd9vt98pKi1IW80"
ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"


def in_plantuml_alphabet(data: bytes) -> str:
    """Encode bytes by hand, three at a time, as PlantUML's documentation describes it."""
    padded = data + b"\0" * (-len(data) % 3)
    numbers = (int.from_bytes(padded[start : start + 3], "big") for start in range(0, len(padded), 3))
    return "".join(ALPHABET[number >> shift & 63] for number in numbers for shift in (18, 12, 6, 0))


@pytest.fixture(scope="module")
def tools() -> Iterator[Diagrams]:
    with diagrams() as harness:
        yield harness


@pytest.mark.parametrize(
    "link",
    [
        BOB_ENCODED,
        f"  {BOB_ENCODED}\n",
        f"~1{BOB_ENCODED}",
        f"~0{BOB_ENCODED}",
        f"https://www.plantuml.com/plantuml/svg/{BOB_ENCODED}",
        f"http://www.plantuml.com/plantuml/uml/{BOB_ENCODED}",
        f"http://localhost:8080/png/0/{BOB_ENCODED}",
        f"//server/plantuml/txt/{BOB_ENCODED}/",
        f"https://server/plantuml/png/{BOB_ENCODED}.png",
        f"https://server/plantuml/svg/~1{BOB_ENCODED}?v=2#top",
        f"https://www.planttext.com/?text={BOB_ENCODED}",
        "https://server/svg/%7Eh" + BOB.encode().hex(),
        "~h" + BOB.encode().hex().upper(),
        in_plantuml_alphabet(zlib.compress(BOB.encode())),
        "~1" + in_plantuml_alphabet(zlib.compress(BOB.encode())),
        "~g" + in_plantuml_alphabet(gzip.compress(BOB.encode(), mtime=0)),
        BOB_ENCODED.rstrip("0") + "==",
        f"~0{BOB_ENCODED}==",
        "~g" + in_plantuml_alphabet(gzip.compress(BOB.encode(), mtime=0)) + "=",
        f"https://server/plantuml/svg/{BOB_ENCODED}=",
    ],
)
def test_every_form_of_a_link_gives_the_text(tools: Diagrams, link: str) -> None:
    assert tools.result("decodePlantUML", encoded=link) == {"plantumlCode": BOB}


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ("0AAAAAAA", "it is Brotli"),
        ("~xABC", "~x marks an unknown encoding; write ~0 (deflate), ~1 (zlib), ~g (gzip), ~h (hex)"),
        ("~h4", "not hexadecimal"),
        ("~hZZ", "not hexadecimal"),
        ("~hff", "not UTF-8"),
        (f"~g{BOB_ENCODED}", "not an encoded diagram"),
        (f"{BOB_ENCODED[:9]}={BOB_ENCODED[9:]}", "characters that PlantUML's encoding does not use"),
        ("A -> B", "characters that PlantUML's encoding does not use"),
        (BOB_ENCODED[:20], "cut off"),
        ("zzzzzzzzzzzz", "not an encoded diagram"),
        ("https://www.plantuml.com/", "there is no encoded diagram in it"),
        ("///", "there is no encoded diagram in it"),
    ],
)
def test_what_cannot_be_decoded_is_refused_with_a_reason(tools: Diagrams, link: str, words: str) -> None:
    fault = tools.call("decodePlantUML", encoded=link).fault

    assert fault is not None
    assert (fault.name, fault.status) == ("NOT_DECODABLE", 400)
    assert words in fault.message


CUT = "it is cut off: copy the whole link"
TOO_LONG = "its text is longer than 1048576 bytes, more than any diagram that can be drawn"


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ("/", "there is no encoded diagram in it: a link ends with one, as in …/svg/SyfFKj2rKt3CoKnELR1Io4ZDoSa70000"),
        ("~xyz", "~x marks an unknown encoding; write ~0 (deflate), ~1 (zlib), ~g (gzip), ~h (hex) or no mark"),
        ("a+b", "it has characters that PlantUML's encoding does not use: letters, digits, - and _ alone"),
        ("~h", "~h is followed by something that is not hexadecimal: two digits for each byte"),
        ("~h616", "~h is followed by something that is not hexadecimal: two digits for each byte"),
        ("~hff", "it decodes to bytes that are not UTF-8 text, so it is no diagram"),
        (BOB_ENCODED[:40], CUT),
        ("0AAAAAAA", "it is Brotli, which PlantUML has given up: draw it with the server that made the link"),
        ("zzzzzzzzzzzz", "it is not an encoded diagram: PlantUML's links hold deflate, and this does not inflate"),
        ("~h" + "61" * 1_048_577, TOO_LONG),
        (encode("a" * 1_048_577), TOO_LONG),
        (in_plantuml_alphabet(zlib.compress(b"a" * 2_000_000)), TOO_LONG),
        # Of this one zlib has taken every byte when it has given a mebibyte, and holds back the rest.
        (encode("abc" + "a" * 1_048_742), TOO_LONG),
    ],
    ids=range(13),
)
def test_each_reason_has_its_words(link: str, words: str) -> None:
    with pytest.raises(ValueError, match=r".+") as caught:
        decode_any(link)

    assert str(caught.value) == words


@pytest.mark.parametrize("link", ["~h" + "61" * 1_048_576, encode("a" * 1_048_576)], ids=["hex", "deflate"])
def test_a_text_of_a_mebibyte_is_decoded(link: str) -> None:
    assert decode_any(link) == "a" * 1_048_576


@pytest.mark.parametrize("end", [".svg", ".PNG", ".txt", ".pdf", ".eps", "?a#b?c", "#a?b", "///"])
def test_what_stands_behind_the_encoded_part_does_not_count(end: str) -> None:
    assert decode_any(f"https://a.example/plantuml/svg/{BOB_ENCODED}{end}") == BOB


@pytest.mark.parametrize("query", ["?uml=", "?a=b&text=", "/svg/zzz?text="])
def test_a_parameter_may_hold_the_diagram(query: str) -> None:
    assert decode_any(f"https://a.example/{query}{BOB_ENCODED}&more=1#place") == BOB


def test_a_bomb_is_not_inflated() -> None:
    bomb = encode("a" * 40_000_000)

    with pytest.raises(ValueError, match="longer than 1048576 bytes"):
        decode_any(bomb)


@given(st.text(min_size=1, max_size=400))
def test_what_was_encoded_is_decoded(text: str) -> None:
    assert decode_any(encode(text)) == text
    assert decode_any(f"https://host/plantuml/svg/{encode(text)}") == text


@pytest.mark.parametrize(
    "text", ["Bob -> Alice : hello", "class Größe\nGröße --> Maß: 5 €", "A -> B: " + "x y z " * 200 + "end"]
)
def test_what_the_jar_has_encoded_is_decoded(tmp_path: Path, text: str) -> None:
    file = tmp_path / "diagram.txt"
    file.write_text(f"@startuml\n{text}\n@enduml\n", encoding="utf-8")
    jar = ["java", "-Djava.awt.headless=true", "-jar", "/usr/share/plantuml/plantuml.jar", "-charset", "UTF-8"]

    encoded = subprocess.run([*jar, "-encodeurl", str(file)], capture_output=True, text=True, check=True).stdout.strip()

    assert decode_any(encoded).strip() == text
