"""The targets by their names, in the order in which they are run; a target is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module

from .target import Target

__all__ = ["NAMES", "find_target"]

PLACES = {
    "wire": ("wire", "TARGET"),
    "prologue": ("prologue", "TARGET"),
    "http": ("http", "TARGET"),
    "envelope": ("envelope", "TARGET"),
    "html": ("html", "TARGET"),
    "bank-json": ("bank", "JSON"),
    "bank-csv": ("bank", "CSV"),
    "plantuml": ("plantuml", "TARGET"),
    "cassette": ("cassette", "TARGET"),
    "tape": ("tape", "TARGET"),
    "journal": ("journal", "TARGET"),
    "lock": ("lock", "TARGET"),
    "openapi": ("openapi", "TARGET"),
    "schema": ("schema", "TARGET"),
    "toml": ("toml", "TARGET"),
}
NAMES = tuple(PLACES)


def find_target(name: str) -> Target:
    """Return the target with this name."""
    module, attribute = PLACES[name]
    target: Target = getattr(import_module(f"fuzz.targets.{module}"), attribute)
    return target
