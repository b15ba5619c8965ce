"""A diagram in the text that was given: where it begins and ends, and what is wrong with its frame. Pure."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from signet.engines.picture import DiagramError

__all__ = ["Diagram", "find_diagram", "split_diagrams"]

_START: Final = re.compile(r"\s*@start([a-z]+)", re.IGNORECASE)
_END: Final = re.compile(r"\s*@end([a-z]+)", re.IGNORECASE)


class Diagram(msgspec.Struct, frozen=True):
    """One diagram, from its first line to its last."""

    text: str
    shift: int
    """What a line's number in `text` needs to be its number in the text as given."""

    def place(self, error: DiagramError, lines: int) -> DiagramError:
        """Return an error of the engine with its line in the text as given, which has so many lines."""
        if error.line is None:
            return error
        return msgspec.structs.replace(error, line=min(max(error.line + self.shift, 1), lines))


def lines_of(text: str) -> list[str]:
    """Return the lines of a text; PlantUML knows no other ends of lines than these."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")


def find_diagram(text: str) -> Diagram | DiagramError:
    """Return the one diagram of a text, or what is wrong with its frame.

    A text without `@startuml` is the inside of a diagram, as PlantUML's servers take it. What stands before the
    first line of a diagram, and behind its last, is not part of it.
    """
    lines = lines_of(text)
    starts = [(number, match) for number, line in enumerate(lines) if (match := _START.match(line))]
    ends = [(number, match) for number, line in enumerate(lines) if (match := _END.match(line))]
    if not starts:
        if ends:
            number, match = ends[0]
            return DiagramError(f"@end{match[1]} ends a diagram that has not begun: write @start{match[1]}", number + 1)
        return Diagram("\n".join(["@startuml", *lines, "@enduml"]), -1)
    first, start = starts[0]
    behind = [(number, match) for number, match in ends if number > first]  # rule: @find_diagram
    if len(starts) > 1:
        number = starts[1][0] + 1
        begun = "before the first has ended" if not behind or behind[0][0] >= number else "here"
        return DiagramError(f"a second diagram begins {begun}: send one diagram at a time", number)
    if not behind:
        last = max(number for number, line in enumerate(lines) if line.strip())
        return DiagramError(f"the diagram does not end: write @end{start[1]} behind its last line", last + 1)
    last, end = behind[0]
    if end[1].lower() != start[1].lower():
        return DiagramError(f"@end{end[1]} cannot end what @start{start[1]} has begun", last + 1)
    body = [_lowered(lines[first], start), *lines[first + 1 : last], _lowered(lines[last], end)]
    return Diagram("\n".join(body), first)


def _lowered(line: str, word: re.Match[str]) -> str:
    """Return a line of the frame as engines know it: its first word in lower case."""
    return f"{word[0].lower()}{line[word.end() :]}".strip()


def split_diagrams(text: str) -> list[tuple[int, str]]:
    """Return the diagrams of a file, each with the number of lines before it; a text without any is one diagram.

    What stands between two diagrams belongs to none of them.
    """
    lines = lines_of(text)
    starts = [number for number, line in enumerate(lines) if _START.match(line)]
    if len(starts) < 2:  # noqa: PLR2004 - one diagram needs no splitting
        return [(0, text)]
    borders = zip(starts, [*starts[1:], len(lines)], strict=True)
    return [(start, "\n".join(lines[start:stop])) for start, stop in borders]
