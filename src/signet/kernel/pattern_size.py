"""The size of a regular expression before it is compiled: an estimate of its program, from its text alone. Pure.

The engine has no upper bound of time for a whole schema: a counted repetition writes its content out so many times, and
a class of all letters has hundreds of states for each. So a few characters may take gigabytes.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

__all__ = ["PatternSize", "measure_pattern"]

MAX_COUNT: Final = 1_000_000
"""The largest repetition that is counted exactly; the engine refuses larger ones."""
LITERAL_BYTES: Final = 250
ASCII_CLASS_BYTES: Final = 500
WIDE_CLASS_BYTES: Final = 4_000
"""A class that has characters beyond ASCII, or all but some."""
WIDE_CHAR_BYTES: Final = 70
"""A character that such a class lists: each may be a range of its own."""
PROPERTY_BYTES: Final = 160_000
"""A class with a Unicode property; several in one class are merged."""
FOLDED: Final = 2
"""The factor where upper and lower case are the same."""

TOKEN: Final = re.compile(
    r"""
      (?P<property>\\[pP](?:\{[^}]*\}|.)?)
    | (?P<back>\\(?:[1-9]|k[<{']))
    | (?P<wide>\\[^dwbBAzZtnrfv0xuc.+*?()\[\]{}|^$/\\-]|\.)
    | (?P<escape>\\(?:x\{[^}]*\}|u\{[^}]*\}|.)?)
    | (?P<class>\[)
    | (?P<look>\(\?(?:<?[=!]|>))
    | (?P<open>\()
    | (?P<close>\))
    | (?P<count>\{(?P<least>\d+)?(?P<comma>,)?(?P<most>\d+)?\})
    | (?P<quantifier>[*+?])
    | (?P<literal>.)
    """,
    re.VERBOSE | re.DOTALL,
)
STEADY: Final = re.compile(
    r"\^(?:\.|\\[dswDSW]|\[(?:[^\[\]\\]|\\.)+\]|[^\\\[\](){}.*+?|^$])(?:\{\d+(?:,\d*)?\}|[*+?])?\$?", re.DOTALL
)
"""One class or character from the beginning, so many times: an automaton is at one place of it at a time."""
CLASS_END: Final = re.compile(r"\\.|[\[\]]|[^\\\[\]]+", re.DOTALL)
WIDE_IN_CLASS: Final = re.compile(r"[^\x00-\x7f]|\\[SDWxu]|&&|--|~~")
PROPERTY_IN_CLASS: Final = re.compile(r"\\[pP]")


class PatternSize(NamedTuple):
    """How large a pattern is when it is compiled."""

    program_bytes: int
    atoms: int
    """The characters and classes, each as often as it is written out."""
    is_fancy: bool
    """Whether it looks around or back, which another engine does step by step."""
    is_steady: bool = False
    """Whether a text is at one place of it at a time, so that its size does not count."""


class _Part:
    """A sequence that is being read: its size so far, and that of the last thing in it, which may be repeated."""

    def __init__(self) -> None:
        self.bytes = self.atoms = 0
        self.last = (0, 0)

    def add(self, program_bytes: int, atoms: int = 1) -> None:
        """Put something behind the last thing."""
        self.bytes += program_bytes
        self.atoms += atoms
        self.last = (program_bytes, atoms)

    def repeat(self, times: int) -> None:
        """Write the last thing out so many times."""
        more_bytes, more_atoms = self.last[0] * (times - 1), self.last[1] * (times - 1)
        self.bytes += more_bytes
        self.atoms += more_atoms
        self.last = (self.last[0] + more_bytes, self.last[1] + more_atoms)


def measure_pattern(pattern: str) -> PatternSize:
    """Return the size of a pattern; one that no engine takes has some size too."""
    stack = [_Part()]
    is_fancy = False
    at = 0
    while at < len(pattern):
        found = TOKEN.match(pattern, at)
        if found is None:
            break
        at, kind, part = found.end(), found.lastgroup or "", stack[-1]
        if kind == "class":
            at, size = _class(pattern, at)
            part.add(size)
        elif kind in {"open", "look"}:
            is_fancy = is_fancy or kind == "look"
            stack.append(_Part())
        elif kind == "close" and len(stack) > 1:
            group = stack.pop()
            stack[-1].add(group.bytes + LITERAL_BYTES, group.atoms + 1)
        elif kind == "count" and (found["least"] or found["most"]):
            part.repeat(_times(found["least"], found["most"], is_open=bool(found["comma"]) and not found["most"]))
        elif kind != "quantifier":
            is_fancy = is_fancy or kind == "back"
            part.add({"property": PROPERTY_BYTES, "wide": WIDE_CLASS_BYTES}.get(kind, LITERAL_BYTES))
    for group in stack[1:]:
        stack[0].add(group.bytes, group.atoms)
    factor = FOLDED if "(?" in pattern and re.search(r"\(\?[a-zA-Z]*i", pattern) else 1
    is_fancy = is_fancy or _is_possessive(pattern)
    is_steady = not is_fancy and STEADY.fullmatch(pattern) is not None
    return PatternSize(stack[0].bytes * factor, stack[0].atoms, is_fancy, is_steady)


def _class(pattern: str, at: int) -> tuple[int, int]:
    """Return the place behind a class that has begun, and its size."""
    start, depth = at, 1
    if pattern[at : at + 1] == "^":
        at += 1
    if pattern[at : at + 1] == "]":
        at += 1
    while depth and at < len(pattern):
        found = CLASS_END.match(pattern, at)
        if found is None:
            break
        at = found.end()
        depth += {"[": 1, "]": -1}.get(found[0], 0)
    text = pattern[start:at]
    if PROPERTY_IN_CLASS.search(text):
        return at, PROPERTY_BYTES
    is_wide = text.startswith("^") or WIDE_IN_CLASS.search(text) is not None
    return at, max(WIDE_CLASS_BYTES, WIDE_CHAR_BYTES * len(text)) if is_wide else ASCII_CLASS_BYTES


def _times(least: str | None, most: str | None, *, is_open: bool) -> int:
    """Return how often a counted repetition writes its content out."""
    text = most or least or "1"
    count = MAX_COUNT if len(text) > len(str(MAX_COUNT)) else min(int(text), MAX_COUNT)
    return max(1, count + is_open)


def _is_possessive(pattern: str) -> bool:
    return re.search(r"[*+?}]\+", pattern) is not None
