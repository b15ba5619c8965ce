"""Contracts: what changed between two contract sets."""

from __future__ import annotations

from .parts import Parts
from .twin import Twin

__all__ = ["twins"]


def twins(parts: Parts) -> tuple[Twin, ...]:  # noqa: ARG001
    """Return the twins of this view."""
    return ()
