"""The diagram editor: the engine's files, and drawings of the server where the page cannot draw."""

from __future__ import annotations

from typing import Final

from .parts import Parts
from .twin import Twin

__all__ = ["POLICIES", "twins"]

POLICIES: Final[dict[str, bytes]] = {}
"""The content security policies of the files in which the engine runs, and of no others."""


def twins(parts: Parts) -> tuple[Twin, ...]:  # noqa: ARG001
    """Return the twins of this view."""
    return ()
