"""Online judges: problems, daily challenges and searches, read from one backend (specs 1 and 2)."""

from .tools import TOOLS

__all__ = ["TOOLS"]
