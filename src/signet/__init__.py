"""Signet serves tools to AI agents under contract."""

__version__ = "0.2.0"
