"""Snapshots: everything that a server says about itself, as it wrote it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

__all__ = ["INSTRUCTIONS", "KINDS", "Snapshot", "check_names", "compact", "entries_of", "name_of"]

MAX_NAME_CHARS: Final = 100
INSTRUCTIONS: Final = "instructions"
KINDS: Final = {
    "tool": ("tools", "name"),
    "prompt": ("prompts", "name"),
    "resource": ("resources", "uri"),
    "template": ("templates", "uriTemplate"),
}
"""The kinds of entries: where a snapshot has them, and the member that names one."""


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a server says about itself; `Raw` keeps the order of keys and the spelling of numbers."""

    era: str
    """`handshake` or `modern`."""
    version: str
    """The protocol revision."""
    server_info: msgspec.Raw
    capabilities: msgspec.Raw
    instructions: str = ""
    tools: tuple[msgspec.Raw, ...] = ()
    resources: tuple[msgspec.Raw, ...] = ()
    templates: tuple[msgspec.Raw, ...] = ()
    prompts: tuple[msgspec.Raw, ...] = ()


class _Named(msgspec.Struct, frozen=True):
    name: Any = None
    uri: Any = None
    uri_template: Any = msgspec.field(name="uriTemplate", default=None)


def compact(text: bytes) -> msgspec.Raw:
    """Return a JSON text without the blanks between its tokens, with all else as it is written.

    Raises:
        ValueError: it is not JSON, or is nested too deeply.
    """
    try:
        return msgspec.Raw(msgspec.json.format(bytes(text), indent=-1))
    except msgspec.MsgspecError as error:
        raise ValueError(f"it is not JSON ({error})") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def entries_of(snapshot: Snapshot) -> Iterator[tuple[str, msgspec.Raw]]:
    """Yield each entry of a snapshot with its kind."""
    for kind, (where, _) in KINDS.items():
        for entry in getattr(snapshot, where):
            yield kind, entry


def name_of(kind: str, entry: bytes) -> str:
    """Return the name of an entry; for a resource its URI.

    Raises:
        ValueError: it has none, or is no JSON object.
    """
    key = KINDS[kind][1]
    try:
        named = msgspec.json.decode(entry, type=_Named)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise ValueError(f"it is no JSON object ({error})") from None
    name = named.uri_template if key == "uriTemplate" else getattr(named, key)
    if not isinstance(name, str):
        raise ValueError(f"it has no {key}")  # noqa: TRY004 - the text is wrong, not a type
    return name


def check_names(kind: str, names: Iterable[str]) -> None:
    """Raise ValueError if a server lists two entries of a kind by one name, so that a call could mean either."""
    known: set[str] = set()
    for name in names:
        if name in known:
            raise ValueError(f"it lists the {kind} {name[:MAX_NAME_CHARS]!r} twice")
        known.add(name)
