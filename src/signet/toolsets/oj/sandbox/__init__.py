"""The online-judge backend, played over sample problems that were written for this project."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from signet.sandbox.server import Sandbox

from .api import OjSandboxApi, utc_now
from .problem import SOURCES
from .problem_store import ProblemStore

__all__ = ["build"]


def build(token: str | None = None, clock: Callable[[], datetime] = utc_now) -> Sandbox:
    """Put it together; with a token it wants to be asked with it, and the clock says which day is today."""
    shelf = ProblemStore.load()
    ids = {source: [one.id for one in shelf.of(source)] for source in SOURCES}
    return Sandbox("oj", OjSandboxApi(shelf, token, clock), {"plays": "an online-judge backend", "problems": ids})
