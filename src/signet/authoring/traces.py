"""The traceback of a user's code, without the frames of Signet and of Python's import."""

from __future__ import annotations

import asyncio
import contextlib
import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from traceback import TracebackException

__all__ = ["is_own_file", "own_trace", "summary"]

HEAD: Final = "Traceback (most recent call last):\n"
MAX_CHAIN: Final = 10
"""The exceptions of a chain that are shown: each may have been raised from another."""
SIGNET: Final = os.path.dirname(os.path.dirname(__file__)) + os.sep
PYTHON: Final = os.path.dirname(os.path.abspath(contextlib.__file__)) + os.sep
FOREIGN: Final = (SIGNET, "<frozen importlib", PYTHON + "importlib", os.path.dirname(asyncio.__file__) + os.sep)


def own_trace(error: BaseException) -> str:
    """Return the traceback of an exception, and of those that it was raised from, cut to the user's frames."""
    from traceback import TracebackException

    parts: list[str] = []
    one: TracebackException | None = TracebackException.from_exception(error)
    while one is not None and len(parts) < MAX_CHAIN:
        parts.append(_formatted(one))
        one = one.__cause__ or (None if one.__suppress_context__ else one.__context__)
    return "\nThis led to:\n\n".join(reversed(parts))


def summary(error: BaseException) -> str:
    """Return the class and the text of an exception; one whose text cannot be had says so."""
    from traceback import TracebackException

    text = str(TracebackException.from_exception(error))
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _formatted(one: TracebackException) -> str:
    from traceback import StackSummary

    frames = StackSummary.from_list([frame for frame in one.stack if is_own_file(frame.filename)])
    lines = [HEAD, *frames.format()] if frames else []
    return "".join([*lines, *one.format_exception_only()])


def is_own_file(path: str) -> bool:
    """Return whether the code of a file is not Signet's, asyncio's or that of Python's import."""
    return not path.startswith(FOREIGN)
