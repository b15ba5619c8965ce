"""The ids of a call: random, or derived from the call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final

import msgspec

__all__ = ["NAMESPACE", "Ids", "deterministic", "random"]

NAMESPACE: Final = "c1fd1c20-77b7-4f73-b39c-8ed2dd2f2d8c"
"""The UUIDv5 namespace of derived ids: equal calls have equal ids on every machine."""

UUID4: Final = b"........-....-4...-a...-............  "  # rule: 5.ids.uuid4
"""The pattern of a random UUID: each dot is a random digit; the other digits are version 4 and variant 10.

The blanks separate it from the next; with two of them its length is even, as that of hexadecimal text always is.
"""
FIXED: Final = [(index, UUID4[index : index + 1]) for index in range(len(UUID4)) if UUID4[index] != ord(".")]
PIECE_BYTES: Final = 65_536
PIECE_TOKENS: Final = 4_096  # rule: @PIECE_TOKENS
"""The size of a call that is encoded in one step, and the tokens of a larger one that are."""


class Ids(msgspec.Struct, frozen=True):
    """The three ids of a journal record."""

    request_id: str
    trace_id: str
    span_id: str


def random(count: int) -> list[Ids]:
    """Return random ids (UUIDv4) for so many calls, with one read of the system's randomness."""
    # Not `secrets`, which is the same randomness and loads OpenSSL too.
    from random import SystemRandom

    text = bytearray(SystemRandom().randbytes(3 * count * len(UUID4) // 2).hex().encode())
    # Set one character of all ids at a time: the Python loop does not grow with the number of ids.
    for index, char in FIXED:
        text[index :: len(UUID4)] = char * (3 * count)
    ids = text.decode().split()
    return [*map(Ids, ids[0::3], ids[1::3], ids[2::3])]  # rule: 5.ids.distinct/2


def deterministic(method: str, route: str, payload: object) -> Ids:
    """Return ids derived from the call (UUIDv5): equal at any time and through any door.

    `route` is the logical route (`tool`, `discover`), never a path or a transport.
    """
    # json instead of msgspec: the seed must escape everything beyond ASCII.
    from json import JSONEncoder

    seed = {"method": method, "payload": msgspec.to_builtins(payload), "route": route}
    encode = JSONEncoder(sort_keys=True, separators=(",", ":")).encode
    # In pieces: encoding a large call at once would hold the interpreter for long.
    is_large = len(msgspec.json.encode(payload)) > PIECE_BYTES
    tokens = _tokens(seed, encode) if is_large else iter((encode(seed),))
    hashes = [_uuid5_hash(f"{kind}:") for kind in ("req", "trace", "span")]  # rule: 5.ids.distinct
    while piece := "".join(islice(tokens, PIECE_TOKENS)).encode():
        for sha1 in hashes:
            sha1.update(piece)
    return Ids(*[_uuid5(sha1.digest()) for sha1 in hashes])


class _Token(str):
    """A part of a JSON text."""

    __slots__ = ()


def _tokens(value: object, encode: Callable[[object], str]) -> Iterator[str]:
    """Yield the JSON text of a value, part by part; the work does not grow with the depth of the value."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, _Token):
            yield part
        elif isinstance(part, dict) and part:
            waiting.append(_Token("}"))
            for left, name in enumerate(sorted(part, reverse=True), 1):
                waiting += (part[name], _Token(f"{',' if left < len(part) else '{'}{encode(name)}:"))
        elif isinstance(part, list) and part:
            waiting.append(_Token("]"))
            for left, item in enumerate(reversed(part), 1):
                waiting += (item, _Token("," if left < len(part) else "["))
        else:
            yield encode(part)


def _uuid5_hash(prefix: str) -> Any:
    """Begin the hash of a UUIDv5 in our namespace; RFC 4122 asks for SHA-1."""
    from hashlib import sha1

    return sha1(bytes.fromhex(NAMESPACE.replace("-", "")) + prefix.encode(), usedforsecurity=False)


def _uuid5(digest: bytes) -> str:
    from uuid import UUID

    return str(UUID(bytes=digest[:16], version=5))  # rule: 5.ids.uuid5
