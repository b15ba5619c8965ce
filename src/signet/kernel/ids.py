"""Names for one call: random ones, or ones that follow from what is asked."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final, NamedTuple

import msgspec

__all__ = ["NAMESPACE", "Ids", "deterministic", "random", "random_batch"]

NAMESPACE: Final = "c1fd1c20-77b7-4f73-b39c-8ed2dd2f2d8c"
"""The UUID5 namespace; with it, equal calls have equal ids on every machine."""


class Ids(NamedTuple):
    """The three ids of a journal record."""

    request_id: str
    trace_id: str
    span_id: str


def random() -> Ids:
    """Name a call apart from every other (UUID4)."""
    return next(random_batch(1))


def random_batch(count: int) -> Iterator[Ids]:
    """Name many calls apart from every other; the system is asked for randomness once."""
    from secrets import token_hex

    digits = token_hex(48 * count)
    for at in range(0, len(digits), 96):
        yield Ids(_uuid4(digits, at), _uuid4(digits, at + 32), _uuid4(digits, at + 64))


def _uuid4(digits: str, at: int) -> str:
    """Write 32 random digits as a UUID4: version 4, variant 10."""
    return (
        f"{digits[at : at + 8]}-{digits[at + 8 : at + 12]}-4{digits[at + 13 : at + 16]}"
        f"-a{digits[at + 17 : at + 20]}-{digits[at + 20 : at + 32]}"
    )


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
