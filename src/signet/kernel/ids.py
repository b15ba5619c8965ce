"""The ids of a call: random, or derived from the call."""

from __future__ import annotations

from functools import partial
from typing import Final

import msgspec

__all__ = ["NAMESPACE", "Ids", "deterministic", "random"]

NAMESPACE: Final = "c1fd1c20-77b7-4f73-b39c-8ed2dd2f2d8c"
"""The UUIDv5 namespace of derived ids: equal calls have equal ids on every machine."""

UUID4: Final = b"........-....-4...-a...-............  "
"""The pattern of a random UUID: each dot is a random digit; the other digits are version 4 and variant 10.

The blanks separate it from the next; with two of them its length is even, as that of hexadecimal text always is.
"""
FIXED: Final = [(index, UUID4[index : index + 1]) for index in range(len(UUID4)) if UUID4[index] != ord(".")]


class Ids(msgspec.Struct, frozen=True):
    """The three ids of a journal record."""

    request_id: str
    trace_id: str
    span_id: str


def random(count: int) -> list[Ids]:
    """Return random ids (UUIDv4) for so many calls, with one read of the system's randomness."""
    from secrets import token_hex

    text = bytearray(token_hex(3 * count * len(UUID4) // 2).encode())
    # Set one character of all ids at a time: the Python loop does not grow with the number of ids.
    for index, char in FIXED:
        text[index :: len(UUID4)] = char * (3 * count)
    ids = text.decode().split()
    return [*map(Ids, ids[0::3], ids[1::3], ids[2::3])]


def deterministic(method: str, route: str, payload: object) -> Ids:
    """Return ids derived from the call (UUIDv5): equal at any time and through any door.

    `route` is the logical route (`tool`, `discover`), never a path or a transport.
    """
    # json instead of msgspec: the seed must escape everything beyond ASCII.
    import json
    from uuid import UUID, uuid5

    seed = json.dumps(
        {"method": method, "payload": msgspec.to_builtins(payload), "route": route},
        sort_keys=True,
        separators=(",", ":"),
    )
    derive = partial(uuid5, UUID(NAMESPACE))
    return Ids(str(derive(f"req:{seed}")), str(derive(f"trace:{seed}")), str(derive(f"span:{seed}")))
