"""The tools that the present run of pytest tests, for what is no fixture; light, because every run loads it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .servers import ServedTarget

__all__ = ["current_target", "set_current"]

_serving: Final[list[Callable[[], ServedTarget]]] = []


def set_current(serve: Callable[[], ServedTarget] | None) -> None:
    """Say how the tools are found: those of the project, and those of a test that has asked for others."""
    _serving[:] = [] if serve is None else [serve]


def current_target() -> ServedTarget | None:
    """Return the tools, which are served from now on; None outside of pytest.

    Raises:
        UsageError: they cannot be served.
    """
    return _serving[0]() if _serving else None
