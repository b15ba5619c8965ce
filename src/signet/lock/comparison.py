"""Comparison: an old and a new snapshot, entry by entry and field by field. Pure.

compare ──▶ bytes equal?      nothing more is done
   │   └──▶ digests equal?    other order or spelling, nothing else
   │   └──▶ compare_field     what each change means
   └──────▶ renames            gone and new, with like schema and words
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, Raw

from signet.mcp.snapshot import INSTRUCTIONS, KINDS, Snapshot, compact, name_of
from signet.system.canonical_json import decoded

from .entries import META, Entry, is_pinned, read_entry
from .fields import RANKS, SIDES, FieldChange, Prove, compare_field, prove_here
from .words import danger_of, strings_of

__all__ = ["EntryChange", "compare"]

MAX_PROOFS: Final = 200
"""The most schemas of two snapshots that are compared; the others that changed count as breaking."""
MAX_CANDIDATES: Final = 20
"""The most new entries that are looked at for one that is gone."""
LIKE: Final = 0.6
"""The share of common words from which on two descriptions are alike."""


class EntryChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """How one entry changed."""

    kind: str
    name: str
    verdict: Literal["compatible", "text", "pending", "widened", "breaking", "added", "removed", "renamed"]
    fields: tuple[FieldChange, ...] = ()
    was: str = ""
    """The old name of an entry that was renamed."""
    entry: Raw | msgspec.UnsetType = UNSET
    """The new value."""


class _Budget:
    """What compares schemas, and how many may still be compared."""

    def __init__(self, prove: Prove) -> None:
        self._prove = prove
        self._left = MAX_PROOFS

    def take(self) -> Prove | None:
        """Return what compares one schema more, if there is one more."""
        self._left -= 1
        return self._prove if self._left >= 0 else None


def compare(old: Snapshot, new: Snapshot, prove: Prove = prove_here) -> tuple[EntryChange, ...]:
    """Return the entries of a server that changed, by kind, in the order of the lists; what is the same is left out.

    What a server says is compared with limits by `signet.proofs.snapshots`.
    """
    budget = _Budget(prove)
    changes = list(_instructions(old.instructions, new.instructions))
    for kind, (where, *_) in KINDS.items():
        changes += _kind(kind, getattr(old, where), getattr(new, where), budget)
    return tuple(changes)


def _instructions(old: str, new: str) -> Iterator[EntryChange]:
    if old != new:
        danger = danger_of(old, new)
        change = FieldChange(
            INSTRUCTIONS, "widened" if danger else "text", danger or "its text changed", UNSET, old, new
        )
        yield EntryChange(INSTRUCTIONS, "", change.verdict, (change,))  # type: ignore[arg-type] # never "same"


def _kind(kind: str, old: tuple[Raw, ...], new: tuple[Raw, ...], budget: _Budget) -> list[EntryChange]:
    before, _ = _by_name(kind, old)
    after, flaws = _by_name(kind, new)
    changes = [change for name in before if name in after for change in _both(kind, before[name], after[name], budget)]
    removed = [name for name in before if name not in after]
    added = [name for name in after if name not in before]
    renamed = _renames(kind, removed, added, before, after)
    taken = set(renamed.values())
    changes += [_renamed(kind, pair, before[pair[0]], after[pair[1]], budget) for pair in renamed.items()]
    changes += [EntryChange(kind, name, "removed") for name in removed if name not in renamed]
    folded = {name.casefold(): name for name in before}
    changes += [_added(kind, name, after[name], folded) for name in added if name not in taken]
    return changes + flaws


def _by_name(kind: str, entries: tuple[Raw, ...]) -> tuple[dict[str, Raw], list[EntryChange]]:
    """Return entries by their names, and a change for each that cannot be used."""
    found: dict[str, Raw] = {}
    flaws: list[EntryChange] = []
    for entry in entries:
        try:
            name = name_of(kind, entry)
        except ValueError as error:
            flaws.append(EntryChange(kind, "", "breaking", (FieldChange("", "breaking", str(error)),)))
            continue
        if name in found:
            flaws.append(EntryChange(kind, name, "breaking", (FieldChange("", "breaking", "it is listed twice"),)))
        found.setdefault(name, entry)
    return found, flaws


def _both(kind: str, old: Raw, new: Raw, budget: _Budget) -> Iterator[EntryChange]:
    """Yield the change of an entry that both snapshots have, if there is one."""
    if bytes(old) == bytes(new):
        return
    name = name_of(kind, new)
    try:
        before, after, entry = read_entry(kind, old), read_entry(kind, new), compact(new)
    except ValueError as error:
        yield EntryChange(kind, name, "breaking", (FieldChange("", "breaking", f"it cannot be read: {error}"),))
        return
    fields = (*_fields(kind, before, after, budget), *_metadata(old, new))
    if fields:
        verdict: Any = max((field.verdict for field in fields), key=RANKS.__getitem__)
        yield EntryChange(kind, name, verdict, fields, entry=entry)


def _fields(kind: str, old: Entry, new: Entry, budget: _Budget) -> Iterator[FieldChange]:
    if old.digest == new.digest:
        return
    for field in dict.fromkeys((*old.digests, *new.digests)):
        if old.digests.get(field) == new.digests.get(field):
            continue
        before, after = old.fields.get(field, UNSET), new.fields.get(field, UNSET)
        prove = budget.take() if field in (*SIDES, "arguments") else None
        yield from compare_field(kind, field, before, after, prove)


def _metadata(old: Raw, new: Raw) -> Iterator[FieldChange]:
    """Yield the change of metadata that has new strings; what else changes in it is not pinned."""
    before, after = (_metadata_of(one) for one in (old, new))
    if set(strings_of(after)) - set(strings_of(before)):
        yield FieldChange(META, "text", "it has new words", UNSET, before, after)


def _metadata_of(entry: Raw) -> Any:
    """Return the metadata of an entry but for what is pinned of it."""
    meta = decoded(bytes(entry)).get(META) or {}
    return {key: value for key, value in meta.items() if not is_pinned(key)} if isinstance(meta, dict) else meta


def _added(kind: str, name: str, entry: Raw, folded: dict[str, str]) -> EntryChange:
    like = folded.get(name.casefold(), "")
    why = f"its name differs from {like!r} in case only" if like else "it is new"
    return EntryChange(kind, name, "added", (FieldChange("", "widened", why),), entry=entry)


def _renamed(kind: str, names: tuple[str, str], old: Raw, new: Raw, budget: _Budget) -> EntryChange:
    was, name = names
    key = KINDS[kind].key
    changed = _fields(kind, read_entry(kind, old), read_entry(kind, new), budget)
    fields = (FieldChange(key, "breaking", f"it was {was!r}"), *(one for one in changed if one.field != key))
    return EntryChange(kind, name, "renamed", fields, was, entry=compact(new))


def _renames(
    kind: str, removed: list[str], added: list[str], before: dict[str, Raw], after: dict[str, Raw]
) -> dict[str, str]:
    """Pair entries that are gone with new ones that take the same arguments and have like words: old name to new."""
    places: dict[tuple[str, ...], dict[str, set[str]]] = {}
    for name in added:
        shape, words = _likeness(kind, after[name])
        places.setdefault(shape, {})[name] = words
    pairs: dict[str, str] = {}
    for was in removed:
        shape, words = _likeness(kind, before[was])
        candidates = places.get(shape, {})
        scored = [(_common(words, others), name) for name, others in islice(candidates.items(), MAX_CANDIDATES)]
        score, name = max(scored, default=(0.0, ""))
        if score >= LIKE:
            pairs[was] = name
            del candidates[name]
    return pairs


def _common(words: set[str], others: set[str]) -> float:
    return len(words & others) / len(words | others) if words | others else 1.0


def _likeness(kind: str, text: Raw) -> tuple[tuple[str, ...], set[str]]:
    """Return by what two entries are alike: the names of the arguments, and the words of the description."""
    try:
        fields = read_entry(kind, text).fields
    except ValueError:
        return ("", bytes(text).hex()), set()
    words = set(str(fields.get("description", "")).casefold().split())
    if kind == "tool":
        schema = fields.get("inputSchema")
        names = schema.get("properties") if isinstance(schema, dict) else None
        return ("tool", *sorted(names if isinstance(names, dict) else ())), words
    arguments = fields.get("arguments")
    named = [one for one in arguments if isinstance(one, dict)] if isinstance(arguments, list) else []
    return (kind, *sorted(str(one.get("name")) for one in named)), words or {str(fields.get("name", ""))}
