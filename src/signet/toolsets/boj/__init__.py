"""Statistics of the Bank of Japan: observations and lists of series, read from its public API (spec 3)."""

from .retry import Retry
from .tools import TOOLS

__all__ = ["TOOLS", "Retry"]
