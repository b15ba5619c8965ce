"""The lines of a YAML file, in the part of YAML that programs write: block collections, values on one line. Pure.

What cannot be told apart with certainty by its lines (anchors, tags, tabs, several documents, quoted texts and flow
collections over several lines) is refused with its line.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final, NamedTuple

__all__ = ["Row", "read_rows", "value_of"]

KEY: Final = re.compile(
    r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s\-?:,\[\]{}#&*!|>'"%@`](?:[^:#]|:(?!\s|$)|(?<!\s)\#)*?"""
    r"""|[-?:][^\s:#][^:#]*?):(?=\s|$)"""
)
QUOTED: Final = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')\s*(#.*)?""")
SCALAR_HEADER: Final = re.compile(r"[|>](?:[1-9]?[+-]?|[+-][1-9])\s*(?:#.*)?")
COMMENT: Final = re.compile(r"(?:^|\s)#.*$")
LINE_BREAKS: Final = re.compile("[\x0b\x0c\x85\u2028\u2029]|\r(?!\n)")
WORDS: Final = {"true": True, "false": False, "null": None, "~": None, "": None}
INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")


class Row(NamedTuple):
    """A line with content, and the lines of a text that hang on it."""

    line: int
    """Its index among the lines of the file."""
    last: int
    """The index of its last line: that of a literal or continued text, or its own."""
    indent: int
    """The column of its dash, or of its key."""
    column: int
    """The column of its key; a literal text stands further right."""
    is_item: bool
    key: str | None
    value: str
    """What stands behind the key or the dash, without its comment."""


def read_rows(lines: list[str]) -> list[Row]:
    """Return the rows of a file.

    Raises:
        ValueError: a line cannot be read with certainty; the message names it.
    """
    rows: list[Row] = []
    index = 0
    while index < len(lines):
        line = lines[index].rstrip("\r\n")
        if LINE_BREAKS.search(line):
            raise ValueError(f"line {index + 1}: a character that may end a line")
        content = line.lstrip(" ")
        if not content.strip() or content.startswith("#"):
            index += 1
            continue
        if not rows and COMMENT.sub("", line).rstrip() == "---":
            index += 1
            continue
        row = _row(line, index, rows[-1] if rows else None)
        if row.last < index:
            # The line goes on with the text of the row before.
            rows[-1] = rows[-1]._replace(last=index)
        elif SCALAR_HEADER.fullmatch(row.value):
            row = row._replace(last=_end_of_scalar(lines, index, row.column))
            rows.append(row)
        else:
            rows.append(row)
        index = rows[-1].last + 1
    return rows


def _row(line: str, index: int, before: Row | None) -> Row:
    """Return the row of a line; one that goes on with the text of the row before ends before it begins."""
    content = line.lstrip(" ")
    indent = len(line) - len(content)
    if content.startswith("\t") or (indent == 0 and re.match(r"(?:---|\.\.\.)(?:\s|$)|%", line)):
        raise ValueError(f"line {index + 1}: a tab, a directive or a further document, which cannot be edited here")
    dash = re.match(r"-(?:\s+|$)", content)
    rest = content[dash.end() :] if dash else content
    found = KEY.match(rest)
    value = rest[found.end() :].strip() if found else rest.strip()
    if not dash and not found:
        is_text = before is not None and (before.value[:1] not in {'"', "'", "{", "[", "|", ">"} or not before.value)
        if not is_text or before is None or indent <= before.indent:
            raise ValueError(f"line {index + 1}: a line that is no 'key: value', which cannot be edited here")
        return Row(index, index - 1, indent, indent, is_item=False, key=None, value="")
    key = None if found is None else str(value_of(found[1])) if found[1][0] in "\"'" else found[1].rstrip()
    column = indent + (dash.end() if dash and found else 0)
    if key == "<<" or rest.startswith(("? ", "- ")):
        raise ValueError(f"line {index + 1}: a merged or compound key, which cannot be edited here")
    return Row(index, index, indent, column, dash is not None, key, _one_line(value, index))


def _one_line(value: str, index: int) -> str:
    """Return a value without its comment; raise ValueError if the value may go on behind this line."""
    if value[:1] in {"&", "*", "!"}:
        raise ValueError(f"line {index + 1}: an anchor, alias or tag, which cannot be edited here")
    if value[:1] in {'"', "'"}:
        quoted = QUOTED.fullmatch(value)
        if quoted is None:
            raise ValueError(f"line {index + 1}: a quoted text over several lines, which cannot be edited here")
        return quoted[1]
    if value[:1] in {"{", "["}:
        bare = re.sub(r'"(?:[^"\\]|\\.)*"' + r"|'(?:[^']|'')*'", "", value)
        bare = COMMENT.sub("", bare).strip()
        opened = sum(map(bare.count, "{[")) - sum(map(bare.count, "}]"))
        if opened or bare[-1:] not in {"}", "]"} or re.search(r"[\"'&*!]", bare):
            raise ValueError(f"line {index + 1}: a flow collection that cannot be edited here")
        return value if "#" not in value else COMMENT.sub("", value).strip()
    return value if value[:1] in {"|", ">"} else COMMENT.sub("", value).strip()


def _end_of_scalar(lines: list[str], index: int, column: int) -> int:
    """Return the index of the last line of a literal or folded text."""
    last = index
    for following in range(index + 1, len(lines)):
        line = lines[following].rstrip("\r\n")
        content = line.lstrip(" ")
        if not content:
            continue
        if len(line) - len(content) <= column:
            break
        last = following
    return last


def value_of(text: str) -> Any:
    """Return the value of a text on one line; what is neither a scalar nor empty stays a text."""
    if text[:1] == "'":
        return text[1:-1].replace("''", "'")
    if text[:1] in {'"', "[", "{"}:
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            return text
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    return int(text) if INTEGER.fullmatch(text) else text
