"""`signet boj`: Bank of Japan statistics at the terminal. List databases, download series into a file, draw them.

    series_query ──┬── fetch ── output_files    fetch: page by page onto the disk, then into one file
                   └── chart ── plot            plot: as text, as PNG or SVG

Every page goes through the call pipeline, the tool and its rate-limited upstream.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from signet.toolsets.boj.sources import CREDIT, SAMPLE_SOURCE, SOURCE

__all__ = ["CREDIT", "SAMPLE_SOURCE", "SOURCE"]


def __getattr__(name: str) -> Any:
    """Return a text of the toolset, which is loaded when one is needed: most of a help text needs none."""
    if name not in __all__:
        raise AttributeError(name)
    from signet.toolsets.boj import sources

    return getattr(sources, name)
