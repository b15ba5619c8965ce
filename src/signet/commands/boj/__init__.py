"""Statistics of the Bank of Japan for people at a terminal: find a database, fetch series into a file, draw them.

    question ── pages ──┬── part ── files          fetch: page by page onto the disk, then into one file
                        └── curves ──┬── canvas    plot: as text
                                     └── picture         as PNG or SVG

Every page walks the one road: the pipeline, the tool and its polite upstream.
"""

from typing import Final

__all__ = ["CREDIT", "SAMPLE_SOURCE", "SOURCE"]

SOURCE: Final = "Bank of Japan, Time-Series Data Search"
"""Whose figures they are."""

SAMPLE_SOURCE: Final = f"sample data in the shape of {SOURCE}"
"""The same, of the embedded upstream."""

CREDIT: Final = (
    "This service uses the API of the Bank of Japan's Time-Series Data Search; "
    "the Bank of Japan does not guarantee its content."
)
"""What the Bank asks every service over its API to show."""
