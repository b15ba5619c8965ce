"""JSON-RPC on the wire: bytes to frames, responses to bytes."""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final, Literal, TypeVar

import msgspec
from msgspec import UNSET, Raw, UnsetType

from .errors import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, Code
from .json_limits import MAX_VALUES, excess, parse_float

__all__ = [
    "LARGE_RESULT_BYTES",
    "PIECE_BYTES",
    "Frame",
    "Id",
    "MessageHead",
    "NotUnicodeError",
    "OutOfRangeError",
    "ProtocolError",
    "QuotedText",
    "Reply",
    "ResponseId",
    "decode",
    "decode_in_chunks",
    "decode_members",
    "encode",
    "failure",
    "given_id",
    "is_response",
    "message_head",
    "method_and_params",
    "parse",
    "quoted",
    "read",
    "success",
    "without_halves",
]

Id = str | int
ResponseId = Id | float | None
"""The id of a response: the id of its request, which an envelope may write as 1.0, or null."""
T = TypeVar("T")
NO_PARAMS: Final = Raw(b"{}")
NULL: Final = Raw(b"null")
RANGE: Final = "out of range"
"""How the decoder tells of a number that no float can hold."""
SHAPE_CODES: Final = (INVALID_REQUEST, INVALID_PARAMS)
BAD_SHAPE: Final = {"canonical_code": str(Code.INVALID_INPUT)}
"""The data of an error about the shape of a request."""
MAX_WHY_CHARS: Final = 200
"""The longest reason in an error message: it may repeat a part of the request."""


class Frame(msgspec.Struct, frozen=True, gc=False):
    """One JSON-RPC request, notification or response, with its params not yet decoded.

    `gc=False`: it holds text alone and no cycles, so it is no work for the garbage collector.
    """

    jsonrpc: Literal["2.0"]
    method: str | UnsetType = UNSET
    id: Id | UnsetType = UNSET
    params: Raw = NO_PARAMS
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


class MessageHead(msgspec.Struct, frozen=True, gc=False):
    """The members of any JSON-RPC message, for those who pass it on, match it or write it down.

    It requires nothing: what a server requires of a message that it serves is `Frame`. Members that a message does
    not have are UNSET, so that an id of null is told from none.
    """

    id: Id | float | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    params: Raw = NO_PARAMS
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET

    @property
    def is_request(self) -> bool:
        """Return whether a reply is owed; none is for notifications, and for responses."""
        return self.method is not UNSET and self.id is not UNSET


class Named(msgspec.Struct, frozen=True, gc=False):
    """The recorded members of a message, which may be wrong in all others."""

    method: str = ""
    params: Raw = NO_PARAMS


message_head: Final = msgspec.json.Decoder(MessageHead).decode
"""Return the head of a message; raise ValueError or RecursionError if it has none."""

LISTS: Final = frozenset({"x-forwarded-for", "forwarded"})
"""The headers that each proxy may send as a line of its own."""


class Headers(dict[str, str]):
    """The headers of an HTTP request by lower-case name, without white space around the values.

    `repeated` holds the names of headers that were sent more than once: the last value counts, and of those that name
    proxies all values, as one list.
    """

    repeated: frozenset[str] = frozenset()

    def __init__(self, names: Sequence[str], values: Collection[str]) -> None:
        super().__init__(zip(names, values, strict=True))
        if len(self) < len(names):
            self.repeated = frozenset(name for name, count in Counter(names).items() if count > 1)
            for listed in self.repeated & LISTS:
                self[listed] = ", ".join(value for name, value in zip(names, values, strict=True) if name == listed)


NO_HEADERS: Final = Headers((), ())


class QuotedText(msgspec.Struct, frozen=True):
    """JSON that is sent as a JSON string."""

    text: bytes | bytearray
    size: int
    """The length of the string: quotes and backslashes are all that has to be escaped in JSON."""

    @classmethod
    def of(cls, text: bytes | bytearray) -> QuotedText:
        """Return a text with the size that it will have, counted in steps."""
        counts = (
            text.count(mark, start, start + PIECE_BYTES)
            for start in range(0, len(text), PIECE_BYTES)
            for mark in b'"\\'
        )
        return cls(text, len(text) + sum(counts) + len('""'))


class Reply(msgspec.Struct, frozen=True):
    """One JSON-RPC response as bytes, and its error code (0 for a result)."""

    body: bytes
    code: int = 0
    modern: bool = False
    """Whether the response is an error for a request of the modern era, which has its own HTTP statuses."""
    outcome: Any = None
    """The outcome that the response tells, where it is that of a call."""
    refusal: Any = None
    """The fault of a refused request other than a call, where its name and status say more than the code."""
    parts: tuple[bytes | bytearray | QuotedText, ...] = ()
    """A large response in parts, in place of the body: it is written piece by piece, and never held as one."""

    def pieces(self) -> Iterator[bytes | memoryview]:
        """Yield the response in pieces."""
        for part in self.parts or (self.body,):
            if isinstance(part, QuotedText):
                yield from quoted(part.text)
            else:
                view = memoryview(part)
                yield from (view[start : start + PIECE_BYTES] for start in range(0, len(part), PIECE_BYTES))

    @property
    def size(self) -> int:
        """The number of bytes that it has."""
        return sum(part.size if isinstance(part, QuotedText) else len(part) for part in self.parts or (self.body,))

    def whole(self) -> bytes:
        """Return the response as one text."""
        return b"".join(self.pieces()) if self.parts else self.body


class ProtocolError(ValueError):
    """The protocol refuses a message; `value` is the message's JSON where it is not a frame."""

    def __init__(
        self, code: int, message: str, data: object = None, value: object = None, *, fault: object = None
    ) -> None:
        """Refuse a message with an error; `fault` goes with the reply, for the doors that have more to say than it."""
        super().__init__(message)
        self.code = code
        self.data = data
        self.value = value
        self.fault = fault
        self.modern = False

    def reply(self, request_id: ResponseId | UnsetType = UNSET) -> Reply:
        """Return the error response; without a `request_id`, the id is taken from `value` if it has a valid one."""
        if request_id is UNSET:
            request_id = given_id(self.value)
        reply = failure(request_id, self.code, str(self), self.data)
        is_plain = not self.modern and self.fault is None
        return reply if is_plain else msgspec.structs.replace(reply, modern=self.modern, refusal=self.fault)


class NotUnicodeError(ProtocolError):
    """A message is not Unicode text: it has bytes that are not UTF-8, or half a surrogate pair."""


class OutOfRangeError(ProtocolError):
    """A message is JSON, and has a number that no float can hold."""


encode: Final = msgspec.json.Encoder().encode
_frame: Final = msgspec.json.Decoder(Frame).decode
_named: Final = msgspec.json.Decoder(Named).decode
_any: Final = msgspec.json.Decoder(float_hook=parse_float).decode
_skip: Final = msgspec.json.Decoder(Raw).decode
_list: Final = msgspec.json.Decoder(list[Raw]).decode
_dict: Final = msgspec.json.Decoder(dict[str, Raw]).decode

_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_ESCAPE: Final = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
"""An escape in JSON text; the group is half a surrogate pair without its other half."""

PIECE_BYTES: Final = 65_536
"""The largest piece of JSON that is decoded or encoded in one step."""
LARGE_RESULT_BYTES: Final = 4_194_304
"""The size above which a result is never held as one Python value, nor copied into a reply."""


def parse(message: bytes) -> Frame:
    """Return the frame of a message.

    Raises:
        ProtocolError: -32700 if the message is not JSON or exceeds a limit, -32600 if it is JSON but not a frame.
    """
    if len(message) > MAX_VALUES:
        _check_limits(message)
    reason = "Object has neither method nor result nor error"
    try:
        if not message.isascii():
            # The parts that msgspec skips here must be UTF-8 too.
            message.decode()
        frame = _frame(message)
        if frame.method is not UNSET or frame.result is not UNSET or frame.error is not UNSET:
            return frame
    except (ValueError, RecursionError) as error:
        reason = str(error)
    value = decode(message)
    if isinstance(value, list):
        reason = "batches are not served, send one message at a time"
    raise ProtocolError(INVALID_REQUEST, f"Invalid Request: {reason[:MAX_WHY_CHARS]}", value=value)


def method_and_params(message: bytes) -> tuple[str, Raw]:
    """Return the method and the params of a message, whatever its other members are; empty ones where it has none."""
    try:
        named = _named(message)
    except (ValueError, RecursionError):
        return "", NO_PARAMS
    return named.method, named.params


def decode(text: bytes) -> Any:
    """Return any JSON value, decoded.

    Raises:
        ProtocolError: -32700 with the reason why the text is not JSON, or with the limit that it exceeds.
    """
    if len(text) > MAX_VALUES:  # rule: @decode
        _check_limits(text)
    try:
        return _any(text)
    except (ValueError, RecursionError) as error:
        raise _not_json(error, text) from None


def decode_in_chunks(text: bytes | Raw) -> Any:
    """Return a valid JSON value, decoded; a large value is decoded in pieces, so that other threads get their turn."""
    if len(text) <= PIECE_BYTES:
        return _any(text)
    first = memoryview(text)[0]
    if first == ord("["):
        return [decode_in_chunks(part) for part in _list(text)]
    if first == ord("{"):
        return {name: decode_in_chunks(part) for name, part in _dict(text).items()}
    return _any(text)


def decode_members(text: bytes, names: Collection[str]) -> Any:
    """Return the members of a JSON object that have one of these names; the others are not looked at.

    The others may hold what the grammar of JSON allows and `decode` refuses: half a surrogate pair, a number out of
    range. A text that is not an object has no members: it is an empty list.

    Raises:
        NotUnicodeError: one of these members is not Unicode; `value` has them with U+FFFD in place of what is not.
        OutOfRangeError: one of these members has a number that no float can hold.
        ProtocolError: the text is not JSON, exceeds a limit, or one of these members cannot be decoded.
    """
    if len(text) > MAX_VALUES:
        _check_limits(text)
    try:
        if not text.lstrip(b" \t\r\n").startswith(b"{"):
            _skip(_SURROGATE.sub(rb"\\u0000", text))
            return []
        marked, other = (_dict(without_halves(text, mark)) for mark in (rb"\ufffd", rb"\ufffe"))
    except (ValueError, RecursionError) as error:
        raise _not_json(error, text) from None
    known = {name: bytes(raw) for name, raw in marked.items() if name in names}
    try:
        value = {name: decode(raw.decode(errors="replace").encode()) for name, raw in known.items()}
    except ProtocolError as error:
        if RANGE in str(error):
            raise OutOfRangeError(PARSE_ERROR, str(error)) from None
        raise
    if all(_is_utf8(raw) and raw == bytes(other[name]) for name, raw in known.items()):
        return value
    raise NotUnicodeError(PARSE_ERROR, "Parse error: a string is not Unicode", value=value)


def without_halves(text: bytes, mark: bytes) -> bytes:
    """Return JSON text with an escape in place of each half of a surrogate pair that has no other half."""
    return _ESCAPE.sub(lambda found: mark if found[1] else found[0], text)


def quoted(text: bytes | bytearray) -> Iterator[bytes]:
    """Yield UTF-8 text as a JSON string, encoded in pieces, so that other threads get their turn."""
    decoder = getincrementaldecoder("utf-8")()
    yield b'"'
    for start in range(0, len(text), PIECE_BYTES):
        is_last = start + PIECE_BYTES >= len(text)
        yield encode(decoder.decode(text[start : start + PIECE_BYTES], is_last))[1:-1]
    yield b'"'


def read(params: Raw, decoder: msgspec.json.Decoder[T]) -> T:
    """Return the params of a frame, decoded as their method requires.

    Raises:
        ProtocolError: -32602 with the place of a wrong value, -32700 if the params are not JSON.
    """
    try:
        return decoder.decode(NO_PARAMS if params == NULL else params)
    except msgspec.ValidationError as error:
        from .places import wrong_type

        raise ProtocolError(INVALID_PARAMS, f"Invalid params: {wrong_type(error)[:MAX_WHY_CHARS]}") from None
    except (ValueError, RecursionError) as error:
        raise _not_json(error, bytes(params)) from None


def success(request_id: ResponseId, result: bytes, outcome: object = None) -> Reply:
    """Return the response with a result, which is JSON already."""
    body = b"".join((b'{"jsonrpc":"2.0","id":', encode(request_id), b',"result":', result, b"}"))
    return Reply(body, outcome=outcome)


def failure(request_id: ResponseId, code: int, message: str, data: object = None, outcome: object = None) -> Reply:
    """Return the response with an error; one about the shape of a request has a canonical code."""
    error: dict[str, object] = {"code": code, "message": message}
    if data is None and code in SHAPE_CODES:
        data = BAD_SHAPE
    if data is not None:
        error["data"] = data
    return Reply(encode({"jsonrpc": "2.0", "id": request_id, "error": error}), code, outcome=outcome)


def relayed_failure(request_id: ResponseId, error: bytes, code: int, outcome: object = None) -> Reply:
    """Return the response with an error that is JSON already."""
    body = b"".join((b'{"jsonrpc":"2.0","id":', encode(request_id), b',"error":', error, b"}"))
    return Reply(body, code, outcome=outcome)


def given_id(value: object) -> Id | None:
    """Return the id of a message that is not a frame, or None if it has no valid id."""
    request_id = value.get("id") if isinstance(value, dict) else None
    return request_id if (request_id and isinstance(request_id, str)) or type(request_id) is int else None


def is_response(value: object) -> bool:
    """Return whether a message that is not a frame was meant as a response."""
    return isinstance(value, dict) and "method" not in value and ("error" in value or "result" in value)


def _check_limits(text: bytes) -> None:
    reason = excess(text)
    if reason:
        raise ProtocolError(PARSE_ERROR, f"Parse error: {reason}")


def _not_json(error: Exception, text: bytes) -> ProtocolError:
    if isinstance(error, RecursionError):
        return ProtocolError(PARSE_ERROR, "Parse error: nested too deeply")
    if not _is_utf8(text):
        return NotUnicodeError(PARSE_ERROR, "Parse error: not UTF-8")
    if not isinstance(error, msgspec.ValidationError) and b"\\u" in text and _is_json(text):
        return NotUnicodeError(PARSE_ERROR, "Parse error: a string holds half a surrogate pair")
    return ProtocolError(PARSE_ERROR, f"Parse error: {str(error)[:MAX_WHY_CHARS]}")


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_json(text: bytes) -> bool:
    """Return whether a text keeps the grammar of JSON but for strings that hold half a surrogate pair."""
    try:
        # An escape of the same length takes the place of each half; no value is made of the text.
        _skip(_SURROGATE.sub(rb"\\u0000", text))
    except (ValueError, RecursionError):
        return False
    return True
