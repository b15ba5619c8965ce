"""Markdown as HTML for the console: none of its author's HTML, no address but http(s), no picture from elsewhere.

    Markdown ── markdown-it, with rules for formulas ── HTML
             └─ more work than the budget has ── the text as it is, with a note

What a text costs is bounded by its budget, and so is the length of the page; `views` bounds the length of the text.
Both libraries are loaded when the first text is rendered.
"""

from __future__ import annotations

import re
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any, Final

from .text_budget import MAX_HTML_CHARS, TooMuchError, budget_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_core import StateCore
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

__all__ = ["to_html"]

MAX_NESTING: Final = 20
"""The depth of lists, quotes and emphasis; beyond it the text is shown as it is."""
MAX_ADDRESS_CHARS: Final = 2_000
MAX_COLUMNS: Final = 60
"""The columns of a table; a wider one is no table."""
LINE_STEPS: Final = 2
"""The steps of a line at which the rules for blocks are tried."""
TOKENS_PER_STEP: Final = 3
"""The tokens of a table that are as much work as one step."""
NOTE: Final = "This text is too intricate to be shown as a page. This is the text as it is."
ADDRESS: Final = re.compile(r"\bhttps?://[^\s<>\"'`|\\^{}\[\]]{1,2000}", re.IGNORECASE)
"""An address that stands in a text by itself."""
ENDING: Final = ".,;:!?*_~"
"""The characters that end a sentence, and not the address before them; so may a parenthesis."""
LINK: Final = {"rel": "noopener noreferrer nofollow", "target": "_blank", "referrerpolicy": "no-referrer"}


def to_html(text: str) -> str:
    """Return a text as HTML; one that would cost too much is shown as it is."""
    try:
        html: str = _renderer().render(text, {})
        if len(html) <= MAX_HTML_CHARS:
            return html
    except TooMuchError:
        pass
    return f"<p><em>{NOTE}</em></p>\n<pre>{escape(text)}</pre>\n"


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
    renderer.core.ruler.push("addresses", _link_addresses)
    renderer.inline.ruler.before("text", "budget", _count_inline)
    renderer.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
    renderer.block.ruler.before(
        "table", "budget", _count_block, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )
    return renderer


def _count_inline(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - the library calls it so
    """Count a place in a line at which the other rules are tried; find nothing."""
    del silent
    budget_of(state.env).spend(1)
    return False


def _count_block(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:  # noqa: FBT001 - as above
    """Count a line at which the other rules are tried; find nothing."""
    del start_line, end_line, silent
    budget_of(state.env).spend(LINE_STEPS)
    return False


def _table(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:  # noqa: FBT001 - as above
    """Read a table that is not too wide; count its cells."""
    from markdown_it.rules_block import table

    begin, end = state.bMarks[start_line], state.eMarks[start_line]
    if not 0 < state.src.count("|", begin, end) <= MAX_COLUMNS + 1:
        return False
    before = len(state.tokens)
    is_table = table(state, start_line, end_line, silent)
    budget_of(state.env).spend((len(state.tokens) - before) // TOKENS_PER_STEP)
    return is_table


def _is_web(address: str) -> bool:
    return len(address) <= MAX_ADDRESS_CHARS and address.lower().startswith(("http://", "https://"))


def _link_addresses(state: StateCore) -> None:
    """Make links of the addresses that stand in texts by themselves, unless they are in a link or in code."""
    for block in state.tokens:
        if block.type != "inline" or block.children is None or "://" not in block.content:
            continue
        shown: list[Token] = []
        depth = 0
        for token in block.children:
            depth += {"link_open": 1, "link_close": -1}.get(token.type, 0)
            shown += _split_at_addresses(token, state) if token.type == "text" and not depth else [token]
        block.children = shown


def _split_at_addresses(token: Token, state: StateCore) -> Iterator[Token]:
    """Yield a text in parts: a link for each address, and what is between them."""
    text, at = token.content, 0
    for found in ADDRESS.finditer(text):
        address = _without_ending(found[0])
        target = state.md.normalizeLink(address)
        if not state.md.validateLink(target):
            continue
        budget_of(state.env).spend(TOKENS_PER_STEP)
        yield _text_token(token, text[at : found.start()])
        opening = type(token)("link_open", "a", 1, attrs={"href": target}, level=token.level)
        yield from (opening, _text_token(token, address), type(token)("link_close", "a", -1, level=token.level))
        at = found.start() + len(address)
    yield _text_token(token, text[at:])


def _without_ending(address: str) -> str:
    """Return an address without the characters that end the sentence around it."""
    unopened = address.count(")") - address.count("(")
    address = address.rstrip(ENDING)
    while unopened > 0 and address.endswith(")"):
        address = address[:-1].rstrip(ENDING)
        unopened -= 1
    return address


def _text_token(like: Token, content: str) -> Token:
    return type(like)("text", "", 0, content=content, level=like.level)


def _open_link(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    token = tokens[index]
    for name, value in LINK.items():
        token.attrSet(name, value)
    shown: str = self.renderToken(tokens, index, options, env)
    budget_of(env).write(shown)
    return shown


def _image(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    """Show a picture as a link: no request may leave for another server."""
    token = tokens[index]
    alt = self.renderInlineAsText(token.children, options, env) or "picture"
    address = str(token.attrs.get("src", ""))
    if not _is_web(address):
        return escape(alt)
    more = "".join(f' {name}="{value}"' for name, value in LINK.items())
    shown = f'<a href="{escape(address)}"{more}>{escape(alt)}</a>'
    budget_of(env).write(shown)
    return shown
