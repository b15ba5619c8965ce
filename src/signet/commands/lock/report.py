"""Changes of servers as people see them: a diff in colours, with nothing invisible left invisible. Pure."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET

from signet.commands.terminal import columns, on_terminal
from signet.lock.comparison import EntryChange
from signet.lock.fields import FieldChange
from signet.lock.shown import difference, mixed_scripts
from signet.system.text import visible

__all__ = ["as_json", "as_text", "pinned_line"]

Styled = tuple[str, str]

COLOURS: Final = {
    "breaking": "bold red", "removed": "bold red", "renamed": "bold red", "widened": "bold magenta",
    "added": "bold magenta", "text": "yellow", "compatible": "green",
}  # fmt: skip
MARKS: Final = {"removed": ("[-", "-]", "red strike"), "added": ("{+", "+}", "green"), "same": ("", "", "dim")}
"""How a passage is marked where there are no colours, and its colour."""
MAX_DIFF_CHARS: Final = 4_000
MAX_EXAMPLE_CHARS: Final = 400
MAX_NAME_CHARS: Final = 120
PIPE_WIDTH: Final = 120
HEIGHT: Final = 25


def as_text(server: str, changes: Iterable[EntryChange]) -> str:
    """Return the changes of a server: a paragraph for each entry, a passage for each field."""
    return _drawn([part for change in changes for part in _entry(server, change)])


def pinned_line(server: str, counts: dict[str, int]) -> str:
    """Return how much was pinned of a server."""
    parts = [f"{count} {kind if count == 1 else kind + 's'}" for kind, count in counts.items() if count]
    return f"{visible(server)}: pinned {', '.join(parts) or 'nothing'}"


def as_json(servers: dict[str, list[EntryChange]], **more: Any) -> str:
    """Return the changes of servers as one JSON object."""
    listed = {name: [msgspec.structs.replace(one, entry=UNSET) for one in changes] for name, changes in servers.items()}
    return msgspec.json.format(msgspec.json.encode({**more, "changes": listed}), indent=2).decode()


def _entry(server: str, change: EntryChange) -> Iterator[Styled]:
    name = f" {visible(change.name, keep='')[:MAX_NAME_CHARS]}" if change.name else ""
    was = f" (was {visible(change.was, keep='')[:MAX_NAME_CHARS]})" if change.was else ""
    yield f"{visible(server)}: {change.kind}{name}{was}: ", "bold"
    yield f"{change.verdict}\n", COLOURS[change.verdict]
    if change.verdict == "removed":
        yield "  the server no longer has it\n", ""
    shown: set[str] = set()
    for field in change.fields:
        yield from _field(field, with_diff=field.field not in shown)
        shown.add(field.field)
    if change.verdict == "added" and change.entry is not UNSET:
        text = msgspec.json.format(bytes(change.entry), indent=2).decode(errors="replace")
        yield "".join(f"  {line}\n" for line in visible(_cut(text)).split("\n")), "green"
    yield "\n", ""


def _field(change: FieldChange, *, with_diff: bool) -> Iterator[Styled]:
    label = f"{visible(change.field, keep='')[:MAX_NAME_CHARS]}: " if change.field else ""
    yield f"  {label}{visible(change.why, keep='')} ", ""
    yield f"({change.verdict})\n", COLOURS.get(change.verdict, "")
    if change.example is not UNSET:
        text = msgspec.json.encode(change.example).decode()
        yield f"    for example {visible(text[:MAX_EXAMPLE_CHARS], keep='')}\n", ""
    if not with_diff or (change.before is UNSET and change.after is UNSET):
        return
    before, after = (_cut(_text_of(value)) for value in (change.before, change.after))
    yield "    ", ""
    for segment in difference(before, after):
        start, end, style = MARKS[segment.kind]
        text = segment.text.replace("\n", "\n    ")
        yield (text if on_terminal() or segment.kind == "same" else f"{start}{text}{end}"), style
    yield "\n", ""
    mixed = [word for word in mixed_scripts(after) if word not in mixed_scripts(before)]
    if mixed:
        yield f"    letters of several scripts that look alike in one word: {', '.join(mixed[:3])}\n", "bold magenta"


def _text_of(value: Any) -> str:
    if value is UNSET:
        return ""
    return value if isinstance(value, str) else msgspec.json.format(_encoded(value), indent=2).decode()


def _encoded(value: Any) -> bytes:
    return msgspec.json.encode(value, order="sorted")


def _cut(text: str) -> str:
    return text if len(text) <= MAX_DIFF_CHARS else f"{text[:MAX_DIFF_CHARS]}… ({len(text):,} characters)"


def _drawn(parts: list[Styled]) -> str:
    """Return styled passages as text, in colours on a terminal."""
    from rich.console import Console
    from rich.text import Text

    whole = Text()
    for text, style in parts:
        whole.append(text, style)
    colours: Literal["auto"] | None = None if os.environ.get("NO_COLOR") else "auto"
    width = columns() if on_terminal() else PIPE_WIDTH
    console = Console(width=width, height=HEIGHT, color_system=colours, highlight=False, markup=False, emoji=False)
    with console.capture() as captured:
        console.print(whole, soft_wrap=True, end="")
    return captured.get()
