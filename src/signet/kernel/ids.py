"""Names for one call: random ones, or ones that follow from what is asked."""

from __future__ import annotations

from functools import partial
from typing import Final, NamedTuple

import msgspec

__all__ = ["NAMESPACE", "Ids", "deterministic", "random"]

NAMESPACE: Final = "c1fd1c20-77b7-4f73-b39c-8ed2dd2f2d8c"
"""The UUID5 namespace; with it, equal calls have equal ids on every machine."""


class Ids(NamedTuple):
    """The three ids of a journal record."""

    request_id: str
    trace_id: str
    span_id: str


def random() -> Ids:
    """Name a call apart from every other (UUID4)."""
    from uuid import uuid4

    return Ids(str(uuid4()), str(uuid4()), str(uuid4()))


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
