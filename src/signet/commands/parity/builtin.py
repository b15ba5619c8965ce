"""The built-in corpus: the calls of every toolset, and calls that need none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from signet.catalogue import find_toolset
from signet.kernel.toolset import CorpusRow

from .corpus import CorpusCall

__all__ = ["built_in"]

ANY: Final[tuple[CorpusRow, ...]] = (
    ("a tool that nobody has", "nobody", {"x": 1}),
    ("a tool that nobody has, beyond ASCII", "nobody", {"x": "ない", "y": [True, None, 1.5]}),
)


def built_in(toolsets: Iterable[str]) -> list[CorpusCall]:
    """Return the calls of some toolsets, and the calls for which no toolset is needed."""
    rows = [row for name in toolsets for row in find_toolset(name).corpus()]
    return [_call(*row) for row in (*rows, *ANY)]


def _call(name: str, tool: str, arguments: Mapping[str, Any], faults: Sequence[Mapping[str, Any]] = ()) -> CorpusCall:
    return CorpusCall(name, tool, arguments=dict(arguments), order=tuple(map(dict, faults)))
