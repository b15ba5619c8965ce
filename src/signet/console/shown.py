"""The base of all that twins take and answer."""

from __future__ import annotations

import msgspec

__all__ = ["Shown"]


class Shown(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The base of all that twins take and answer: fields are written in camel case."""
