"""What every engine offers, the limits under which it draws, and the faults that are not the diagram's text. Pure."""

from __future__ import annotations

from typing import Any, Final, Literal, Protocol

import msgspec

from signet.kernel.errors import Code, Fault

from .picture import DiagramError

__all__ = ["CONTENT_TYPES", "Form", "Limits", "Renderer", "busy", "failed", "too_heavy", "too_large", "too_slow"]

Form = Literal["svg", "png", "txt"]

CONTENT_TYPES: Final[dict[Any, str]] = {
    "svg": "image/svg+xml",
    "png": "image/png",
    "txt": "text/plain; charset=utf-8",
}
MAX_PICTURE_BYTES: Final = 4_194_304
"""The largest picture that is handed on."""


class Limits(msgspec.Struct, frozen=True):
    """What one diagram may use."""

    timeout_s: float
    memory_mb: int
    processes: int
    """The number of diagrams that are drawn at once."""
    idle_s: float = 60.0
    """How long a child without work is kept."""


class Renderer(Protocol):
    """One engine."""

    name: str
    """What people call it."""
    forms: tuple[Form, ...]
    """The formats that it can draw."""
    draws_dark: bool
    """Whether it has dark pictures."""

    async def draw(self, source: str, form: Form, *, dark: bool) -> bytes | DiagramError:
        """Return the picture of a diagram, or what is wrong with it.

        Raises:
            Fault: the diagram used more than its limits, or the engine does not work.
        """

    async def close(self) -> None:
        """End all that the engine has started."""


def too_slow(limits: Limits) -> Fault:
    """Return the fault for a diagram whose time is over."""
    message = f"the diagram was not drawn within {limits.timeout_s:g} s and was stopped: make it smaller"
    return Fault(Code.INVALID_INPUT, message, name="DIAGRAM_TOO_SLOW", status=422)


def too_heavy(limits: Limits) -> Fault:
    """Return the fault for a diagram that has ended its engine."""
    message = f"the diagram ended its engine, most likely by its memory ({limits.memory_mb} MB): make it smaller"
    return Fault(Code.INVALID_INPUT, message, name="DIAGRAM_TOO_LARGE", status=422)


def too_large(form: str, advice: str) -> Fault:
    """Return the fault for a picture that is too large to hand on."""
    message = f"the picture is too large as {form}: {advice}"
    return Fault(Code.INVALID_INPUT, message, name="PICTURE_TOO_LARGE", status=422)


def busy() -> Fault:
    """Return the fault for a diagram that finds too many others waiting."""
    message = "too many diagrams are waiting to be drawn: ask again in a few seconds"
    return Fault(Code.INTERNAL_ERROR, message, name="ENGINE_BUSY", status=503, as_tool_result=True)


def failed(sentence: str) -> Fault:
    """Return the fault of an engine that does not work; the caller is told, and may use another."""
    return Fault(Code.INTERNAL_ERROR, sentence, name="ENGINE_FAILED", status=502, as_tool_result=True)
