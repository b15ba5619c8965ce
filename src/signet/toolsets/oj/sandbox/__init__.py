"""The online-judge backend on loopback, with sample problems written for this project."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from signet.sandbox.server import Sandbox

from .api import OjSandboxApi, utc_now
from .problem_store import SOURCES, ProblemStore

__all__ = ["build"]


def build(token: str | None = None, clock: Callable[[], datetime] = utc_now) -> Sandbox:
    """Build the sandbox; with a token it requires this bearer token, and `clock` decides which day is today."""
    store = ProblemStore.load()
    ids = {source: [problem.id for problem in store.of(source)] for source in SOURCES}
    return Sandbox("oj", OjSandboxApi(store, token, clock), {"plays": "an online-judge backend", "problems": ids})
