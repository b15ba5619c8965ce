"""Markdown as HTML for the console: none of its author's HTML, no address but http(s), no picture from elsewhere.

    Markdown ── formulas set aside ── markdown-it ── HTML ── formulas as MathML in their places

The work is linear in the text; `views` bounds its length. Both libraries are loaded when the first text is rendered.
"""

from __future__ import annotations

from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it import MarkdownIt
    from markdown_it.token import Token

__all__ = ["to_html"]

MAX_NESTING: Final = 20
"""The depth of lists, quotes and emphasis; beyond it the text is shown as it is."""
LINK: Final = {"rel": "noopener noreferrer nofollow", "target": "_blank", "referrerpolicy": "no-referrer"}


def to_html(text: str) -> str:
    """Return a text as HTML."""
    html: str = _renderer().render(text)
    return html


@cache
def _renderer() -> MarkdownIt:
    from markdown_it import MarkdownIt

    from .formulas import formula_rules

    options = {"html": False, "linkify": False, "maxNesting": MAX_NESTING}
    renderer = MarkdownIt("commonmark", options).enable(["table", "strikethrough"])
    renderer.validateLink = _is_web  # type: ignore[method-assign,assignment]
    renderer.add_render_rule("link_open", _open_link)
    renderer.add_render_rule("image", _image)
    formula_rules(renderer)
    return renderer


def _is_web(address: str) -> bool:
    return address.lower().startswith(("http://", "https://"))


def _open_link(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    token = tokens[index]
    for name, value in LINK.items():
        token.attrSet(name, value)
    shown: str = self.renderToken(tokens, index, options, env)
    return shown


def _image(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    """Show a picture as a link: no request may leave for another server."""
    token = tokens[index]
    alt = self.renderInlineAsText(token.children, options, env) or "picture"
    address = str(token.attrs.get("src", ""))
    if not _is_web(address):
        return escape(alt)
    more = "".join(f' {name}="{value}"' for name, value in LINK.items())
    return f'<a href="{escape(address)}"{more}>{escape(alt)}</a>'
