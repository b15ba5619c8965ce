"""Snapshots: everything that a server says about itself, as it wrote it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Raw

__all__ = ["INSTRUCTIONS", "KINDS", "LISTS", "Snapshot", "check_names", "compact", "entries_of", "name_of"]

MAX_NAME_CHARS: Final = 100
INSTRUCTIONS: Final = "instructions"


class EntryKind(NamedTuple):
    """One kind of entries, and how a server lists them."""

    where: str
    """The field of a snapshot."""
    key: str
    """The member that names an entry."""
    method: str
    member: str
    """The member of a result that has the entries."""
    capability: str
    """What a server declares that has this list."""


KINDS: Final = {
    "tool": EntryKind("tools", "name", "tools/list", "tools", "tools"),
    "prompt": EntryKind("prompts", "name", "prompts/list", "prompts", "prompts"),
    "resource": EntryKind("resources", "uri", "resources/list", "resources", "resources"),
    "template": EntryKind("templates", "uriTemplate", "resources/templates/list", "resourceTemplates", "resources"),
}
LISTS: Final = {one.method: kind for kind, one in KINDS.items()}
"""The kind of the entries of each list."""


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a server says about itself; `Raw` keeps the order of keys and the spelling of numbers."""

    era: str
    """`handshake` or `modern`."""
    version: str
    """The protocol revision."""
    server_info: Raw
    capabilities: Raw
    instructions: str = ""
    tools: tuple[Raw, ...] = ()
    resources: tuple[Raw, ...] = ()
    templates: tuple[Raw, ...] = ()
    prompts: tuple[Raw, ...] = ()


class _Named(msgspec.Struct, frozen=True):
    name: Any = None
    uri: Any = None
    uri_template: Any = msgspec.field(name="uriTemplate", default=None)


def compact(text: bytes) -> Raw:
    """Return a JSON text without the blanks between its tokens, with all else as it is written.

    Raises:
        ValueError: it is not JSON, or is nested too deeply.
    """
    try:
        return Raw(msgspec.json.format(bytes(text), indent=-1))  # rule: @compact
    except msgspec.MsgspecError as error:
        raise ValueError(f"it is not JSON ({error})") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def entries_of(snapshot: Snapshot) -> Iterator[tuple[str, Raw]]:
    """Yield each entry of a snapshot with its kind."""
    for kind, one in KINDS.items():
        for entry in getattr(snapshot, one.where):
            yield kind, entry


def name_of(kind: str, entry: bytes) -> str:
    """Return the name of an entry; for a resource its URI.

    Raises:
        ValueError: it has none, or is no JSON object.
    """
    key = KINDS[kind].key
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
