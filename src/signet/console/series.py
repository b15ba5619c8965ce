"""Results that are time series, as charts take them: points of milliseconds and numbers, with gaps as null.

    result ── boj_series | dated_rows ──▶ ViewedSeries … ── bounds ──▶ SeriesView

Pure and linear. The Bank of Japan's results are known by their tools; others only where they cannot be anything else.
"""

from __future__ import annotations

import math
from datetime import date
from typing import Any, Final

from .twin import Shown

__all__ = ["DAY_MS", "MAX_POINTS", "MAX_SERIES", "SeriesView", "ViewedSeries", "day_ms", "drawable"]

MAX_POINTS: Final = 200_000
"""The most points of one view."""
MAX_SERIES: Final = 24
"""The most series of one view: as many as can be told apart."""
MAX_SIZE: Final = 1e300
"""The limit of a value: beyond it, the margin around a curve would not fit into a double."""
DAY_MS: Final = 86_400_000
EPOCH: Final = date(1970, 1, 1).toordinal()

SeriesPoint = tuple[int, float | None]
"""The start of a period in milliseconds since 1970 (UTC), and its value; null where there is none."""


class ViewedSeries(Shown, frozen=True):
    """One series of a chart."""

    name: str
    points: list[SeriesPoint]
    code: str = ""
    unit: str = ""
    frequency: str = ""
    """CY, FY, CH, FH, Q, M, W or D, as the Bank of Japan has them; empty where it is not known."""


class SeriesView(Shown, frozen=True, tag_field="kind", tag="series"):
    """A result as a chart."""

    title: str
    series: list[ViewedSeries]
    note: str = ""
    """What is not drawn, and why."""


def day_ms(day: date) -> int:
    """Return the start of a day in milliseconds since 1970."""
    return (day.toordinal() - EPOCH) * DAY_MS


def drawable(value: Any) -> float | None:
    """Return a number as a double that a chart can draw, or None."""
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) and abs(number) <= MAX_SIZE else None
