"""JSON-RPC on the wire: bytes to frames, answers to bytes."""

from __future__ import annotations

from typing import Any, Final, Literal, NoReturn, TypeVar

import msgspec
from msgspec import UNSET, Raw, UnsetType

from .errors import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR

__all__ = [
    "Frame",
    "Id",
    "NotUnicodeError",
    "ProtocolError",
    "Reply",
    "ResponseId",
    "decode",
    "decode_in_chunks",
    "encode",
    "failure",
    "given_id",
    "parse",
    "read",
    "success",
]

Id = str | int
ResponseId = Id | float | None
"""What an answer goes under: the id of its request, whole numbers however they were written, or null."""
T = TypeVar("T")
NO_PARAMS: Final = Raw(b"{}")
MAX_WHY_CHARS: Final = 200
"""A reason may repeat what was sent, which may be long."""


class Frame(msgspec.Struct, frozen=True):
    """One JSON-RPC request, notification or response, its params still unread."""

    jsonrpc: Literal["2.0"]
    method: str | UnsetType = UNSET
    id: Id | UnsetType = UNSET
    params: Raw = NO_PARAMS
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


class Headers(dict[str, str]):
    """The headers of an HTTP request by lower-case name, white space stripped; `repeated` names those sent twice."""

    repeated: frozenset[str] = frozenset()

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        super().__init__(pairs)
        if len(self) < len(pairs):
            names = [name for name, _ in pairs]
            self.repeated = frozenset(name for name in self if names.count(name) > 1)


NO_HEADERS: Final = Headers([])


class Reply(msgspec.Struct, frozen=True):
    """One JSON-RPC answer as bytes, and its error code (0: a result)."""

    body: bytes
    code: int = 0
    modern: bool = False
    """Whether it refuses what was meant for the modern era, whose HTTP statuses differ."""


class ProtocolError(ValueError):
    """A message that the protocol refuses; `value` is the JSON it held, where it is no frame."""

    def __init__(self, code: int, message: str, data: object = None, value: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data
        self.value = value
        self.modern = False

    def reply(self, request_id: ResponseId | UnsetType = UNSET) -> Reply:
        """Answer with the id of the request; of what is no frame, with the id given, if it is one."""
        if request_id is UNSET:
            request_id = given_id(self.value)
        reply = failure(request_id, self.code, str(self), self.data)
        return msgspec.structs.replace(reply, modern=True) if self.modern else reply


class NotUnicodeError(ProtocolError):
    """A message that holds what is no Unicode text: bytes that are not UTF-8, or half a surrogate pair."""


encode: Final = msgspec.json.Encoder().encode
_frame: Final = msgspec.json.Decoder(Frame).decode
_any: Final = msgspec.json.Decoder().decode
_list: Final = msgspec.json.Decoder(list[Raw]).decode
_dict: Final = msgspec.json.Decoder(dict[str, Raw]).decode

PIECE_BYTES: Final = 65_536
"""What is read at one go."""


def parse(message: bytes) -> Frame:
    """Read one frame.

    Raises:
        Refused: with -32700 for what is not JSON, with -32600 for JSON that is no frame.
    """
    why = "Object has neither method nor result nor error"
    try:
        if not message.isascii():
            # Also what nobody will read must be text.
            message.decode()
        frame = _frame(message)
        if frame.method is not UNSET or frame.result is not UNSET or frame.error is not UNSET:
            return frame
    except (ValueError, RecursionError) as error:
        why = str(error)
    value = decode(message)
    if isinstance(value, list):
        why = "batches are not served, send one message at a time"
    raise ProtocolError(INVALID_REQUEST, f"Invalid Request: {why[:MAX_WHY_CHARS]}", value=value)


def decode(text: bytes) -> Any:
    """Read any JSON value.

    Raises:
        Refused: with -32700, saying why it is not JSON.
    """
    try:
        return _any(text)
    except (ValueError, RecursionError) as error:
        raise _not_json(error, text) from None


def decode_in_chunks(text: bytes | Raw) -> Any:
    """Read a JSON value that is known to be one; a large one in pieces, so that no step holds the interpreter long."""
    view = memoryview(text)
    if view.nbytes > PIECE_BYTES and view[0] == ord("["):
        return [decode_in_chunks(part) for part in _list(text)]
    if view.nbytes > PIECE_BYTES and view[0] == ord("{"):
        return {name: decode_in_chunks(part) for name, part in _dict(text).items()}
    return _any(text)


def read(params: Raw, decoder: msgspec.json.Decoder[T]) -> T:
    """Read a frame's params as their method wants them.

    Raises:
        Refused: with -32602 saying where they are wrong, with -32700 when they are not JSON.
    """
    try:
        return decoder.decode(NO_PARAMS if bytes(params) == b"null" else params)
    except msgspec.ValidationError as error:
        raise ProtocolError(INVALID_PARAMS, f"Invalid params: {str(error)[:MAX_WHY_CHARS]}") from None
    except (ValueError, RecursionError) as error:
        raise _not_json(error, bytes(params)) from None


def success(request_id: ResponseId, result: bytes) -> Reply:
    """Answer a request with a result that is JSON already."""
    return Reply(b'{"jsonrpc":"2.0","id":' + encode(request_id) + b',"result":' + result + b"}")


def failure(request_id: ResponseId, code: int, message: str, data: object = None) -> Reply:
    """Answer a request with an error."""
    error: dict[str, object] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return Reply(encode({"jsonrpc": "2.0", "id": request_id, "error": error}), code)


def given_id(value: object) -> Id | None:
    """Give the id to echo of a message that is no frame: the one given, if it is one."""
    given = value.get("id") if isinstance(value, dict) else None
    return given if (given and isinstance(given, str)) or type(given) is int else None


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
    """Whether text keeps JSON's grammar, which lets through strings that are not Unicode."""
    import json

    try:
        json.loads(text.decode(), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return False
    return True


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)
