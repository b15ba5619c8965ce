"""Signet serves tools to AI agents under contract.

import signet

@signet.tool
def add(a: int, b: int = 0) -> int:
    '''Add two integers.'''
    return a + b
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"
__all__ = ["Code", "Context", "Fault", "Toolset", "Upstream", "__version__", "run", "setting", "tool"]

if TYPE_CHECKING:
    from signet.authoring.declaration import ToolsetDeclaration as Toolset
    from signet.authoring.declaration import tool
    from signet.authoring.services import Service as Upstream
    from signet.commands.script import run
    from signet.kernel.errors import Code, Fault
    from signet.kernel.tools import Context
    from signet.settings.fields import setting

_PLACES = {
    "Code": ("kernel.errors", "Code"),
    "Context": ("kernel.tools", "Context"),
    "Fault": ("kernel.errors", "Fault"),
    "Toolset": ("authoring.declaration", "ToolsetDeclaration"),
    "Upstream": ("authoring.services", "Service"),
    "run": ("commands.script", "run"),
    "setting": ("settings.fields", "setting"),
    "tool": ("authoring.declaration", "tool"),
}
"""Where each public name is defined: it is imported when it is first used."""


def __getattr__(name: str) -> Any:
    """Return a public name, importing what it needs."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _PLACES[name]
    value = globals()[name] = getattr(import_module(f"{__name__}.{module}"), attribute)
    return value


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
