"""Embedded upstreams on loopback, with sample data written for this project and faults to order."""

from .hosting import build, run, start_in_thread

__all__ = ["build", "run", "start_in_thread"]
