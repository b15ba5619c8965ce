"""A problem's statement as Markdown, whatever the judge stores: HTML, Markdown, or Markdown with tags in it.

    content ──markdown.translate──▶ Markdown as it is, inline tags translated
                      └─ HTML ──▶ markup.tidy ──▶ html-to-markdown ──▶ Markdown
                                      └─ too much, or nothing came ──▶ markup.strip ──▶ plain text

Pure and synchronous, in bounded time; it never raises. All that costs time to load is loaded at first need.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

__all__ = ["NO_DESCRIPTION", "to_markdown"]

NO_DESCRIPTION: Final = "No description available."
"""What stands for a statement that is not there."""

INVISIBLE: Final = "\u200b\u2060\ufeff"
"""Characters that are no white space and yet show nothing."""


def to_markdown(content: str | None) -> str:
    """Give a statement as Markdown; Markdown without tags is given back as it is."""
    text = _unicode(content or "")
    if _is_blank(text):
        return NO_DESCRIPTION
    if "<" not in text:
        return text
    from .markdown import translate

    written = translate(text, _from_html)
    return NO_DESCRIPTION if _is_blank(written) else written


def _from_html(html: str) -> str:
    """Convert HTML; what cannot be converted loses its tags instead."""
    from .markup import strip, tidy

    markup = tidy(html)
    written = "" if markup is None else _converter()(markup)
    return strip(html) if _is_blank(written) else written


@cache
def _converter() -> Callable[[str], str]:
    """Load the converter and set it up."""
    from html_to_markdown import ConversionError, ConversionOptions, PreprocessingOptions, convert

    from .signs import BACKSLASH

    options = ConversionOptions(
        autolinks=False,
        bullets="-",
        compact_tables=True,
        extract_metadata=False,
        preprocessing=PreprocessingOptions(enabled=False),
        tier_strategy="tier2",
    )

    def converted(markup: str) -> str:
        try:
            written = convert(markup, options).content or ""
        except (ConversionError, RecursionError):
            return ""
        return written.replace(BACKSLASH, "\\").strip("\n")

    return converted


def _is_blank(text: str) -> bool:
    return not text.strip().strip(INVISIBLE).strip()


def _unicode(text: str) -> str:
    """Replace halves of surrogate pairs, which no encoding can carry."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
