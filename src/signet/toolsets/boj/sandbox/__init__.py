"""The Bank of Japan's statistics API, played over sample data: real rows where they are few, the rest made by rule."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from signet.sandbox.server import Sandbox

from .api import BojSandboxApi, japan_now
from .catalogue import RESERVED, Catalogue

__all__ = ["build"]


def build(_: str | None = None, clock: Callable[[], datetime] = japan_now) -> Sandbox:
    """Put it together; the Bank's API knows no token, and the clock says what date answers bear."""
    catalogue = Catalogue()
    about = {
        "plays": "the Bank of Japan's statistics API",
        "databases": {code: english for code, (_, english) in catalogue.names.items()},
        "reserved": RESERVED,
    }
    return Sandbox("boj", BojSandboxApi(catalogue, clock), about)
