"""Names for one call: random ones, or ones that follow from what is asked."""

from __future__ import annotations

from functools import partial
from typing import Final

import msgspec

__all__ = ["NAMESPACE", "Ids", "deterministic", "random"]

NAMESPACE: Final = "c1fd1c20-77b7-4f73-b39c-8ed2dd2f2d8c"
"""The UUID5 namespace; with it, equal calls have equal ids on every machine."""

UUID4: Final = b"........-....-4...-a...-............"
"""A random UUID: each dot is a random digit; the rest says version 4, variant 10."""
DOTS: Final = [place for place, sign in enumerate(UUID4) if sign == ord(".")]


class Ids(msgspec.Struct, frozen=True):
    """The three ids of a journal record."""

    request_id: str
    trace_id: str
    span_id: str


def random(count: int) -> list[Ids]:
    """Name calls apart from every other (UUID4); the system is asked for randomness once."""
    from secrets import token_hex

    digits = token_hex(3 * count * len(DOTS) // 2).encode()
    text = bytearray(UUID4 * (3 * count))
    # The same digit of all ids at a time: what grows with their number is not done in Python.
    for number, place in enumerate(DOTS):
        text[place :: len(UUID4)] = digits[number :: len(DOTS)]
    names = text.decode()
    return [
        Ids(names[at : at + 36], names[at + 36 : at + 72], names[at + 72 : at + 108])
        for at in range(0, len(names), 108)
    ]


def deterministic(method: str, route: str, payload: object) -> Ids:
    """Name a call by what it asks, not by when or through which door (UUID5).

    `route` is the logical one (`tool`, `discover`), never a path or a transport.
    """
    # json, not msgspec: the recipe escapes everything beyond ASCII.
    import json
    from uuid import UUID, uuid5

    seed = json.dumps(
        {"method": method, "payload": msgspec.to_builtins(payload), "route": route},
        sort_keys=True,
        separators=(",", ":"),
    )
    name = partial(uuid5, UUID(NAMESPACE))
    return Ids(str(name(f"req:{seed}")), str(name(f"trace:{seed}")), str(name(f"span:{seed}")))
