r"""Formulas in Markdown as MathML, which browsers draw themselves.

    $…$  $$$…$$$  \(…\)        within a line
    $$…$$  \[…\]              on lines of their own

What the converter writes is taken apart and written anew: only elements and attributes of a list come through, so that
no formula brings a link, a handler or a script. A formula that cannot be read is shown as it was written. The search
for the end of a formula is counted in the text's budget.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING, Any, Final

from .text_budget import budget_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from xml.etree.ElementTree import Element

    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

__all__ = ["formula_rules", "to_mathml"]

MAX_CHARS: Final = 2_000
"""The longest formula; a delimiter without an end is looked for so far, and no further."""
MAX_LINES: Final = 100
MAX_FORMULAS: Final = 3_000
MAX_ALL_CHARS: Final = 40_000
"""What one text may hold of formulas; what is beyond is shown as it was written."""
MAX_TRIES: Final = 8
"""The ends that are tried for one dollar sign, which may as well be money."""
MAX_DEPTH: Final = 60
DELIMITERS: Final = (("$$$", "$$$", False), ("$$", "$$", True), ("\\(", "\\)", False), ("\\[", "\\]", True))
"""Beginning, end, and whether the formula has a line of its own; a single dollar sign has rules of its own."""
STARTS: Final = frozenset("$\\")
SEARCH_STEPS: Final = 2
"""What the search for an end within a line costs."""

ELEMENTS: Final = frozenset(
    {"math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "ms", "msup", "msub", "msubsup", "mover", "munder",
     "munderover", "mfrac", "msqrt", "mroot", "mtable", "mtr", "mtd", "mstyle", "mpadded", "mphantom", "menclose",
     "mmultiscripts", "mprescripts", "none"}
)  # fmt: skip
ATTRIBUTES: Final = frozenset(
    {"display", "displaystyle", "scriptlevel", "mathvariant", "stretchy", "fence", "form", "separator", "lspace",
     "rspace", "minsize", "maxsize", "movablelimits", "accent", "accentunder", "linethickness", "columnalign",
     "rowalign", "columnspacing", "rowspacing", "columnlines", "rowlines", "width", "height", "depth", "voffset",
     "notation", "largeop", "symmetric"}
)  # fmt: skip
VALUE: Final = re.compile(r"[\w .,%+-]{0,60}")
NAMESPACE: Final = "{http://www.w3.org/1998/Math/MathML}"
UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]"
)
"""Characters that nobody writes in a formula: they make one text look like another."""


def formula_rules(renderer: MarkdownIt) -> None:
    """Teach a renderer of Markdown to read and draw formulas."""
    renderer.inline.ruler.before("escape", "formula", _inline)
    renderer.block.ruler.before("fence", "formula_block", _block, {"alt": ["paragraph", "blockquote", "list"]})
    renderer.add_render_rule("formula", _render)


def _inline(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - the library calls it so
    if state.src[state.pos] not in STARTS:
        return False
    budget_of(state.env).spend(SEARCH_STEPS)
    found = _at(state.src, state.pos, state.posMax)
    if found is None:
        return False
    content, end, is_display = found
    if not silent:
        _push(state, content, state.src[state.pos : end], is_display=is_display)
    state.pos = end
    return True


def _at(text: str, start: int, limit: int) -> tuple[str, int, bool] | None:
    """Return the formula that begins at a place, its end, and whether it has a line of its own."""
    for opening, closing, is_display in DELIMITERS:
        if text.startswith(opening, start):
            begin = start + len(opening)
            end = text.find(closing, begin, min(limit, begin + MAX_CHARS))
            is_longer_run = opening == "$$$" and text.startswith("$", begin)
            return (text[begin:end], end + len(closing), is_display) if end > begin and not is_longer_run else None
    return _dollars(text, start, limit) if text.startswith("$", start) else None


def _dollars(text: str, start: int, limit: int) -> tuple[str, int, bool] | None:
    """Return the formula between two single dollar signs: not the prices in `$5 or $6`."""
    begin = end = start + 1
    for _ in range(MAX_TRIES):
        end = text.find("$", end, min(limit, begin + MAX_CHARS))
        if end <= begin or text.startswith("$$", end):
            return None
        content, behind = text[begin:end], text[end + 1 : end + 2]
        is_even = content[0].isspace() == content[-1].isspace() and content.strip()
        if content[-1] != "\\" and is_even and not behind.isdigit():
            return content, end + 1, False
        end += 1
    return None


def _block(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:  # noqa: FBT001 - as above
    """Read a formula whose `$$` begins a line and whose end ends one."""
    if state.is_code_block(start_line):
        return False
    start = state.bMarks[start_line] + state.tShift[start_line]
    if not state.src.startswith("$$", start) or state.src.startswith("$$$", start):
        return False
    last = next(_ends(state, start_line, end_line, start), None)
    if last is None:
        return False
    if not silent:
        whole = state.src[start : state.eMarks[last]].strip()
        _push(state, whole[2:-2], whole, is_display=True)
        state.line = last + 1
    return True


def _ends(state: StateBlock, start_line: int, end_line: int, start: int) -> Iterator[int]:
    """Yield the lines that end a formula which begins at a place."""
    budget = budget_of(state.env)
    for line in range(start_line, min(end_line, start_line + MAX_LINES)):
        budget.spend(1)
        if state.isEmpty(line) or state.eMarks[line] - start > MAX_CHARS:
            return
        text = state.src[state.bMarks[line] : state.eMarks[line]].strip()
        if text.endswith("$$") and (line > start_line or len(text) > len("$$$$")) and "$$" not in text[2:-2]:
            yield line


def _push(state: Any, content: str, written: str, *, is_display: bool) -> None:
    token = state.push("formula", "math", 0)
    token.content, token.markup, token.block = content, written, is_display
    token.meta = {"is_display": is_display}


def _render(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    del self, options
    token = tokens[index]
    count, chars = env.get("formulas", (0, 0))
    env["formulas"] = count + 1, chars + len(token.content)
    drawn = None
    if count < MAX_FORMULAS and chars + len(token.content) <= MAX_ALL_CHARS:
        drawn = to_mathml(token.content, is_display=token.meta["is_display"])
    drawn = drawn or f'<code class="formula">{escape(token.markup)}</code>'
    budget_of(env).write(drawn)
    return drawn


@lru_cache(maxsize=1_000)
def to_mathml(formula: str, *, is_display: bool) -> str | None:
    """Return a formula of TeX as MathML, or None if it cannot be drawn."""
    from xml.etree.ElementTree import fromstring

    from latex2mathml.converter import convert

    if UNSEEN.search(formula):
        return None
    try:
        root = fromstring(convert(formula.strip(), display="block" if is_display else "inline"))  # noqa: S314 - ours
        return "".join(_written(root, 0))
    except Exception:  # noqa: BLE001 - the converter raises what its parts raise
        return None


def _written(element: Element, depth: int) -> Iterator[str]:
    """Yield an element anew, with what the lists allow; raise ValueError for one that they do not know."""
    name = element.tag.removeprefix(NAMESPACE)
    if name not in ELEMENTS or depth > MAX_DEPTH:
        raise ValueError(f"a formula has no {name[:50]}")
    kept = [
        f' {key}="{escape(value)}"'
        for key, value in element.attrib.items()
        if key in ATTRIBUTES and VALUE.fullmatch(value)
    ]
    yield f"<{name}{''.join(kept)}>{escape(element.text or '', quote=False)}"
    for child in element:
        yield from _written(child, depth + 1)
    yield f"</{name}>"
