"""Snapshots: everything that a server says about itself, as it wrote it; how one is put together from answers. Pure.

initialize, server/discover ── introduced ──▶ Snapshot ◀── ListReader ── the pages of tools/list, prompts/list, …

The answers come from a live session (`lists`) or from a recording; the same rules hold for both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Raw

from signet.kernel.protocol import SERVER_INFO_KEY
from signet.system.canonical_json import comparable

from .messages import members, text_of

__all__ = [
    "INSTRUCTIONS",
    "KINDS",
    "LISTS",
    "ListReader",
    "Snapshot",
    "check_names",
    "check_page",
    "compact",
    "entries_of",
    "introduced",
    "name_of",
    "next_cursor",
    "server_info_of",
]

MAX_PAGES: Final = 1_000
MAX_ENTRIES: Final = 10_000
MAX_BYTES: Final = 32 << 20
"""The most that a server may list in one snapshot: entries, and bytes of its answers."""
MAX_NAME_CHARS: Final = 100
INSTRUCTIONS: Final = "instructions"
EMPTY: Final = Raw(b"{}")
NAMELESS: Final = Raw(b'{"name":"","version":""}')
NO_CURSORS: Final = frozenset({b"null", b'""'})


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
NAMED: Final = ("tool", "prompt")
"""The kinds of entries that are asked for by their names."""


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


def server_info_of(hello: Mapping[str, Raw]) -> Raw:
    """Return the name and the version of a server, from the result of initialize or server/discover."""
    return hello.get("serverInfo") or members(hello.get("_meta")).get(SERVER_INFO_KEY) or NAMELESS


def introduced(hello: Mapping[str, Raw], version: str, *, modern: bool) -> Snapshot:
    """Return how a server introduced itself in the result of initialize or server/discover, without its lists."""
    return Snapshot(
        era="modern" if modern else "handshake",
        version=version,
        server_info=server_info_of(hello),
        capabilities=hello.get("capabilities", EMPTY),
        instructions=text_of(hello.get(INSTRUCTIONS)),
    )


def check_page(method: str, result: Raw | None) -> None:
    """Raise ValueError if a page of a list is none, or has two tools or two prompts of one name."""
    kind = LISTS[method]
    if kind in NAMED:
        _check_entries(kind, msgspec.json.decode(members(result).get(KINDS[kind].member, b"[]"), type=list[Raw]))


def _check_entries(kind: str, entries: Iterable[Raw]) -> None:
    """Raise ValueError if two entries have one name; entries without a name are passed over."""
    if kind in NAMED:
        check_names(kind, filter(None, (text_of(members(one).get("name")) for one in entries)))


def next_cursor(page: Mapping[str, Raw]) -> Raw | None:
    """Return the cursor of the page behind a page; None behind the last one."""
    cursor = page.get("nextCursor")
    return None if cursor is None or bytes(cursor) in NO_CURSORS else cursor


class _List:
    """A list of which the first page has been read."""

    def __init__(self) -> None:
        self.entries: list[Raw] = []
        self.bytes = 0
        self.cursors: set[bytes] = set()
        self.next = b""
        """The cursor of the next page; empty when the list is complete."""


class ListReader:
    """Puts the pages of a server's lists together, within one budget for all of them."""

    def __init__(self) -> None:
        self._lists: dict[str, _List] = {}

    @property
    def complete(self) -> dict[str, tuple[Raw, ...]]:
        """The entries of each list that has been read to its end, by the field of a snapshot."""
        return {KINDS[kind].where: tuple(one.entries) for kind, one in self._lists.items() if not one.next}

    def add_page(self, kind: str, cursor: Raw | None, result: Raw) -> Raw | None:
        """Take in the page that was asked for with a cursor; return the cursor of the next page, None at the end.

        A page without a cursor begins its list anew; one that follows no page read before is passed over.

        Raises:
            ValueError: the list does not end, is too long, has two entries of one name, or is none; it is forgotten.
        """
        if cursor is None:
            self._lists[kind] = _List()
        elif kind not in self._lists or self._lists[kind].next != _spelling(cursor):
            return None
        try:
            return self._add(kind, self._lists[kind], result)
        except ValueError:
            del self._lists[kind]
            raise

    def _add(self, kind: str, known: _List, result: Raw) -> Raw | None:
        page = members(result)
        known.entries += msgspec.json.decode(page.get(KINDS[kind].member, b"[]"), type=list[Raw])
        known.bytes += len(result)
        entries = sum(len(one.entries) for one in self._lists.values())
        if entries > MAX_ENTRIES or sum(one.bytes for one in self._lists.values()) > MAX_BYTES:
            raise ValueError(f"it lists more than {MAX_ENTRIES:,} entries, or {MAX_BYTES >> 20} MB")
        cursor = next_cursor(page)
        if cursor is None:
            _check_entries(kind, known.entries)
            known.next = b""
            return None
        known.next = _spelling(cursor)
        if known.next in known.cursors or len(known.cursors) >= MAX_PAGES:
            raise ValueError(f"its {KINDS[kind].method} does not end: it gives the same cursor again, or too many")
        known.cursors.add(known.next)
        return cursor


def _spelling(cursor: Raw) -> bytes:
    """Return bytes that are equal for equal cursors: a client may write one otherwise than the server."""
    try:
        return comparable(msgspec.json.decode(cursor))
    except (ValueError, RecursionError):
        return bytes(cursor)
