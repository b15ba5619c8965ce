"""`signet boj`: Bank of Japan statistics at the terminal. List databases, download series into a file, draw them.

    series_query ──┬── fetch ── output_files    fetch: page by page onto the disk, then into one file
                   └── chart ── plot            plot: as text, as PNG or SVG

Every page goes through the call pipeline, the tool and its rate-limited upstream.
"""

from typing import Final

__all__ = ["CREDIT", "SAMPLE_SOURCE", "SOURCE"]

SOURCE: Final = "Bank of Japan, Time-Series Data Search"
"""The source of figures from the Bank's own host."""

SAMPLE_SOURCE: Final = f"sample data in the shape of {SOURCE}"
"""The source of figures from the embedded sandbox."""

CREDIT: Final = (
    "This service uses the API of the Bank of Japan's Time-Series Data Search; "
    "the Bank of Japan does not guarantee its content."
)
"""The notice that the Bank requires of every service that uses its API."""
