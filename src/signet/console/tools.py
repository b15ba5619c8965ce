"""Tools: what is served, under which contract, and how it is called."""

from __future__ import annotations

from .parts import Parts
from .twin import Twin

__all__ = ["twins"]


def twins(parts: Parts) -> tuple[Twin, ...]:  # noqa: ARG001
    """Return the twins of this view."""
    return ()
