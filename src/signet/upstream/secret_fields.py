"""Secrets in recordings: which fields and parameters hold one, and what is left of their values. Pure.

Only texts are removed. A null, a number, a boolean, a list and an object keep their kind, and an empty text stays
empty, so that a replay reads what was read when it was recorded. Page tokens and numbers of tokens are not secrets:
without them, a replay could not tell one page from the next.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from signet.system.redaction import REDACTED, redact_shapes
from signet.system.secret_shapes import NAMES, find_secrets, names_secret

__all__ = [
    "OF_SETTINGS",
    "QUOTED",
    "TEXT_REMOVED",
    "Removals",
    "names_secret",
    "redact_fields",
    "redact_known_shapes",
    "redact_parameters",
    "redact_target",
    "redact_unparsed",
    "secret_parameters",
]

QUOTED: Final = "%5Bredacted%5D"
"""`REDACTED` as it is written in a request target."""
OF_SETTINGS: Final = "a secret of the settings"
"""The name under which the removal of a known secret is reported."""
TEXT_REMOVED: Final = f"it may be a secret: the recording, and so a replay, has {REDACTED} in its place"

PARAMETER: Final = (
    rf"((?:[?&]|%3f|%26|&amp;|\\u0026)([\w.-]{{0,40}}{NAMES})(?:=|%3d))((?:(?!%26)[^&# \t\r\n\f\v\"'\\<>])*)"
)
IN_TARGET: Final = re.compile(PARAMETER, re.IGNORECASE)
IN_TEXT: Final = re.compile(
    rf"{PARAMETER}|((authorization)\s*:\s*(?:bearer|basic|digest)\s+)([^ \t\r\n\f\v\"'\\<>]+)", re.IGNORECASE
)
"""A parameter of a URL, or a header, anywhere in a text."""
KEY: Final = re.compile(rf'"([\w. -]{{0,40}}{NAMES})"\s*:\s*', re.IGNORECASE)
"""The name of a field in a text that is not complete JSON."""
VALUE_PART: Final = re.compile(r'("(?:[^"\\]|\\.)*"?)(\s*:)?|[\[{]|[\]}]')
SCALAR: Final = re.compile(r"(?:null|true|false|-?[0-9][0-9.eE+-]*)(?![^\s,\]}])")
BARE: Final = re.compile(r"[^\s,\]}]+")

MAX_REPORTED: Final = 100
"""The number of names that one recording reports."""
MAX_NAME_CHARS: Final = 60


class Removals:
    """Reports the names under which texts were removed, each of them once."""

    def __init__(self, report: Callable[[str], None] | None = None) -> None:
        self._report = report
        self._reported: set[str] = set()

    def add(self, name: str) -> None:
        """Report a name, unless it was reported before or there are too many."""
        if self._report is None:
            return
        shown = name[:MAX_NAME_CHARS]
        if shown not in self._reported and len(self._reported) < MAX_REPORTED:
            self._reported.add(shown)
            self._report(shown)


def redact_fields(
    value: Any,
    removals: Removals,
    *,
    text_of: Callable[[str], str] = str,
    in_objects: bool = True,
    name: str = "",
) -> Any:
    """Return a JSON value without the texts of fields that have the name of a secret.

    Args:
        value: the value.
        removals: where the names of these fields are reported.
        text_of: what is left of any other text.
        in_objects: whether all texts of an object are removed if the object itself has the name of a secret.
        name: the name of the secret that the value belongs to, if any.
    """
    if isinstance(value, str):
        if not name or value in {"", REDACTED}:
            return text_of(value)
        removals.add(name)
        return REDACTED

    def below(one: Any, name: str) -> Any:
        return redact_fields(one, removals, text_of=text_of, in_objects=in_objects, name=name)

    if isinstance(value, list):
        return [below(one, name) for one in value]
    if not isinstance(value, dict):
        return value
    inherited = name if in_objects else ""
    return {key: below(one, key if names_secret(key) else inherited) for key, one in value.items()}


def redact_known_shapes(text: str, removals: Removals, instead: str = REDACTED) -> str:
    """Return a text without the secrets that are recognised by their shapes; their kinds are reported."""
    redacted = redact_shapes(text, instead)
    if redacted != text:
        for kind in find_secrets(text):
            removals.add(kind)
    return redacted


def redact_target(target: str, removals: Removals) -> str:
    """Return a request target without the secrets in its query."""
    return IN_TARGET.sub(_replacing(QUOTED, removals), target)


def redact_parameters(text: str, removals: Removals) -> str:
    """Return a text without the secrets in the URLs and headers that it has."""
    return IN_TEXT.sub(_replacing(REDACTED, removals), text)


def secret_parameters(text: str) -> Iterator[str]:
    """Yield the secrets in the query of a URL."""
    return (match[3] for match in IN_TARGET.finditer(text) if names_secret(match[2]))


def _replacing(instead: str, removals: Removals) -> Callable[[re.Match[str]], str]:
    """Return a function that replaces the value of a parameter or header, if that has the name of a secret."""

    def replace(match: re.Match[str]) -> str:
        start, name, value = [group for group in match.groups() if group is not None]
        if not names_secret(name):
            return match[0]
        if value not in {"", REDACTED, QUOTED}:
            removals.add(name)
        return f"{start}{instead}"

    return replace


def redact_unparsed(text: str, removals: Removals) -> str:
    """Return a text that is not complete JSON without the texts of fields that have the name of a secret."""
    parts: list[str] = []
    end = 0
    while key := KEY.search(text, end):
        parts.append(text[end : key.end()])
        end = key.end()
        if names_secret(key[1]):
            value, end = _redact_unparsed_value(text, end)
            if REDACTED in value:
                removals.add(key[1])
            parts.append(value)
    return "".join((*parts, text[end:]))


def _redact_unparsed_value(text: str, start: int) -> tuple[str, int]:
    """Return the value that begins at a place without its texts, and the place at which it ends."""
    if not text.startswith(('"', "[", "{"), start):
        found = SCALAR.match(text, start) or BARE.match(text, start)
        if found is None:
            return "", start
        return found[0] if found.re is SCALAR else f'"{REDACTED}"', found.end()
    parts: list[str] = []
    depth, end = 0, start
    for part in VALUE_PART.finditer(text, start):
        parts.append(text[end : part.start()])
        is_text = part[1] is not None and part[2] is None and part[1] != '""'
        parts.append(f'"{REDACTED}"' if is_text else part[0])
        end = part.end()
        depth += 0 if part[1] is not None else 1 if part[0] in "[{" else -1
        if depth <= 0:
            return "".join(parts), end
    return "".join((*parts, text[end:])), len(text)
