"""Tests of tools: a pytest plugin, whose fixtures call tools through any door, and what tests import.

def test_add(signet_client):
    assert signet_client.call("add", a=1, b=2) == {"result": 3}

    plugin ── signet_target ── ServedTarget ─┬─ signet_client     one door: here, stdio, mcp, rest, envelope
                                             ├─ signet_cassette   recorded once, replayed from then on
                                             └─ signet_parity     the same calls through every door
"""

from typing import TYPE_CHECKING, Any

__all__ = ["DOORS", "Cassette", "Client", "ToolError", "assert_contract"]

if TYPE_CHECKING:
    from .cassette import Cassette
    from .client import DOORS, Client, ToolError
    from .contract import assert_contract

_PLACES = {
    "DOORS": "client",
    "Cassette": "cassette",
    "Client": "client",
    "ToolError": "client",
    "assert_contract": "contract",
}
"""The module of each public name: pytest loads this package in every run, also where no test uses it."""


def __getattr__(name: str) -> Any:
    """Return a public name, importing what it needs."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    return value


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
