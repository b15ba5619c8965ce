"""Snapshots: everything that a server says about itself, as it wrote it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from .digest import canonical, decoded, digest_of

__all__ = [
    "INSTRUCTIONS",
    "KINDS",
    "META",
    "Entry",
    "Snapshot",
    "compact",
    "entries_of",
    "is_pinned",
    "name_of",
    "read_entry",
]

INSTRUCTIONS: Final = "instructions"
KINDS: Final = {
    "tool": ("tools", "name"),
    "prompt": ("prompts", "name"),
    "resource": ("resources", "uri"),
    "template": ("templates", "uriTemplate"),
}
"""The kinds of entries: where a snapshot has them, and the member that names one."""
VOLATILE: Final = {"resource": "size"}
"""A member that changes with the content, not with what is promised."""
CONTENT: Final = ("resource", "template")
DATED: Final = "lastModified"
"""The annotation of content that changes with it."""
META: Final = "_meta"
UI: Final = "ui"


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


class Entry(msgspec.Struct, frozen=True):
    """One tool, prompt, resource or template, as far as it is pinned."""

    name: str
    digest: str
    digests: dict[str, str]
    """The digest of each field."""
    fields: dict[str, Any]


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


def read_entry(kind: str, entry: bytes) -> Entry:
    """Return an entry with the digests of its fields.

    Raises:
        ValueError: it cannot be read without doubt.
    """
    value = decoded(bytes(entry))
    name = value.get(KINDS[kind][1]) if isinstance(value, dict) else None
    if not isinstance(name, str):
        raise ValueError(f"it has no {KINDS[kind][1]}")  # noqa: TRY004 - the text is wrong, not a type
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
