"""Edit TOML as text: one table is put at the end, replaced or taken out, every other byte stays. Pure.

`tomllib` says what a file means; a scanner finds the lines of a table. A table that is written in another form (inline,
or by dotted keys) is not edited.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from .json_text import line_of, newline_of

__all__ = ["drop_entry", "find_entry", "put_entry"]

TOKEN: Final = re.compile(
    r'(?P<comment>\#[^\n]*)|(?P<string>"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\')'
    r"|(?P<mark>[\[\]{}\n])|(?P<other>[^\#\"'\[\]{}\n]+|.)",
    re.DOTALL,
)
BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")


class _Statement(NamedTuple):
    """A header or a key with its value, by the places of its lines."""

    start: int
    end: int
    header: tuple[str, ...] | None


def find_entry(text: str, path: Sequence[str]) -> Any:
    """Return the value at a path of keys, or None if there is none.

    Raises:
        ValueError: the text cannot be read, or a key of the path holds no table.
    """
    value: Any = _parse(text)
    for depth, key in enumerate(path):
        if not isinstance(value, dict):
            raise ValueError(f"{'.'.join(path[:depth])} is no table")  # noqa: TRY004 - the text is wrong, not a type
        if key not in value:
            return None
        value = value[key]
    return value


def put_entry(text: str, path: Sequence[str], entry: Any) -> str:
    """Return the text with this entry as the table of a path, in the place of the table that is there, if any.

    Raises:
        ValueError: the text cannot be read or edited.
    """
    newline = newline_of(text)
    table = _render(path, entry).replace("\n", newline)
    if find_entry(text, path) is None:
        joint = "" if not text or text.endswith("\n") else newline
        has_gap = not text.strip() or text.replace("\r", "").endswith("\n\n")
        edited = text + joint + ("" if has_gap else newline) + table
    else:
        spans = _spans(text, path)
        edited = _without(text, spans[1:])
        edited = edited[: spans[0][0]] + table + edited[spans[0][1] :]
    return _checked(edited, text, path, entry)


def drop_entry(text: str, path: Sequence[str]) -> str:
    """Return the text without the table of a path, which must be there.

    Raises:
        ValueError: the text cannot be read or edited.
    """
    if find_entry(text, path) is None:
        raise ValueError(f"there is no {'.'.join(path)}")
    spans = _spans(text, path)
    return _checked(_without(text, [(_before_gap(text, start), end) for start, end in spans]), text, path, None)


def _parse(text: str) -> dict[str, Any]:
    try:
        # A number that is not equal to itself would never be as expected.
        return tomllib.loads(text, parse_float=str)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r" \(at line (\d+), column \d+\)$", str(error))
        line = int(place[1]) if place else line_of(text, len(text))
        raise ValueError(f"line {line}: {str(error).partition(' (at ')[0]}") from None
    except RecursionError:
        raise ValueError("values in each other, deeper than can be read") from None


def _statements(text: str) -> Iterator[_Statement]:
    """Yield the statements of a text that has been parsed, without blank lines and comments."""
    line = depth = 0
    words: list[str] = []
    for found in TOKEN.finditer(text + "\n"):
        kind, written = found.lastgroup, found[0]
        if kind == "mark" and written != "\n":
            depth += 1 if written in "[{" else -1
        if kind == "mark" and written == "\n" and depth == 0:
            statement = "".join(words).strip()
            if statement:
                yield _Statement(line, min(found.end(), len(text)), _header(statement))
            words, line = [], found.end()
        elif kind != "comment":
            words.append(written)


def _header(written: str) -> tuple[str, ...] | None:
    """Return the keys of the header of a table, or None for any other statement."""
    if not written.startswith("["):
        return None
    keys: list[str] = []
    value: Any = tomllib.loads(written)
    while isinstance(value, dict) and value:
        ((key, value),) = value.items()
        keys.append(key)
    # An array of tables is of no path that is edited here.
    return tuple(keys) if isinstance(value, dict) else (*keys, "")


def _spans(text: str, path: Sequence[str]) -> list[tuple[int, int]]:
    """Return the places of a table and of the tables below it, each from its header to its last value."""
    spans: list[tuple[int, int]] = []
    is_inside = False
    for statement in _statements(text):
        if statement.header is not None:
            is_inside = statement.header[: len(path)] == tuple(path)
            if is_inside:
                spans.append((statement.start, statement.end))
        elif is_inside:
            spans[-1] = spans[-1][0], statement.end
    if not spans:
        raise ValueError(f"{'.'.join(path)} is not written as a table of its own")
    return spans


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    for start, end in reversed(spans):
        text = text[:start] + text[end:]
    return text


def _before_gap(text: str, start: int) -> int:
    """Return the start of the blank line before a place, or the place if there is none."""
    blank = re.search(r"(?:\A|\n)([ \t]*\r?\n)\Z", text[:start])
    return blank.start(1) if blank else start


def _render(path: Sequence[str], entry: dict[str, Any]) -> str:
    lines = [f"{_key(key)} = {_value(value)}\n" for key, value in entry.items()]
    return f"[{'.'.join(map(_key, path))}]\n{''.join(lines)}"


def _key(key: str) -> str:
    return key if BARE_KEY.fullmatch(key) else _value(key)


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(key)} = {_value(one)}" for key, one in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _checked(edited: str, text: str, path: Sequence[str], entry: Any) -> str:
    """Return the edited text if it means what it should; an entry of None is removed."""
    whole = expected = _parse(text)
    for key in path[:-1]:
        expected = expected.setdefault(key, {})
    if entry is None:
        expected.pop(path[-1])
    else:
        expected[path[-1]] = entry
    try:
        read = _parse(edited)
    except ValueError:
        raise ValueError(f"{'.'.join(path[:-1])} is written as one value, to which no table can be added") from None
    for key in path[:-1] if entry is None else ():
        # The last table below it has gone, and with it the table itself.
        read.setdefault(key, {})
    if read != whole:
        raise ValueError("the file cannot be edited with certainty")
    return edited
