"""The wire: any bytes become a frame or a refusal, and what is answered can be read again."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final, Literal, NoReturn

import msgspec
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from msgspec import UNSET, Raw

from signet.kernel import wire
from signet.kernel.wire import (
    Frame,
    NotUnicodeError,
    ProtocolError,
    QuotedText,
    Reply,
    decode,
    decode_in_chunks,
    encode,
    failure,
    parse,
    quoted,
    read,
    success,
)

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
INVALID_PARAMS: Final = -32602
TOO_DEEP: Final = b"[" * 10_000 + b"]" * 10_000
MOST_DIGITS: Final = 4300
"""How many digits, a minus among them, an integer may have: Python reads and writes no more."""


class Point(msgspec.Struct):
    """What a test's params are read as."""

    x: int


class Optional(msgspec.Struct):
    """Params none of which is needed."""

    word: Literal["", "one"] = ""


OPTIONAL: Final = msgspec.json.Decoder(Optional)
POINT: Final = msgspec.json.Decoder(Point)
ANYTHING: Final = msgspec.json.Decoder(dict[str, Any])

_scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
_values = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
_ids = st.text() | st.integers(-(2**70), 2**70) | st.integers(-(10 ** (MOST_DIGITS - 1)) + 1, 10**MOST_DIGITS - 1)
_near_frames = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | _values,
        "id": _values,
        "method": st.just("ping") | _values,
        "params": st.just({}) | _values,
        "result": _values,
        "error": _values,
    },
)


@st.composite
def nearly_json(draw: st.DrawFn) -> bytes:
    """JSON, most of it with one place changed."""
    text = json.dumps(draw(_near_frames | _values), ensure_ascii=draw(st.booleans())).encode()
    at = draw(st.integers(0, len(text)))
    put = draw(
        st.sampled_from([b"", b",", b"0", b".", b"-", b"e", b'"', b"\\", b"\\u", b"[", b"}", b"\x00", b"\xff", b" "])
    )
    return text[:at] + put + text[at + draw(st.integers(0, 2)) :]


_noise = st.binary(max_size=60) | nearly_json()


def outcome(reader: Callable[..., Any], *given: Any) -> Any:
    """Give what a reader makes of something: a value, or the refusal; nothing else may come out of it."""
    try:
        return reader(*given)
    except ProtocolError as refused:
        return refused


# --- frames -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "frame"),
    [
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"}', Frame("2.0", "ping", 1)),
        (b'{"jsonrpc":"2.0","id":"","method":""}', Frame("2.0", "", "")),
        (b'{"jsonrpc":"2.0","method":"n","params":{"a":1}}', Frame("2.0", "n", UNSET, Raw(b'{"a":1}'))),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","params":null}', Frame("2.0", "m", 1, Raw(b"null"))),
        (b'{"jsonrpc":"2.0","id":1,"result":null}', Frame("2.0", UNSET, 1, result=Raw(b"null"))),
        (b'{"jsonrpc":"2.0","error":{}}', Frame("2.0", error=Raw(b"{}"))),
        (b' {"method":"m","more":[1],"jsonrpc":"2.0"}\r\n', Frame("2.0", "m")),
    ],
    ids=["request", "empty", "notification", "null params", "result", "error without an id", "order, space and more"],
)
def test_a_request_a_notification_and_a_response_are_frames(message: bytes, frame: Frame) -> None:
    assert parse(message) == frame


def test_of_a_key_that_is_given_twice_the_last_wins() -> None:
    message = b'{"jsonrpc":"2.0","id":1,"id":2,"method":"a","method":"b","params":{"x":1},"params":{"x":2}}'

    assert parse(message) == Frame("2.0", "b", 2, Raw(b'{"x":2}'))
    assert decode(b'{"a":1,"a":2}') == {"a": 2}


@given(_ids)
def test_any_id_of_a_request_is_read_as_it_was_written(request_id: str | int) -> None:
    message = json.dumps({"jsonrpc": "2.0", "id": request_id, "method": "m"}).encode()

    assert parse(message) == Frame("2.0", "m", request_id)


@given(_noise)
@example(b"")
@example(TOO_DEEP)
@example(b'{"jsonrpc":"2.0","id":1,"method":"m","params":' + TOO_DEEP + b"}")
@example(b'{"jsonrpc":"2.0","id":1e400,"method":"m"}')
@example(b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"m"}')
def test_any_bytes_are_a_frame_or_a_refusal_that_can_be_sent_as_one_line(message: bytes) -> None:
    found = outcome(parse, message)

    if not isinstance(found, Frame):
        answer = found.reply()
        sent = json.loads(answer.body)
        assert answer.code in {PARSE_ERROR, INVALID_REQUEST}
        data = {"data": {"canonical_code": "INVALID_INPUT"}} if answer.code == INVALID_REQUEST else {}
        error = {"code": answer.code, "message": str(found), **data}
        assert sent == {"jsonrpc": "2.0", "id": sent["id"], "error": error}
        assert isinstance(sent["id"], str | int | None)
        assert b"\n" not in answer.body


@given(_near_frames | _values)
def test_json_that_is_no_frame_is_an_invalid_request_and_keeps_its_value(value: Any) -> None:
    found = outcome(parse, json.dumps(value).encode())

    if isinstance(found, Frame):
        assert value["jsonrpc"] == "2.0"
        assert {"method", "result", "error"} & value.keys()
    else:
        assert (found.code, found.value) == (INVALID_REQUEST, value)


@pytest.mark.parametrize("value", [None, True, 5, "ping", {}, {"jsonrpc": "2.0"}, {"jsonrpc": "2.0", "id": 1}])
def test_a_value_without_method_result_or_error_is_no_frame(value: Any) -> None:
    refused = outcome(parse, json.dumps(value).encode())

    assert (refused.code, refused.value) == (INVALID_REQUEST, value)


@pytest.mark.parametrize("jsonrpc", ["1.0", "2", 2, 2.0, None, ["2.0"]])
def test_only_version_2_0_as_a_string_is_spoken(jsonrpc: Any) -> None:
    assert outcome(parse, json.dumps({"jsonrpc": jsonrpc, "id": 1, "method": "m"}).encode()).code == INVALID_REQUEST


def test_a_batch_is_refused_in_words() -> None:
    refused = outcome(parse, b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]')

    assert refused.reply() == failure(
        None, INVALID_REQUEST, "Invalid Request: batches are not served, send one message at a time"
    )


@pytest.mark.parametrize(
    ("given_id", "echoed"),
    [(7, 7), (0, 0), (-1, -1), (10**30, 10**30), ("a", "a"), ("", None), (None, None), (1.5, None), (1.0, None),
     (True, None), (False, None), ([1], None), ({}, None)],
)  # fmt: skip
def test_what_is_no_frame_is_answered_with_its_id_if_it_is_one(given_id: Any, echoed: Any) -> None:
    refused = outcome(parse, json.dumps({"jsonrpc": "1.0", "id": given_id, "method": "m"}).encode())

    assert json.loads(refused.reply().body)["id"] == echoed
    assert type(json.loads(refused.reply().body)["id"]) is type(echoed)


def test_a_refusal_is_answered_with_the_id_that_is_known_rather_than_the_one_it_holds() -> None:
    refused = ProtocolError(INVALID_PARAMS, "no", {"where": "x"}, value={"id": 1})

    assert refused.reply("mine") == failure("mine", INVALID_PARAMS, "no", {"where": "x"})
    assert refused.reply() == failure(1, INVALID_PARAMS, "no", {"where": "x"})


# --- what is not JSON -------------------------------------------------------------------------

NOT_JSON: Final = {
    "nothing": b"",
    "blanks": b" \t\r\n",
    "a byte order mark": b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}',
    "NaN": b'{"a":NaN}',
    "Infinity": b"[Infinity]",
    "-Infinity": b"-Infinity",
    "a control character": b'"\x1f"',
    "a NUL": b"\x00",
    "a bad escape": b'"\\q"',
    "half an escape": b'"\\u12"',
    "a leading zero": b"01",
    "a point without digits": b"1.",
    "a plus sign": b"+1",
    "a trailing comma": b"[1,]",
    "single quotes": b"{'a':1}",
    "two values": b"1 2",
    "cut off": b'{"a":',
    "a float beyond all floats": b"1e999",
    "an integer of too many digits": b"9" * (MOST_DIGITS + 1),
    "ten thousand levels": TOO_DEEP,
    "ten thousand levels, never closed": b'{"a":' * 10_000,
}


@pytest.mark.parametrize("text", NOT_JSON.values(), ids=NOT_JSON)
def test_what_is_not_json_is_a_parse_error(text: bytes) -> None:
    refused = outcome(decode, text)

    assert (type(refused), refused.code, refused.value) == (ProtocolError, PARSE_ERROR, None)
    assert outcome(parse, text).reply() == refused.reply()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'"\xff"', "Parse error: not UTF-8"),
        (b"\xff\xfe{\x00", "Parse error: not UTF-8"),
        (b'"\xed\xa0\x80"', "Parse error: not UTF-8"),
        (b'"\xc0\xaf"', "Parse error: not UTF-8"),
        (rb'"\ud800"', "Parse error: a string holds half a surrogate pair"),
        (rb'{"\udfff":1}', "Parse error: a string holds half a surrogate pair"),
        (rb'["\ud800A"]', "Parse error: a string holds half a surrogate pair"),
    ],
)
def test_what_is_not_unicode_is_a_parse_error_of_its_own(text: bytes, message: str) -> None:
    refused = outcome(decode, text)

    assert type(refused) is NotUnicodeError
    assert refused.reply() == failure(None, PARSE_ERROR, message)


@pytest.mark.parametrize(
    "message",
    [
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"\xff"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"\xed\xa0\x80":1}}',
        b'{"jsonrpc":"2.0","id":1,"method":"\xff"}',
        b'{"jsonrpc":"2.0","id":"\xff","method":"m"}',
        b'{"jsonrpc":"2.0","id":1,"method":"m","more":["\xc0\xaf"]}',
        b'{"jsonrpc":"2.0","id":1,"method":"m","\xff":1}',
        b'{"jsonrpc":"2.0","id":1,"result":{"a":"\xff"}}',
        b'{"jsonrpc":"2.0","id":1,"error":"\xff"}',
    ],
    ids=["params", "a key of params", "method", "id", "an unknown member", "an unknown key", "result", "error"],
)
def test_bytes_that_are_not_utf8_are_a_parse_error_wherever_in_a_frame_they_are(message: bytes) -> None:
    refused = outcome(parse, message)

    assert type(refused) is NotUnicodeError
    assert refused.reply() == failure(None, PARSE_ERROR, "Parse error: not UTF-8")


@pytest.mark.parametrize("number", [b"1e999", b"-1e999", b"9" * (MOST_DIGITS + 1)])
def test_a_number_out_of_range_beside_an_escape_is_not_taken_for_half_a_surrogate_pair(number: bytes) -> None:
    refused = outcome(decode, rb'{"a":"\u0041","n":' + number + b"}")

    assert (type(refused), refused.code) == (ProtocolError, PARSE_ERROR)
    assert "surrogate" not in str(refused)


@pytest.mark.parametrize("text", [rb'"\ud800', rb'{"\ud800":NaN}', rb'{"\ud800":1,}'])
def test_half_a_surrogate_pair_in_what_is_not_json_anyway_is_not_blamed(text: bytes) -> None:
    assert type(outcome(decode, text)) is ProtocolError


def test_a_whole_surrogate_pair_is_one_character() -> None:
    assert decode(rb'"\ud83c\udf0d"') == "🌍"


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _by_the_standard_library(text: bytes) -> Any:
    return json.loads(text.decode(), parse_constant=_refuse_constant)


@given(_noise)
def test_the_standard_library_reads_the_same_as_json(text: bytes) -> None:
    found = outcome(decode, text)

    if not isinstance(found, ProtocolError):
        assert found == _by_the_standard_library(text)
    elif not isinstance(found, NotUnicodeError):
        # A float beyond all floats is infinite to the standard library.
        assume(b"e" not in text.lower())
        with pytest.raises(ValueError):  # noqa: PT011 - JSON's and Unicode's errors alike
            _by_the_standard_library(text)


@given(_values)
def test_any_value_is_read_as_it_was_written(value: Any) -> None:
    assert decode(json.dumps(value).encode()) == value
    assert decode(json.dumps(value, ensure_ascii=False).encode()) == value


@pytest.mark.parametrize(
    "value",
    [
        "x" * 100_000,
        list(range(50_000)),
        {"few": 1, "many": [{"n": n, "text": "é\n"} for n in range(5_000)], "deep": [[["x" * 70_000], {}]]},
        {},
    ],
    ids=["a string", "a list", "an object", "nothing"],
)
def test_a_large_value_is_read_in_pieces_to_the_same(value: Any) -> None:
    assert decode_in_chunks(encode(value)) == value


# --- params -----------------------------------------------------------------------------------


def test_params_are_read_as_their_method_wants_them() -> None:
    assert read(Raw(b'{"x":1,"y":[]}'), POINT) == Point(1)


@pytest.mark.parametrize("params", [b"{}", b'{"x":"1"}', b'{"x":1.5}', b"null", b"[]", b'"x"', b'{"x":1e999}'])
def test_params_that_are_not_what_their_method_wants_are_invalid(params: bytes) -> None:
    refused = outcome(read, Raw(params), POINT)

    assert (type(refused), refused.code, refused.value) == (ProtocolError, INVALID_PARAMS, None)


@pytest.mark.parametrize("params", [b'{"x":', b'{"x":NaN}', b'{"y":' + TOO_DEEP + b"}", b'{"x":1}}'])
def test_params_that_are_not_json_are_a_parse_error(params: bytes) -> None:
    refused = outcome(read, Raw(params), POINT)

    assert (type(refused), refused.code, refused.value) == (ProtocolError, PARSE_ERROR, None)


def test_params_that_are_not_unicode_are_a_parse_error_of_its_own() -> None:
    refused = outcome(read, Raw(b'{"a":"\xff"}'), ANYTHING)

    assert type(refused) is NotUnicodeError
    assert refused.reply(1) == failure(1, PARSE_ERROR, "Parse error: not UTF-8")


def test_params_that_are_null_count_as_absent() -> None:
    frame = parse(b'{"jsonrpc":"2.0","id":1,"method":"m","params" : null }')

    assert read(frame.params, OPTIONAL) == read(Raw(b"null"), OPTIONAL) == read(Raw(b"{}"), OPTIONAL) == Optional()


def test_params_that_are_null_are_refused_as_absent_ones_are_where_some_are_needed() -> None:
    refused = outcome(read, Raw(b"null"), POINT)

    assert refused.reply(1) == outcome(read, Raw(b"{}"), POINT).reply(1)
    assert (type(refused), refused.code) == (ProtocolError, INVALID_PARAMS)


def test_a_reason_that_repeats_what_was_sent_is_cut() -> None:
    long = "x" * 5000
    frame = outcome(parse, json.dumps({"jsonrpc": long, "id": 1, "method": "m"}).encode())
    params = outcome(read, Raw(json.dumps({"word": long}).encode()), OPTIONAL)

    assert (frame.code, params.code) == (INVALID_REQUEST, INVALID_PARAMS)
    assert "xxx" in str(frame)
    assert "xxx" in str(params)
    assert len(str(frame)) == len("Invalid Request: ") + 200
    assert len(str(params)) == len("Invalid params: ") + 200


@given(_noise)
@example(b"null")
def test_any_params_are_read_or_refused(params: bytes) -> None:
    found = outcome(read, Raw(params), POINT)

    assert isinstance(found, Point) or found.code in {PARSE_ERROR, INVALID_PARAMS}


# --- answers ----------------------------------------------------------------------------------


def test_a_result_is_sent_as_it_was_written() -> None:
    assert success(1, b'{"n": 1.0}') == Reply(b'{"jsonrpc":"2.0","id":1,"result":{"n": 1.0}}', 0)


def test_an_error_is_sent_without_data_unless_there_is_some() -> None:
    bare = failure("a", -32601, "Method not found")
    empty = failure(0, -32602, "no", {})
    full = failure(None, -32602, "no", {"n": None})

    assert bare == Reply(b'{"jsonrpc":"2.0","id":"a","error":{"code":-32601,"message":"Method not found"}}', -32601)
    assert empty == Reply(b'{"jsonrpc":"2.0","id":0,"error":{"code":-32602,"message":"no","data":{}}}', -32602)
    assert full == Reply(
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"no","data":{"n":null}}}', -32602
    )


@given(_ids, _values)
def test_an_answer_is_read_as_it_was_meant(request_id: str | int, value: Any) -> None:
    good = success(request_id, json.dumps(value).encode())
    bad = failure(request_id, -32603, "no", {"value": value})

    assert json.loads(good.body) == {"jsonrpc": "2.0", "id": request_id, "result": value}
    assert json.loads(bad.body) == {
        "jsonrpc": "2.0",
        "id": request_id,
        "error": {"code": -32603, "message": "no", "data": {"value": value}},
    }
    assert b"\n" not in good.body + bad.body


@given(st.text())
def test_any_message_of_an_error_is_one_line(message: str) -> None:
    reply = failure(1, -32603, message)

    assert json.loads(reply.body)["error"] == {"code": -32603, "message": message}
    assert b"\n" not in reply.body


@given(st.text(alphabet='a"\\\n\x00é漢😀', min_size=1, max_size=9), st.integers(0, 2))
def test_a_text_is_quoted_in_pieces_as_it_is_at_once(unit: str, shift: int) -> None:
    text = ("x" * shift + unit * (150_000 // len(unit))).encode()

    assert b"".join(quoted(text)) == msgspec.json.encode(text.decode())


@given(
    st.recursive(
        st.none() | st.text(alphabet='a"\\\n\x00é漢😀'),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_a_large_reply_has_the_size_that_it_says(value: Any) -> None:
    text = msgspec.json.encode(value)
    reply = Reply(b"", parts=(b"[", QuotedText.of(text), b",", bytearray(text), b"]"))

    assert json.loads(reply.whole()) == [text.decode(), value]
    assert reply.size == len(reply.whole())
    assert b"".join(reply.pieces()) == reply.whole()


def test_a_large_text_is_quoted_in_small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    monkeypatch.setattr(wire, "encode", lambda text: sizes.append(len(text)) or msgspec.json.encode(text))

    list(quoted(b"x" * 65_536))
    list(quoted(b'"' * 4_194_304))

    assert sizes == [65_536] * 65


@pytest.mark.parametrize(
    "value", [["x" * 1000] * 200, {str(n): "x" * 1000 for n in range(200)}], ids=["list", "object"]
)
def test_a_large_value_is_decoded_in_pieces(value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A piece holds the interpreter while it is decoded."""
    sizes: list[int] = []
    decode_piece = wire._any
    monkeypatch.setattr(wire, "_any", lambda text: sizes.append(len(text)) or decode_piece(text))

    assert decode_in_chunks(encode(value)) == value
    assert max(sizes) < 2000
