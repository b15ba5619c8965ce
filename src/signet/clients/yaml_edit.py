"""Edit a YAML mapping of mappings as text: one entry is put in, replaced or taken out, every other byte stays. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from .json_text import newline_of
from .yaml_text import Row, read_rows, value_of

__all__ = ["drop_entry", "find_entry", "put_entry"]

UNIT: Final = "  "
EMPTY: Final = re.compile(r"(?i:\{\s*\}|~|null)?")
PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
RESERVED: Final = {"true", "false", "yes", "no", "on", "off", "y", "n", "null"}


class _Block(NamedTuple):
    """The mapping that holds the entries, by the lines of the file."""

    lines: list[str]
    rows: list[Row]
    head: Row | None
    """The row of its key."""
    entries: dict[str, list[Row]]


def find_entry(text: str, path: Sequence[str]) -> Any:
    """Return the entry at a path of two keys, or None if there is none; what is empty in it is left out.

    Raises:
        ValueError: the text cannot be read with certainty; the message names the line.
    """
    key, name = path
    rows = _read(text, key).entries.get(name)
    return None if rows is None else without_empty(_mapping(rows))


def put_entry(text: str, path: Sequence[str], entry: dict[str, Any]) -> str:
    """Return the text with this entry at a path of two keys, in the place of the entry that is there, if any.

    Raises:
        ValueError: the text cannot be read or edited with certainty; the message names the line.
    """
    key, name = path
    block, newline = _read(text, key), newline_of(text)
    lines = list(block.lines)
    indent = " " * next((rows[0].indent for rows in block.entries.values()), len(UNIT))
    rendered = [f"{line}{newline}" for line in _render(name, entry, indent)]
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += newline
    if block.head is None:
        lines += [f"{key}:{newline}", *rendered]
    elif name in block.entries:
        lines[_slice(block.entries[name])] = rendered
    else:
        place = block.head.line
        if not block.entries:
            lines[place] = _with_value(lines[place], block.head.value, "")
        lines[place + 1 : place + 1] = rendered
    return _checked("".join(lines), block, path, entry)


def drop_entry(text: str, path: Sequence[str]) -> str:
    """Return the text without the entry at a path of two keys, which must be there.

    Raises:
        ValueError: the text cannot be read or edited with certainty; the message names the line.
    """
    key, name = path
    block = _read(text, key)
    if name not in block.entries or block.head is None:
        raise ValueError(f"there is no {key}.{name}")
    lines = list(block.lines)
    lines[_slice(block.entries[name])] = []
    if len(block.entries) == 1:
        lines[block.head.line] = _with_value(lines[block.head.line], "", " {}")
    return _checked("".join(lines), block, path, None)


def without_empty(entry: Any) -> Any:
    """Return a mapping without its empty values, which clients write for the defaults."""
    if not isinstance(entry, dict):
        return entry
    return {key: value for key, value in entry.items() if value not in (None, "", [], {})}


def _read(text: str, key: str) -> _Block:
    """Return the mapping below a key of the file."""
    lines = text.split("\n")
    lines = [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    rows = read_rows(lines)
    if rows and (rows[0].indent or rows[0].is_item or rows[0].key is None):
        raise ValueError(f"line {rows[0].line + 1}: the file holds no mapping that can be edited here")
    heads = [row for row in rows if row.indent == 0 and not row.is_item and row.key == key]
    if len(heads) > 1:
        raise ValueError(f"line {heads[1].line + 1}: the key {key} for the second time")
    if not heads:
        return _Block(lines, rows, None, {})
    start = rows.index(heads[0]) + 1
    end = next((place for place in range(start, len(rows)) if not _is_below(rows[place])), len(rows))
    entries = _entries(rows[start:end])
    if not EMPTY.fullmatch(heads[0].value) or (entries and heads[0].value):
        raise ValueError(f"line {heads[0].line + 1}: {key} is written on one line, which cannot be edited here")
    if heads[0].last > heads[0].line:
        raise ValueError(f"line {heads[0].line + 2}: {key} holds a text")
    return _Block(lines, rows, heads[0], entries)


def _is_below(row: Row) -> bool:
    """Whether a row belongs to the key without indentation before it: also an item of a list may stand there."""
    return row.indent > 0 or row.is_item


def _entries(rows: list[Row]) -> dict[str, list[Row]]:
    """Return the rows of each entry of a mapping."""
    entries: dict[str, list[Row]] = {}
    current: list[Row] = []
    for row in rows:
        if row.indent < rows[0].indent or (row.indent == rows[0].indent and (row.is_item or row.key is None)):
            raise ValueError(f"line {row.line + 1}: an entry that is no 'key:' like its neighbours")
        if row.indent == rows[0].indent:
            if row.key in entries:
                raise ValueError(f"line {row.line + 1}: the key {row.key} for the second time")
            current = entries[str(row.key)] = []
        current.append(row)
    return entries


def _mapping(rows: list[Row]) -> Any:
    """Return the value of a row and the rows below it: a mapping of scalars, lists and mappings, or a scalar."""
    head, below = rows[0], rows[1:]
    if not below:
        return value_of(head.value)
    if below[0].is_item:
        return [value_of(row.value) for row in below]
    groups: dict[str, list[Row]] = {}
    group: list[Row] = []
    for row in below:
        if row.indent == below[0].indent and not row.is_item:
            group = groups[str(row.key)] = []
        group.append(row)
    return {key: _mapping(group) for key, group in groups.items()}


def _slice(rows: list[Row]) -> slice:
    return slice(rows[0].line, max(row.last for row in rows) + 1)


def _with_value(line: str, old: str, new: str) -> str:
    """Return a line `key: old` with another value; its comment stays."""
    head, colon, rest = line.partition(":")
    return head + colon + new + rest.replace(f" {old}", "", 1) if old else head + colon + new + rest


def _render(name: str, entry: dict[str, Any], indent: str) -> list[str]:
    """Return the lines of an entry."""
    lines = [f"{indent}{_scalar(name)}:"]
    for key, value in entry.items():
        if isinstance(value, dict | list) and value:
            items = (
                [f"{_scalar(inner)}: {_scalar(one)}" for inner, one in value.items()]
                if isinstance(value, dict)
                else [f"- {_scalar(one)}" for one in value]
            )
            lines += [f"{indent}{UNIT}{_scalar(key)}:", *(f"{indent}{UNIT * 2}{item}" for item in items)]
        else:
            lines.append(f"{indent}{UNIT}{_scalar(key)}: {_scalar(value)}")
    return lines


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, dict | list):
        return "{}" if isinstance(value, dict) else "[]"
    if PLAIN.fullmatch(value) and value.lower() not in RESERVED:
        return str(value)
    return '"' + "".join(map(_character, value)) + '"'


def _character(char: str) -> str:
    """Return a character as it stands between quotation marks."""
    if char in '"\\':
        return f"\\{char}"
    if char.isprintable():
        return char
    code = ord(char)
    # The two forms that JSON reads alike; a path has no others.
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"  # noqa: PLR2004 - the width of \u


def _checked(edited: str, before: _Block, path: Sequence[str], entry: Any) -> str:
    """Return the edited text if reading it gives the same rows and entries as before, but for this one."""
    key, name = path
    after = _read(edited, key)
    shown = find_entry(edited, path)
    others = [{n: _texts(b, rows) for n, rows in b.entries.items() if n != name} for b in (before, after)]
    top = [[row.key for row in block.rows if not _is_below(row) and row.key != key] for block in (before, after)]
    if others[0] != others[1] or top[0] != top[1] or shown != without_empty(entry):
        raise ValueError("the file cannot be edited with certainty")
    return edited


def _texts(block: _Block, rows: list[Row]) -> str:
    return "".join(block.lines[_slice(rows)]).rstrip("\r\n")
