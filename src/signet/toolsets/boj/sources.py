"""Where figures come from, in words: only the Bank's own host is named as the Bank."""

from __future__ import annotations

from typing import Final

from . import is_public

__all__ = ["CREDIT", "SAMPLE_SOURCE", "SOURCE", "source_of"]

SOURCE: Final = "Bank of Japan, Time-Series Data Search"
"""The source of figures from the Bank's own host."""

SAMPLE_SOURCE: Final = f"sample data in the shape of {SOURCE}"
"""The source of figures from the embedded sandbox."""

CREDIT: Final = (
    "This service uses the API of the Bank of Japan's Time-Series Data Search; "
    "the Bank of Japan does not guarantee its content."
)
"""The notice that the Bank requires of every service that uses its API."""


def source_of(origin: str) -> str:
    """Return the source of figures from an origin."""
    if origin == SAMPLE_SOURCE:
        return SAMPLE_SOURCE
    if is_public(origin):
        return SOURCE
    host = "/".join(origin.split("/")[:3])
    return f"figures from {host}, in the shape of {SOURCE}"
