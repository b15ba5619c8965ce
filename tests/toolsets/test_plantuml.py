"""The pure PlantUML encoder: golden vectors, the algorithm step by step, and any text there and back.

Compressors differ from build to build, so texts are compared after decoding; the exact strings are
compared as well wherever the running zlib is the vanilla one, which is what PlantUML itself produces.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import random
import re
import zlib
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from plantuml_vectors import ROWS, VECTORS, bytes_of, fifty_kilobytes, raw_deflate, string_of, text_of
from signet.app import build_server
from signet.commands.call import walk
from signet.settings.model import Settings
from signet.toolsets.plantuml import tools
from signet.toolsets.plantuml.encoding import decode, encode, unmap

PLANTUML = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"
NODE_G2 = "SoWkIImgAStDuN9KqDMrKt3YSaZDIodDpG40"
"""What Node's own variant of zlib makes of G2: another string for the same text."""


def is_vanilla(deflate: Callable[[bytes], bytes]) -> bool:
    """Tell whether a compressor gives G2 the bytes that vanilla zlib gives it."""
    return deflate(VECTORS["G2"].text.encode()) == bytes_of(str(VECTORS["G2"].encoded))


VANILLA = is_vanilla(raw_deflate)


def long_text(seed: int, alphabet: str, words: int) -> str:
    """Words of few letters again and again, so that matches are many and far apart."""
    dice = random.Random(seed)
    lexicon = ["".join(dice.choices(alphabet, k=dice.randint(1, 12))) for _ in range(40)]
    return " ".join(dice.choices(lexicon, k=words))


def runs(seed: int, letter: str, longest: int, words: int) -> str:
    """Runs of one letter, which all look alike to a compressor's hash table: the counter-example to a smaller one."""
    dice = random.Random(seed)
    lexicon = [letter * dice.randint(1, longest) for _ in range(30)]
    return "@startuml\n" + " ".join(dice.choices(lexicon, k=words)) + "\n@enduml"


RUNS = st.builds(runs, st.integers(), st.characters(exclude_categories=["Cs"]), st.integers(1, 60), st.integers(1, 700))
SHORT_TEXTS = st.builds(
    lambda text, size: (text * size)[:size], st.text(min_size=1, max_size=40), st.integers(1000, 1050)
)
"""About as long as a text may be whose hash table is small."""
LONG_TEXTS = st.builds(long_text, st.integers(), st.text(min_size=1, max_size=40), st.integers(1, 7_000))


@pytest.mark.spec("4.encoding.lossless", "4.encoding.output")
@pytest.mark.parametrize("name", VECTORS)
def test_a_golden_text_survives_encoding(name: str) -> None:
    text = VECTORS[name].text

    encoded = encode(text)

    assert text_of(encoded) == text


@pytest.mark.spec("4.encoding.lossless")
@pytest.mark.parametrize("name", [name for name in VECTORS if name != "G13"])
def test_a_golden_string_decodes_to_its_text(name: str) -> None:
    vector = VECTORS[name]

    text = decode(str(vector.encoded))

    assert text == vector.text


@pytest.mark.spec("4.encoding.output", "4.encoding.deterministic", "4.output.deterministic")
@pytest.mark.parametrize("name", [name for name in VECTORS if name != "G13"])
def test_vanilla_zlib_gives_exactly_the_golden_string(name: str) -> None:
    vector = VECTORS[name]

    encoded = encode(vector.text)

    assert encoded == vector.encoded or not VANILLA


@pytest.mark.spec("4.encoding.output", "4.encoding.deterministic")
def test_the_fifty_kilobyte_diagram_has_both_its_digests() -> None:
    row = next(row for row in ROWS if row["name"] == "G13")
    text = fifty_kilobytes()

    encoded = encode(text)

    assert (len(text.encode()), hashlib.sha256(text.encode()).hexdigest()) == (51_200, row["text_sha256"])
    found = {
        "encoded_sha256": hashlib.sha256(encoded.encode()).hexdigest(),
        "encoded_length": len(encoded),
        "encoded_start": encoded[:16],
    }
    assert found == {key: row[key] for key in found} or not VANILLA


@pytest.mark.spec("4.encoding.deterministic")
def test_the_probe_tells_vanilla_zlib_from_its_variants() -> None:
    """A probe that always said no would turn the exact comparisons off unseen."""
    golden = bytes_of(str(VECTORS["G2"].encoded))

    answers = {
        "golden": is_vanilla(lambda _: golden),
        "node": is_vanilla(lambda _: bytes_of(NODE_G2)),
        "stored": is_vanilla(lambda data: b"\x01" + len(data).to_bytes(2, "little") + data),
    }

    assert answers == {"golden": True, "node": False, "stored": False}
    assert zlib.decompress(raw_deflate(VECTORS["G2"].text.encode()), -15) == VECTORS["G2"].text.encode()


@pytest.mark.spec("4.encoding.lossless", "4.encoding.deterministic")
def test_the_string_of_another_compressor_decodes_to_the_same_text() -> None:
    text = decode(NODE_G2)

    assert text == VECTORS["G2"].text


@pytest.mark.spec("4.encoding.utf8", "4.encoding.deflate", "4.encoding.base64", "4.encoding.mapping")
@given(st.text() | LONG_TEXTS | RUNS | SHORT_TEXTS)
@example(fifty_kilobytes())
@example(runs(5, "P", 12, 400))
@example(VECTORS["G6"].text)
@example(VECTORS["G14"].text)
def test_encoding_is_utf8_then_raw_deflate_then_base64_then_the_alphabet(text: str) -> None:
    encoded = encode(text)

    assert encoded == string_of(text)


@pytest.mark.spec("4.encoding.example")
def test_the_worked_example_has_its_true_values_at_each_step() -> None:
    """The values that the specification prints for this text contradict each other."""
    text = "@startuml\nactor A\nactor B\nA --> B\n@enduml"

    raw = bytes_of(encode(text))

    assert zlib.decompress(raw, -15) == text.encode()
    steps = (list(raw[:10]), base64.b64encode(raw).decode(), encode(text))
    assert not VANILLA or steps == (
        [115, 40, 46, 73, 44, 42, 41, 205, 205, 225],
        "cyguSSwqKc3N4UpMLskvUnCE0k5cjgq6unZA2iE1LwUoDwA=",
        VECTORS["G4"].encoded,
    )


@pytest.mark.spec("4.encoding.example")
def test_the_string_printed_for_the_worked_example_is_no_diagram() -> None:
    with pytest.raises(ValueError, match=r".+"):
        decode("fJy0iLkkuAA1AQc0")


@pytest.mark.spec("4.invocation.example")
def test_the_string_printed_for_the_example_request_is_another_diagram() -> None:
    text = decode("SoWkIImgAStDuNBAJrBGjLDmpCbCJbMmKiX8pSd9vt98pKi1IW80")

    assert text == "@startuml\nBob -> Alice : hello\n@enduml"


@pytest.mark.spec("4.encoding.mapping")
def test_all_sixty_four_digits_are_in_use() -> None:
    encoded = encode(fifty_kilobytes())

    assert set(encoded) == set(PLANTUML)
    assert text_of(encoded) == fifty_kilobytes()


@pytest.mark.spec("4.encoding.padding")
@pytest.mark.parametrize("name", ["G1", "G2", "G3"])
def test_a_string_ends_without_padding_whatever_its_remainder(name: str) -> None:
    text = VECTORS[name].text

    encoded = encode(text)

    assert encoded.endswith("=") is False
    assert text_of(encoded) == text  # characters that stand for padding would be bytes behind the compressed ones


@pytest.mark.spec("4.encoding.padding")
@given(st.text())
@example("A -> B")
def test_a_string_padded_with_zeros_decodes_to_the_same_text(text: str) -> None:
    encoded = string_of(text)

    padded = encoded + "0" * (-len(encoded) % 4)

    assert decode(padded) == text


@pytest.mark.spec("4.encoding.padding")
def test_the_padded_form_of_the_short_arrow_decodes() -> None:
    text = decode("SrJGjLDm0W00")

    assert text == "A -> B"


@pytest.mark.spec("4.encoding.lossless", "4.encoding.utf8")
@given(st.text())
@example("")
@example("\x00")
@example(" \ufeff\u2028\r\n\t")
def test_any_text_comes_back_as_it_went(text: str) -> None:
    there, back = encode(text), decode(string_of(text))

    assert (text_of(there), back) == (text, text)


@pytest.mark.spec("4.encoding.url-safe", "4.output.chars")
@given(st.text())
def test_only_letters_digits_hyphen_and_underscore_are_written(text: str) -> None:
    encoded = encode(text)

    assert re.fullmatch(r"[0-9A-Za-z\-_]+", encoded)


@pytest.mark.spec("4.encoding.deterministic", "4.output.deterministic")
@given(st.text())
def test_the_same_text_gives_the_same_string(text: str) -> None:
    first = encode(text)

    second = encode(text)

    assert first == second


@pytest.mark.spec("4.encoding.lossless")
@given(st.text(), st.text())
def test_different_texts_give_different_strings(one: str, other: str) -> None:
    strings = (encode(one), encode(other))

    assert (strings[0] == strings[1]) is (one == other)


@pytest.mark.spec("4.encoding.url-safe")
@pytest.mark.parametrize("foreign", ["Sm+0", "Sm/0", "Sm 0", "SméG", "Sm%30"])
def test_a_character_outside_the_alphabet_is_refused(foreign: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        decode(foreign)


@pytest.mark.spec("4.encoding.url-safe")
@pytest.mark.parametrize("foreign", [chr(point) for point in range(128) if chr(point) not in PLANTUML])
def test_a_character_of_another_alphabet_stands_for_no_digit(foreign: str) -> None:
    """Nor is it passed over: the string would decode to a text that nobody encoded."""
    for string in (f"SrJGjLDm0W0{foreign}", f"SrJG{foreign}jLDm0W0", f"SrJG{foreign * 4}jLDm0W00"):
        with pytest.raises(ValueError, match=r".+"):
            unmap(string)


@pytest.mark.parametrize(
    ("encoded", "words"),
    [
        ("zzzzzzzzzzzz", "not a PlantUML string: Error -3 while decompressing data: invalid "),
        (encode("A -> B")[:6], "not a PlantUML string: it is cut off or too long"),
        (encode("a" * 1_048_577), "not a PlantUML string: it is cut off or too long"),
    ],
    ids=["no deflate", "cut off", "a byte too long"],
)
def test_what_is_no_string_of_plantuml_is_refused_with_the_reason(encoded: str, words: str) -> None:
    with pytest.raises(ValueError, match=r".+") as caught:
        decode(encoded)

    assert str(caught.value).startswith(words)


def test_a_text_of_a_mebibyte_comes_back() -> None:
    assert decode(encode("a" * 1_048_576)) == "a" * 1_048_576


@pytest.mark.spec("4.errors.encoding-failed", "4.invocation.encoding-failed")
@pytest.mark.parametrize("size", [1, 51_200], ids=["at once", "in a thread"])
@pytest.mark.parametrize("error", [zlib.error("no"), MemoryError(), ValueError("hunter2")], ids=repr)
def test_an_encoder_that_fails_is_encoding_failed(monkeypatch: pytest.MonkeyPatch, error: Exception, size: int) -> None:
    """Whatever it raises: the log is told by the cause, the caller is not."""

    def failing(data: bytes) -> str:
        raise error

    monkeypatch.setattr(tools, "encode_bytes", failing)
    server = build_server(Settings(toolsets="plantuml", log="off"))

    fault = asyncio.run(walk(server, "encodePlantUML", {"plantumlCode": "A" * size})).fault

    assert fault is not None
    assert (fault.status, fault.name, fault.message) == (500, "ENCODING_FAILED", "Failed to encode PlantUML code")
    assert (fault.code, fault.__cause__) == ("INTERNAL_ERROR", error)
