"""Fixture tools that the official MCP conformance suite calls by name; hidden from everybody else."""

from .tools import TOOLS

__all__ = ["TOOLS"]
