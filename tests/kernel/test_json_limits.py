"""Limits of JSON text: what is refused before it is decoded, and what is not taken for more than it is."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import misbehaving_server
from signet.kernel import json_limits
from signet.kernel.json_limits import excess, outside_strings, parse_float
from signet.kernel.server import HTTP_MCP, ClientChannel, Server
from signet.kernel.wire import NotUnicodeError, ProtocolError, decode, parse

MIB = 1_048_576
TOO_MANY = "Parse error: more than 50,000 values"
TOO_LONG = "Parse error: a number of more than 1,000 digits"

texts = st.text(alphabet='ab,[]{}"\\é😀\n', max_size=12)
json_values = st.recursive(
    st.none() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=30,
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Server:
    return misbehaving_server.build(str(tmp_path_factory.mktemp("contracts")))


def items(item: bytes, count: int) -> bytes:
    return b"[" + b",".join([item] * count) + b"]"


@pytest.mark.parametrize("item", [b"0", b'""', b"null", b"1e-5", b'"a,b"'], ids=bytes.decode)
def test_a_list_of_fifty_thousand_values_is_decoded_and_a_longer_one_is_not(item: bytes) -> None:
    # The list is a value too.
    assert len(decode(items(item, 49_999))) == 49_999
    with pytest.raises(ProtocolError, match=TOO_MANY):
        decode(items(item, 50_001))


@pytest.mark.parametrize(
    "text",
    [items(b"[]", 100_000), items(b"{}", 100_000), items(b"[" * 500 + b"]" * 500, 500), items(b'{"a":{}}', 60_000)],
    ids=["arrays", "objects", "nested arrays", "nested objects"],
)
def test_arrays_and_objects_count_as_values(text: bytes) -> None:
    with pytest.raises(ProtocolError, match=TOO_MANY) as caught:
        decode(text)

    assert caught.value.code == -32700


@pytest.mark.parametrize("filler", [",", "[", "{", '\\"', "\\\\", "\\\\,", '\\",', "9"])
@pytest.mark.parametrize("shift", range(3))
def test_a_text_is_one_value_whatever_its_characters(filler: str, shift: int) -> None:
    text = b'["' + b"x" * shift + filler.encode() * (MIB // len(filler)) + b'",1]'

    assert excess(text) == ""
    assert decode(text) == json.loads(text)


@given(json_values, st.integers(1, 9))
def test_what_is_outside_of_strings_is_found_in_pieces_of_any_size(value: Any, size: int) -> None:
    text = json.dumps(value, ensure_ascii=False).encode()
    bare: list[str] = []
    within = escaped = False
    for char in text.decode():
        if not within and char != '"':
            bare.append(char)
        elif char == '"' and not escaped:
            within = not within
        escaped = within and char == "\\" and not escaped

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_limits, "PIECE_BYTES", size)
        found = b"".join(outside_strings(text))

    assert found.decode() == "".join(bare)


def test_a_text_is_searched_in_small_pieces() -> None:
    text = b'["' + b",x" * MIB + b'"]'

    assert max(map(len, outside_strings(items(b"0", MIB)))) <= 65_537
    assert b"".join(outside_strings(text)) == b"[]"


def test_a_number_has_a_thousand_digits_at_most_in_a_large_text() -> None:
    blank = b" " * 100_000

    assert decode(b"[" + blank + b"9" * 999 + b"]") == [10**999 - 1]
    with pytest.raises(ProtocolError, match=TOO_LONG):
        decode(b"[" + blank + b"1234567890" * 100 + b"]")
    assert decode(b'["' + b"9" * 200_000 + b'"]') == ["9" * 200_000]


pieces = st.tuples(st.sampled_from(["0", "9", "x", ' "', "12345.", "1234567 "]), st.integers(0, 1_300))


@given(st.lists(pieces, max_size=6), st.integers(0, 60))
def test_a_long_number_is_found_wherever_it_begins(parts: list[tuple[str, int]], shift: int) -> None:
    text = "x" * shift + "".join(part * count for part, count in parts)
    bare = "".join(text.split('"')[::2])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_limits, "PIECE_BYTES", 700)
        found = excess(text.encode(), max_values=1)

    assert found == ("a number of more than 1,000 digits" if re.search(r"[0-9]{1000}", bare) else "")


def test_a_frame_and_an_envelope_are_refused_alike(server: Server) -> None:
    heavy = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"x":' + items(b"{}", 100_000) + b"}}"
    refusal = {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": TOO_MANY}}

    with pytest.raises(ProtocolError, match=TOO_MANY):
        parse(heavy)
    replies: list[Any] = [
        server.receive(heavy, ClientChannel()),
        server.receive(heavy, ClientChannel(door=HTTP_MCP)),
        server.invoke(heavy, "plantuml.encode"),
    ]

    assert [json.loads(reply.body) for reply in replies] == [refusal] * 3


@pytest.mark.parametrize("text", ["0.1", "1e5", "-0.0", "1.7976931348623157e308", "2.2250738585072011e-308", "1e-400"])
def test_numbers_are_those_of_python(text: str) -> None:
    assert decode(f"[{text}]".encode()) == [float(text)]
    assert str(decode(f"[{text}]".encode())[0]) == str(float(text))


@pytest.mark.parametrize("text", ["1e400", "-1e400"])
def test_a_number_beyond_all_floats_is_no_json(text: str) -> None:
    with pytest.raises(ValueError, match="out of range"):
        parse_float(text)
    with pytest.raises(ProtocolError, match="out of range"):
        decode(f"[{text}]".encode())


def test_every_number_of_a_request_is_parsed_in_a_step_of_its_own(server: Server) -> None:
    """A decoder that parses them itself holds the interpreter for half a second, with 1 MiB of numbers like this."""
    numbers = items(b"1.7976931348623157e308", 1_000)
    call = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"x":' + numbers + b"}}}"
    steps: list[str] = []
    sys.setprofile(lambda frame, event, _: steps.append(f"{event} {frame.f_code.co_name}"))
    try:
        decode(numbers)
        server.receive(call, ClientChannel())
    finally:
        sys.setprofile(None)

    assert steps.count("call parse_float") == 2_000


@pytest.mark.parametrize(
    ("text", "is_json"),
    [
        (b'["\\ud800"]', True),
        (b'["\\uDFFF", 1]', True),
        (b'["\\ud800\\ud800"]', True),
        (b'["\\ud800", tru]', False),
        (b'["\\ud800", NaN]', False),
        (b'["\\ud80"]', False),
        (b'["\\ud800",]', False),
    ],
)
def test_half_a_surrogate_pair_is_told_from_other_mistakes(text: bytes, is_json: bool) -> None:
    with pytest.raises(ProtocolError) as caught:
        decode(text)

    assert isinstance(caught.value, NotUnicodeError) is is_json
