"""Edit JSON with comments as text: one member is put in or taken out, every other byte stays. Pure.

A file is read twice: by a scanner that knows where things stand, and, with comments and trailing commas blanked, by
`json`, which says what they mean and which line is wrong.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

from .json_text import Braces, JsonMember, line_of, newline_of, parse_json, read_braces, tokens

__all__ = ["drop_entry", "find_entry", "put_entry"]

DEFAULT_UNIT: Final = "  "

FIRST_INDENT: Final = re.compile(r'^([ \t]+)"', re.MULTILINE)


def find_entry(text: str, path: Sequence[str]) -> Any:
    """Return the value at a path of keys, or None if there is none.

    Raises:
        ValueError: the text cannot be read, or a key of the path holds no object; the message names the line.
    """
    value = parse_json(text)
    found = None if value is None else _locate(text, path)
    if found is None or found[1] is None:
        return None
    for key in path:
        value = value[key]
    return value


def put_entry(text: str, path: Sequence[str], entry: Any) -> str:
    """Return the text with this entry at a path of keys, in the place of the entry that is there, if any.

    Raises:
        ValueError: the text cannot be read or edited; the message names the line.
    """
    whole = parse_json(text)
    if whole is None:
        newline = newline_of(text)
        joint = "" if not text or text.endswith("\n") else newline
        edited = text + joint + _render(_nested(path, entry), "", DEFAULT_UNIT, newline) + newline
    else:
        edited = _put(text, path, entry)
    # As the parser reads it: numbers are kept as they are written.
    meant = parse_json(json.dumps({"entry": entry}))["entry"]
    return _checked(edited, _changed(whole or {}, path, meant))


def drop_entry(text: str, path: Sequence[str]) -> str:
    """Return the text without the entry at a path of keys, which must be there; the objects around it stay.

    Raises:
        ValueError: the text cannot be read or edited; the message names the line.
    """
    whole = parse_json(text)
    found = _locate(text, path)
    if found is None or found[1] is None:
        raise ValueError(f"there is no {'.'.join(path)}")
    return _checked(_drop(text, found[0], found[1]), _changed(whole, path, None))


def _root(text: str) -> int:
    return next(start for kind, start, _ in tokens(text) if kind != "comment")


def _locate(text: str, path: Sequence[str]) -> tuple[Braces, JsonMember | None, int] | None:
    """Return the innermost object of a path that exists, its member that the path names, and how many keys led there.

    Raises:
        ValueError: a key of the path stands there twice, or holds no object.
    """
    place = _root(text)
    for depth, key in enumerate(path):
        braces = read_braces(text, place)
        same = [member for member in braces.members if member.key == key]
        if len(same) > 1:
            lines = " and ".join(str(line_of(text, member.start)) for member in same)
            raise ValueError(f'line {line_of(text, same[1].start)}: the key "{key}" stands on the lines {lines}')
        if not same or depth == len(path) - 1:
            return braces, same[0] if same else None, depth
        place = same[0].value
        if text[place] != "{":
            raise ValueError(f'line {line_of(text, place)}: "{key}" holds no object')
    return None


def _put(text: str, path: Sequence[str], entry: Any) -> str:
    found = _locate(text, path)
    if found is None:
        raise ValueError("the path has no keys")
    braces, member, depth = found
    if member is None:
        return _insert(text, braces, path[depth], _nested(path[depth + 1 :], entry))
    unit = _unit(text) if "\n" in text[braces.open : braces.close] else None
    value = _render(entry, _indent_at(text, member.start), unit, newline_of(text))
    return text[: member.value] + value + text[member.end :]


def _insert(text: str, braces: Braces, key: str, value: Any) -> str:
    """Put a member behind the last one, in the style of its neighbours."""
    newline, unit, last = newline_of(text), _unit(text), braces.members[-1] if braces.members else None
    inside = text[braces.open : braces.close]
    has_lines = "\n" in inside or (last is None and ("\n" in text.strip() or braces.open == _root(text)))
    behind = braces.open + 1 if last is None else last.end if last.comma is None else last.comma + 1
    tail = _last_comment(text, behind, braces.close)[1]
    base = _indent_at(text, braces.open)
    neighbours = (one.start for one in (braces.members[-1:] + braces.members[:1]) if _begins_line(text, one.start))
    indent = next((_indent_at(text, start) for start in neighbours), base + unit)
    rendered = f"{json.dumps(key, ensure_ascii=False)}: {_render(value, indent, unit if has_lines else None, newline)}"
    head, rest = text[:tail], text[tail:]
    if last is not None:
        # A trailing comma is the style of the file, and the new member has one too.
        head = f"{text[: last.end]},{text[last.end : tail]}" if last.comma is None else head
        rendered += "" if last.comma is None else ","
    if not has_lines:
        return f"{head}{' ' if last else ''}{rendered}{rest}"
    if last is None and "\n" not in text[tail : braces.close]:
        rest = newline + base + text[braces.close :]
    return f"{head}{newline}{indent}{rendered}{rest}"


def _drop(text: str, braces: Braces, member: JsonMember) -> str:
    """Cut a member, with the comma that it needed and the blanks before it; comments around it stay."""
    index = braces.members.index(member)
    end = member.end if member.comma is None else member.comma + 1
    if index == 0 and len(braces.members) > 1:
        following = next(start for _, start, _ in tokens(text, end))
        return text[: member.start] + text[following:]
    before = braces.open + 1 if index == 0 else (braces.members[index - 1].comma or 0) + 1
    comment, gap = _last_comment(text, before, member.start)
    head, rest = text[:gap], text[end:]
    if index and member.comma is None:
        head = text[: before - 1] + text[before:gap]
    if text.startswith("//", comment) and comment < gap and not rest.lstrip(" \t").startswith(("\n", "\r\n")):
        head += newline_of(text)
    closing = braces.close - end
    if index == 0 and not text[before:gap].strip() and not rest[:closing].strip():
        return text[:before] + rest[closing:]
    return head + rest


def _last_comment(text: str, start: int, stop: int) -> tuple[int, int]:
    """Return the places of the last comment between two places, or twice the first of them if there is none."""
    found = start, start
    for kind, begins, ends in tokens(text, start):
        if begins >= stop:
            break
        found = (begins, ends) if kind == "comment" else found
    return found


def _begins_line(text: str, place: int) -> bool:
    return not text[text.rfind("\n", 0, place) + 1 : place].strip(" \t")


def _indent_at(text: str, place: int) -> str:
    """Return the blanks at the beginning of the line of a place."""
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """Return one step of the file's indentation."""
    found = FIRST_INDENT.search(text)
    return found[1] if found else DEFAULT_UNIT


def _render(value: Any, indent: str, unit: str | None, newline: str) -> str:
    """Return a value as JSON: objects over several lines where there is a unit of indentation, all else on one."""
    if unit is None or not isinstance(value, dict) or not value:
        return json.dumps(value, ensure_ascii=False)
    inner = indent + unit
    members = (
        f"{newline}{inner}{json.dumps(key, ensure_ascii=False)}: {_render(below, inner, unit, newline)}"
        for key, below in value.items()
    )
    return f"{{{','.join(members)}{newline}{indent}}}"


def _nested(path: Sequence[str], entry: Any) -> Any:
    for key in reversed(path):
        entry = {key: entry}
    return entry


def _changed(whole: dict[str, Any], path: Sequence[str], entry: Any) -> dict[str, Any]:
    """Return a parsed file as it should be read after the edit; an entry of None is removed."""
    changed = dict(whole)
    if len(path) > 1:
        changed[path[0]] = _changed(changed.get(path[0], {}), path[1:], entry)
    elif entry is None:
        changed.pop(path[0])
    else:
        changed[path[0]] = entry
    return changed


def _checked(edited: str, expected: dict[str, Any]) -> str:
    if parse_json(edited) != expected:
        raise ValueError("the file cannot be edited with certainty")
    return edited
