"""Entries as they are pinned: each tool, prompt, resource or template, with the digests of its fields. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from signet.mcp.snapshot import KINDS, Snapshot, check_names, compact
from signet.system.canonical_json import canonical, decoded, digest_of

__all__ = ["META", "Entry", "is_pinned", "pinnable", "read_entry"]

VOLATILE: Final = {"resource": "size"}
"""A member that changes with the content, not with what is promised."""
CONTENT: Final = ("resource", "template")
DATED: Final = "lastModified"
"""The annotation of content that changes with it."""
META: Final = "_meta"
UI: Final = "ui"


class Entry(msgspec.Struct, frozen=True):
    """One tool, prompt, resource or template, as far as it is pinned."""

    name: str
    digest: str
    digests: dict[str, str]
    """The digest of each field."""
    fields: dict[str, Any]


def read_entry(kind: str, entry: bytes) -> Entry:
    """Return an entry with the digests of its fields.

    Raises:
        ValueError: it cannot be read without doubt.
    """
    value = decoded(bytes(entry))
    name = value.get(KINDS[kind].key) if isinstance(value, dict) else None
    if not isinstance(name, str):
        raise ValueError(f"it has no {KINDS[kind].key}")  # noqa: TRY004 - the text is wrong, not a type
    fields = dict(_pinned(kind, value))
    texts = {key: canonical(part) for key, part in fields.items()}
    ordered = sorted(texts, key=lambda key: key.encode("utf-16-be"))
    whole = b",".join(canonical(key) + b":" + texts[key] for key in ordered)
    digests = {key: digest_of(texts[key]) for key in ordered}
    return Entry(name, digest_of(b"{" + whole + b"}"), digests, fields)


def is_pinned(name: str) -> bool:
    """Return whether a member of `_meta` is pinned: it says what a user interface loads."""
    return name == UI or name.startswith(f"{UI}/")


def _pinned(kind: str, value: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the fields that are pinned: all but those that change with the content, and of `_meta` the user interface.

    A member that is null counts as absent.
    """
    for key, part in value.items():
        if part is None or key == VOLATILE.get(kind):
            continue
        if key.startswith(f"{META}."):
            raise ValueError(f"it has a member {key[:60]!r}, which could be taken for one inside {META}")
        if key == META:
            if isinstance(part, dict):
                for name, inner in part.items():
                    if is_pinned(name):
                        yield f"{META}.{name}", inner
        elif key == "annotations" and kind in CONTENT and isinstance(part, dict):
            yield key, {name: inner for name, inner in part.items() if name != DATED}
        else:
            yield key, part


def pinnable(snapshot: Snapshot) -> Snapshot:
    """Return a snapshot without the blanks between tokens.

    Raises:
        ValueError: an entry cannot be read without doubt, or has the name of another.
    """
    lists: dict[str, tuple[msgspec.Raw, ...]] = {}
    for kind, (where, *_) in KINDS.items():
        entries = getattr(snapshot, where)
        check_names(kind, [read_entry(kind, entry).name for entry in entries])
        lists[where] = tuple(map(compact, entries))
    return msgspec.structs.replace(
        snapshot, server_info=compact(snapshot.server_info), capabilities=compact(snapshot.capabilities), **lists
    )
