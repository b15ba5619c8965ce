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

BLANK: Final = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\u200b\u2060\ufeff"
)
"""White space, and three characters that are none and yet show nothing: a text of these alone says nothing."""


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
    from .html_tidy import strip, tidy

    markup = tidy(html)
    written = "" if markup is None else _converter()(markup)
    return strip(html) if _is_blank(written) else written


@cache
def _converter() -> Callable[[str], str]:
    """Load the converter and set it up."""
    import html_to_markdown as library

    from .escaping import BACKSLASH

    options = library.ConversionOptions(
        autolinks=False,
        bullets="-",
        compact_tables=True,
        extract_metadata=False,
        keep_inline_images_in=["h1", "h2", "h3", "h4", "h5", "h6"],
        tier_strategy=library.TierStrategy.TIER2,
        # These say what is so anyway; left unsaid, they are strings that the library looks up at every call.
        heading_style=library.HeadingStyle.ATX,
        list_indent_type=library.ListIndentType.SPACES,
        highlight_style=library.HighlightStyle.NONE,
        whitespace_mode=library.WhitespaceMode.NORMALIZED,
        newline_style=library.NewlineStyle.SPACES,
        code_block_style=library.CodeBlockStyle.BACKTICKS,
        inline_data_media=library.InlineDataMedia.KEEP,
        hidden_content=library.HiddenContent.DROP,
        url_escape_style=library.UrlEscapeStyle.ANGLE,
        link_style=library.LinkStyle.INLINE,
        output_format=library.OutputFormat.MARKDOWN,
        preprocessing=library.PreprocessingOptions(enabled=False, preset=library.PreprocessingPreset.MINIMAL),
    )

    def converted(markup: str) -> str:
        try:
            written = library.convert(markup, options).content or ""
        except (library.ConversionError, RecursionError):
            return ""
        # A star in strong text of a table cell is escaped a second time.
        return written.replace(f"{BACKSLASH}\\*", "\\*").replace(BACKSLASH, "\\").strip("\n")

    return converted


def _is_blank(text: str) -> bool:
    return not text.strip(BLANK)


def _unicode(text: str) -> str:
    """Replace halves of surrogate pairs, which no encoding can carry."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
