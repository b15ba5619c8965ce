"""The policy: what is served of a server that changed since it was pinned, and what is blocked. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, cast

import msgspec
from msgspec import UNSET, Raw, UnsetType

from .comparison import EntryChange, compare
from .digest import canonical, decoded
from .fields import RANKS, Prove, prove_here
from .file import LockedServer
from .shown import visible
from .snapshot import KINDS, Snapshot, name_of

__all__ = ["Judgement", "LockPolicy", "Note", "describe", "is_blocked", "judge", "parse_policy", "word_of"]

MAX_NAME_CHARS: Final = 100
MAX_WHY_CHARS: Final = 200
MAX_EXAMPLE_CHARS: Final = 200
LET_THROUGH: Final = frozenset(("compatible", "text"))
PENDING: Final = "changed since it was pinned, and the change is still being compared: call it again in a few seconds"


class LockPolicy(msgspec.Struct, frozen=True):
    """What is done about changes."""

    text: Literal["note", "block"] = "note"
    """About changes of words: the pinned words are served and it is noted, or the entry is blocked."""
    is_off: bool = False
    """Whether the lock is left aside."""


class Note(msgspec.Struct, frozen=True):
    """A line for the log."""

    what: str
    accept: str = ""
    """The name to write behind `--accept`; empty where there is nothing to accept."""


class Judgement(msgspec.Struct, frozen=True):
    """What is served of a server."""

    served: Snapshot
    """What is listed: the pinned entries, those with compatible changes as they are now."""
    blocked: Mapping[tuple[str, str], str]
    """Why an entry cannot be used, by its kind and name: sentences for callers, which name no command."""
    notes: tuple[Note, ...]
    """Lines for the log."""
    changes: int = 0
    """The number of entries that differ from the pinned ones."""
    pending: frozenset[tuple[str, str]] = frozenset()
    """The entries that are blocked only as long as a changed schema is being compared, by kind and name."""


def parse_policy(text: str) -> LockPolicy:
    """Return the policy that `--lock` states.

    Raises:
        ValueError: it is none.
    """
    if text == "off":
        return LockPolicy(is_off=True)
    key, _, value = text.partition("=")
    if key != "text" or value not in {"note", "block"}:
        raise ValueError(f"'{text[:40]}' is no policy of the lock: write text=note, text=block or off")
    return LockPolicy(cast("Literal['note', 'block']", value))


def is_blocked(change: EntryChange, policy: LockPolicy) -> bool:
    """Return whether an entry with this change cannot be used until it is accepted."""
    return not policy.is_off and not (
        change.verdict == "compatible" or (change.verdict == "text" and policy.text == "note")
    )


def judge(locked: LockedServer, now: Snapshot, policy: LockPolicy, prove: Prove = prove_here) -> Judgement:
    """Decide what is served of a server, by what was pinned of it and what it says now."""
    if policy.is_off:
        return Judgement(now, {}, ())
    changes = compare(locked.snapshot, now, prove)
    blocked: dict[tuple[str, str], str] = {}
    pending = frozenset((one.kind, one.name) for one in changes if one.verdict == "pending")
    notes = list(_facts(locked.snapshot, now))
    for change in changes:
        if (change.kind, change.name) in pending:
            blocked[change.kind, change.name] = f"{_subject(change)} {PENDING}"
        elif is_blocked(change, policy):
            sentence = f"{describe(change)}; ask the operator of this server to review the change"
            blocked |= {(change.kind, name): sentence for name in (change.name, change.was or change.name)}
            notes.append(Note(f"blocked: {describe(change)}", word_of(change)))
        else:
            kept = "" if change.verdict == "compatible" else "; the pinned words are served until it is accepted"
            notes.append(Note(f"noted: {describe(change)}{kept}", word_of(change)))
    served = msgspec.structs.replace(_taken_over(locked.snapshot, changes), **_era(now))
    return Judgement(served, blocked, tuple(notes), len(changes), pending)


def _era(now: Snapshot) -> dict[str, object]:
    return {"era": now.era, "version": now.version, "capabilities": now.capabilities}


def _facts(old: Snapshot, now: Snapshot) -> list[Note]:
    """Return notes on what is not pinned."""
    was, is_now = _identity(old), _identity(now)
    if was == is_now:
        return []
    before, after = (visible(one.decode(errors="replace"))[:MAX_WHY_CHARS] for one in (was, is_now))
    return [Note(f"noted: the server was {before} when it was pinned, and is {after}")]


def _identity(snapshot: Snapshot) -> bytes:
    """Return the name and the version of a server in one spelling: blanks and the order of keys mean nothing."""
    info = bytes(snapshot.server_info)
    try:
        return canonical(decoded(info))
    except ValueError:
        return info


def _taken_over(old: Snapshot, changes: tuple[EntryChange, ...]) -> Snapshot:
    """Return what was pinned, with the entries whose changes are all compatible as they are now."""
    newer: dict[tuple[str, str], Raw | UnsetType] = {
        (one.kind, one.name): one.entry for one in changes if one.verdict == "compatible" and one.entry is not UNSET
    }
    if not newer:
        return old
    lists = {
        where: tuple(newer.get((kind, name_of(kind, entry)), entry) for entry in getattr(old, where))
        for kind, (where, _) in KINDS.items()
    }
    return msgspec.structs.replace(old, **lists)


def describe(change: EntryChange) -> str:
    """Return one sentence on a change, with the example that shows it; it is safe to print."""
    subject = _subject(change)
    match change.verdict:
        case "removed":
            return f"{subject} is pinned, and the server no longer has it"
        case "renamed":
            return f"{subject} is {_quoted(change.was)} under another name, and is not pinned"
        case "added":
            why = change.fields[0].why if change.fields else "it is new"
            return f"{subject} is not pinned: {visible(why)[:MAX_WHY_CHARS]}"
    worst = max(change.fields, key=lambda one: RANKS[one.verdict])
    field = f"{worst.field}: " if worst.field and worst.field != change.kind else ""
    example = ""
    if worst.example is not UNSET:
        text = msgspec.json.encode(worst.example).decode()
        cut = text if len(text) <= MAX_EXAMPLE_CHARS else text[:MAX_EXAMPLE_CHARS] + "…"
        example = f", for example {cut}"
    whole = visible(f"{field}{worst.why[:MAX_WHY_CHARS]}{example}", keep="")
    return f"{subject} changed since it was pinned ({change.verdict}): {whole}"


def _subject(change: EntryChange) -> str:
    return f"the {change.kind} {_quoted(change.name)}" if change.name else f"the {change.kind}"


def _quoted(name: str) -> str:
    return f"'{visible(name, keep='')[:MAX_NAME_CHARS]}'"


def word_of(change: EntryChange) -> str:
    """Return the name to write behind `--accept`; one that looks like a flag stands behind its kind."""
    name = visible(change.name or change.kind, keep="")[:MAX_NAME_CHARS]
    return f"{change.kind}:{name}" if name.startswith("-") else name
