"""Markdown that may hold tags: tell it from HTML, and change it only where a tag stands.

    text ──code_and_math──▶ protected spans, in which tags do not count
         ──_islands───────▶ block elements from tag to tag; the gaps between them tell Markdown from HTML
         ──indented_code──▶ in Markdown, code that only its indentation shows: more protected spans, fewer islands

Long Markdown is translated in windows, until there is enough of it. Pure, and linear in the text's length.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import islice, zip_longest
from typing import Final

from .blocks import MAX_MARKDOWN_CHARS, from_html
from .html import BLOCKS, NAMES, RAW, TAGS, decode
from .inline import InlineWriter
from .protected_spans import MAX_PLACES, TAG, Span, Tag, block_tags, code_and_math, indented_code, is_within

__all__ = ["convert"]

MAX_DEPTH: Final = 3
"""How deep Markdown is looked for in elements of Markdown; each level reads the text once more."""

WINDOW_CHARS: Final = 65_536
"""The Markdown that is translated at once: a hostile text takes 2 µs per character, part of it in steps that no other
thread can interrupt."""

MAX_WINDOW_ENDS: Final = 100
"""The empty lines at which a window may end that are looked at."""

MAX_ISLANDS: Final = 200
"""With more block elements than this between its lines, a text is HTML: each is converted by itself."""

_INVISIBLE_TAGS: Final = re.compile(r"(?:</?(?:span|font|u|small|big)(?=[\s>])[^<>]*+>|(?!)){0,4}+")
_LINE_MARKER: Final = re.compile(r"^ {0,3}(?:#{1,6}[ \t]|[-*+][ \t]|\d{1,9}[.)][ \t]|>|```|~~~|\|)", re.MULTILINE)
_INLINE_MARKS: Final = re.compile(r"\*\*\S|`[^`\n]+`|\]\(")
"""Emphasis, code, a link."""

_PROSE_MARKS: Final = re.compile(rf"{_INLINE_MARKS.pattern}|\$|\S[ \t\r]*\n[ \t\r]*\n\s*\S")
"""The same, math, and two paragraphs."""

_PARAGRAPH_END: Final = re.compile(r"\n[ \t\r]*\n")
_ESCAPED_CHARACTER: Final = re.compile(r"\\([!-/:-@\[-`{-~])")
_END_OPTIONAL: Final = frozenset({"p", "li", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot"})
_DETAILS: Final = re.compile(r"<details(?=[\s/>])[^<>]*+>", re.IGNORECASE)
_SUMMARY_END: Final = re.compile(r"</summary\s*>", re.IGNORECASE)
_ENDED: Final = frozenset(name for name, tag in TAGS.items() if tag in {"strong", "em", "del", "code", "sup", "sub"})
"""The elements that mean nothing without an end tag."""
_END_NAME: Final = re.compile(r"</([a-zA-Z][a-zA-Z0-9]*+)")
_WITHOUT_END: Final = frozenset({"br", "img", "col", "colgroup", "embed", "head", "input", "link", "meta", "optgroup",
    "option", "rp", "rt", "source", "track", "wbr"})  # fmt: skip
_NEED_END: Final = NAMES - BLOCKS - _ENDED - _WITHOUT_END
"""The elements that would vanish without a trace, such as the `u` in `if x<u>y`: they are text where they never end."""
_TRANSPARENT: Final = frozenset({"article", "aside", "center", "details", "div", "figure", "main", "section"})
"""Elements in which Markdown goes on."""


def convert(text: str) -> str:
    """Return a text with tags as Markdown; of a long text its beginning, which is longer than any result."""
    if len(text) <= WINDOW_CHARS:
        return translate(text)
    if _is_html(text[:WINDOW_CHARS]):
        return from_html(text)
    parts: list[str] = []
    chars = 0
    while text and chars <= MAX_MARKDOWN_CHARS:
        window = _first_window(text)
        text = text[len(window) :]
        markdown = translate(window, is_markdown=True)
        parts.append(markdown.rstrip("\n") + "\n\n" if text and window.endswith("\n\n") else markdown)
        chars += len(markdown)
    return "".join(parts)


def _first_window(text: str) -> str:
    """Return the first window of a text: it ends with an empty line, else behind an element, and never within a tag."""
    window = text[:WINDOW_CHARS]
    if len(window) == len(text):
        return window
    closed = code_and_math(window)
    closed = sorted([*closed, *_islands(window, closed)])
    place = len(window)
    for _ in range(MAX_WINDOW_ENDS):
        place = window.rfind("\n\n", WINDOW_CHARS // 2, place)
        if place < 0:
            break
        if not is_within(closed, place):
            return window[: place + 2]
    tag = window.rfind("<")
    window = window[:tag] if tag > max(window.rfind(">"), 0) else window
    end_tag = window.rfind("</", WINDOW_CHARS // 2)
    return window[: window.find(">", end_tag) + 1 if end_tag > 0 else 0] or window


def translate(text: str, depth: int = 0, *, is_markdown: bool = False) -> str:
    """Return Markdown with its tags translated and all else untouched; convert the text as a whole if it is HTML.

    `is_markdown` is whether this is known: a part of Markdown may look like HTML.
    """
    protected = code_and_math(text)
    if all(map(_is_escaped, _tags(text, protected))):
        return text
    islands = list(_islands(text, protected))
    is_markdown = is_markdown or _is_markdown(text, protected, islands)
    if depth >= MAX_DEPTH or len(islands) > MAX_ISLANDS or not is_markdown:
        return from_html(text)
    code = [] if depth else list(indented_code(text, protected, islands))
    if code:
        protected = code_and_math(text, code)
        islands = list(_islands(text, protected))
    tags = list(islice(_tags(text, protected), MAX_PLACES))
    if len(tags) == MAX_PLACES:
        return from_html(text)
    return _without_new_tags(
        _joined(
            (_translated_gap(text, *gap, tags) for gap in _gaps(text, islands)),
            (_translated_island(text[start:end], depth) for start, end in islands),
        )
    )


def _is_html(text: str) -> bool:
    """Return whether the beginning of a long text is converted as a whole."""
    protected = code_and_math(text)
    islands = list(islice(_islands(text, protected), MAX_ISLANDS + 1))
    if all(map(_is_escaped, _tags(text, protected))):
        return False
    return len(islands) > MAX_ISLANDS or not _is_markdown(text, protected, islands)


def _without_new_tags(text: str) -> str:
    """Escape the elements that vanish: where a tag was left out, what stood around it may have become another."""
    if not any(tag[2].lower() in RAW for tag in TAG.finditer(text)):
        return text
    protected = code_and_math(text)
    protected = code_and_math(text, list(indented_code(text, protected, ())))

    def escaped(tag: Tag) -> str:
        is_new = tag[2].lower() in RAW and not is_within(protected, tag.start()) and not _is_escaped(tag)
        return f"\\{tag[0]}" if is_new else tag[0]

    return TAG.sub(escaped, text)


def _gaps(text: str, islands: Sequence[Span]) -> list[Span]:
    return list(zip([0, *(end for _, end in islands)], [*(start for start, _ in islands), len(text)], strict=True))


def _is_markdown(text: str, protected: Sequence[Span], islands: Sequence[Span]) -> bool:
    """Return True if there is Markdown between the block elements or in a `details`, which people write around it.

    Without block elements, paragraphs or math are enough, or that no tag ends: `print a<b>c` has no element.
    """
    has_blocks = bool(islands) or any(not is_within(protected, tag.start()) for tag in block_tags(text))
    marks = _INLINE_MARKS if has_blocks else _PROSE_MARKS
    if any(
        _LINE_MARKER.search(text, start, end) or marks.search(text, start, end)
        for start, end in _gaps(text, islands)
        if text[start:end].strip()
    ):
        return True
    if has_blocks:
        return any(_LINE_MARKER.search(text, *_inside(text, *island)) for island in islands)
    return all(not tag[1] and tag[2].lower() in _ENDED for tag in _tags(text, protected))


def _inside(text: str, start: int, end: int) -> Span:
    """Return the inside of a `details` that holds no other block than its summary; an empty span for any other."""
    if not _DETAILS.match(text, start, end):
        return start, start
    summary = _SUMMARY_END.search(text, start, end)
    first = summary.end() if summary else text.index(">", start) + 1
    last = max(text.rfind("</", first, end), first)
    return (first, last) if next(block_tags(text, first, last), None) is None else (start, start)


def _tags(text: str, protected: Sequence[Span]) -> Iterator[Tag]:
    """Yield the tags outside of protected spans."""
    ended = cache(lambda: frozenset(name[1].lower() for name in _END_NAME.finditer(text)))
    for tag in TAG.finditer(text):
        slash, name, attrs = tag[1], tag[2].lower(), tag[3]
        is_text = name in _NEED_END and not (slash or attrs.strip()) and name not in ended()
        if name in NAMES and not is_text and not is_within(protected, tag.start()):
            yield tag


def _is_escaped(tag: Tag) -> bool:
    return tag.string[tag.start() - 1 : tag.start()] == "\\"


def _islands(text: str, protected: Sequence[Span]) -> Iterator[Span]:
    """Yield the outermost block elements from start tag to end tag.

    An element that never ends is not an island, but if others end behind it, it reaches to the end of the text.
    """
    position, unended = 0, {"hr"}
    while (tag := next(block_tags(text, position), None)) is not None:
        position, name = tag.end(), tag[2].lower()
        if tag[1] or name in unended or is_within(protected, tag.start()):
            continue
        end = _end(text, name, position)
        if end is None:
            unended.add(name)
            if name in _END_OPTIONAL or not any(later[1] for later in block_tags(text, position)):
                continue
            end = len(text)
        yield tag.start(), end
        position = end


def _end(text: str, name: str, position: int) -> int | None:
    """Return the end of an element whose start tag ends at a position; a paragraph holds no other."""
    depth = 1
    for tag in _tag_named(name).finditer(text, position):
        depth += -1 if tag[1] else name != "p"
        if not depth:
            return tag.end()
    return None


@cache
def _tag_named(name: str) -> re.Pattern[str]:
    return re.compile(rf"<(/?){name}(?=[\s/>])[^<>]*+>", re.IGNORECASE)


def _translated_island(source: str, depth: int) -> str:
    """Convert a block element; in an element that only groups, Markdown goes on."""
    tag = TAG.match(source)
    if tag is None or tag[2].lower() not in _TRANSPARENT:
        return from_html(source)
    end = source.rindex("<") if source.endswith(">") else len(source)
    return translate(source[tag.end() : end], depth + 1)


def _translated_gap(text: str, start: int, end: int, tags: Sequence[Tag]) -> str:
    """Translate the inline tags of a stretch of Markdown."""
    writer = _MarkdownWriter()
    position = start
    first, last = (bisect_left(tags, edge, key=re.Match.start) for edge in (start, end))
    for tag in tags[first:last]:
        if _is_escaped(tag):
            continue
        writer.text(text[position : tag.start()])
        invisible = _INVISIBLE_TAGS.match(text, tag.end())
        behind = invisible.end() if invisible else tag.end()
        writer.tag(tag, text[behind : behind + 1])
        position = tag.end()
        if writer.is_ended:
            return writer.finish()
    writer.text(text[position:end])
    return writer.finish()


def _joined(gaps: Iterable[str], islands: Iterable[str]) -> str:
    """Join gaps and islands in turn, with an empty line around each island that is not blank."""
    groups: list[list[str]] = [[]]
    for gap, island in zip_longest(gaps, islands, fillvalue=""):
        groups[-1].append(gap)
        if island.strip():
            groups += [[island], []]
    if len(groups) == 1:
        return "".join(groups[0])
    texts = ("".join(group).strip("\n") for group in groups)
    return "\n\n".join(text for text in texts if text.strip())


class _MarkdownWriter(InlineWriter):
    """A stretch of Markdown whose text stays as it is; a tag without a partner in its paragraph stays too."""

    def __init__(self) -> None:
        super().__init__()
        self.is_ended = False
        """Whether an element that vanishes has taken the rest with it."""
        self._first = ""
        """The first visible character of the last line."""

    def text(self, text: str) -> None:
        """Append text as it is."""
        if _PARAGRAPH_END.search(text):
            self.forget()
        _, newline, tail = text.rpartition("\n")
        self._first = (tail if newline else self._first + tail).lstrip()[:1]
        super().text(text)

    def tag(self, tag: Tag, after: str) -> None:
        """Take a tag (slash, name, attributes) and the character behind it."""
        slash, name, attrs = tag[1], tag[2].lower(), tag[3]
        written = TAGS.get(name, "")
        if name in RAW:
            self.is_ended = not slash
        elif written == "br":
            self.text(" " if self._first == "|" else "  " if after == "\n" else "  \n")
        elif written == "img":
            self.image(attrs)
        elif name in BLOCKS:
            self._start_block(written)
        elif written and not slash:
            self.start(written, attrs, tag[0])
        elif written and not self.end(written, after):
            self.text(tag[0])
        elif written == "code" and after == "`":
            self.space()

    def finish(self) -> str:
        """Return the whole stretch."""
        self.forget()
        return super().finish()

    def _start_block(self, tag: str) -> None:
        """Begin a new line or paragraph for a block that is not an island."""
        if tag == "hr":
            self.text("\n\n---\n\n")
        elif tag == "li":
            self.text("\n- " if self._first else "- ")
        elif self._first:
            self.text("\n\n")

    def _plain(self, text: str) -> str:
        return decode(_ESCAPED_CHARACTER.sub(r"\1", text))

    def _escaped(self, text: str) -> str:
        return text
