"""The tool as a built-in toolset has it: a `Tool` over typed arguments, with its contract in a file.

For each kind of own tool in the `own_*` files, the same body written as Signet's own toolsets write theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from bench.peers.plantuml import NAME, VIEWER, Encoded, encode
from signet.kernel.tools import Context, tool
from signet.kernel.toolset import Toolset

__all__ = ["ASYNC", "INLINE", "PLAIN"]

NAMES: Final = {"name": NAME, "slug": "built_in.encode_plant_uml", "title": "Encode a PlantUML diagram"}


class EncodeIn(Struct, frozen=True, rename="camel"):
    """The diagram to encode."""

    plantuml_code: str


def _encoded(text: str) -> Encoded:
    encoded = encode(text)
    return Encoded(url=VIEWER + encoded, encoded=encoded, format="svg")


def quick(args: EncodeIn, _: Context) -> Encoded:
    """Encode PlantUML source text into a URL that shows the diagram."""
    return _encoded(args.plantuml_code)


async def coroutine(args: EncodeIn, _: Context) -> Encoded:
    """Encode PlantUML source text into a URL that shows the diagram."""
    return _encoded(args.plantuml_code)


async def offloaded(args: EncodeIn, context: Context) -> Encoded:
    """Encode PlantUML source text into a URL that shows the diagram."""
    return await context.offload(_encoded, args.plantuml_code)


def _toolset(function: Callable[[Any, Context], Any]) -> Toolset:
    made = tool(**NAMES)(function)
    schemas = str(Path(__file__).parent / "schemas")
    return Toolset(name="built_in", title="Built in", tools=lambda: (made,), schema_root=schemas)


INLINE: Final = _toolset(quick)
ASYNC: Final = _toolset(coroutine)
PLAIN: Final = _toolset(offloaded)
