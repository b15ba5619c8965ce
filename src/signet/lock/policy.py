"""The policy: what is served of a server that changed since it was pinned, and what is blocked. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, cast

import msgspec
from msgspec import UNSET, Raw

from signet.mcp.snapshot import KINDS, Snapshot
from signet.system.canonical_json import canonical, decoded
from signet.system.text import cut, visible

from .comparison import EntryChange, compare
from .fields import RANKS, Prove, prove_here
from .file import LockedServer
from .words import strings_of

__all__ = ["Judgement", "LockPolicy", "Note", "describe", "is_blocked", "judge", "parse_policy", "word_of"]

MAX_NAME_CHARS: Final = 100
MAX_WHY_CHARS: Final = 200
MAX_EXAMPLE_CHARS: Final = 200
LET_THROUGH: Final = frozenset(("compatible", "text"))
PENDING: Final = "changed since it was pinned, and the change is still being compared: call it again in a few seconds"
FIELDS: Final = frozenset(
    (
        "name", "title", "description", "inputSchema", "outputSchema", "annotations", "icons", "execution", "arguments",
        "uri", "uriTemplate", "mimeType", "instructions", "_meta", "_meta.ui", "_meta.ui/resourceUri"
    )
)  # fmt: skip
"""The members of entries that have a meaning; others are named by the server."""
CAPABILITIES: Final = frozenset(
    (
        "tools", "prompts", "resources", "logging", "completions", "tasks", "experimental", "extensions", "listChanged",
        "subscribe", "list", "cancel", "requests", "call"
    )
)  # fmt: skip
"""The names that the protocol has for what a server can do."""


class LockPolicy(msgspec.Struct, frozen=True):
    """What is done about changes."""

    text: Literal["note", "block"] = "note"
    """About changes of words: the pinned words are served and it is noted, or the entry is blocked."""
    is_off: bool = False
    """Whether the lock is left aside."""
    is_required: bool = False
    """Whether there must be a lock; one that is there must know every server in any case."""


class Note(msgspec.Struct, frozen=True):
    """A line for the log."""

    what: str
    accept: str = ""
    """The name to write behind `--accept`; empty where there is nothing to accept."""


class Judgement(msgspec.Struct, frozen=True):
    """What is served of a server."""

    served: Snapshot
    """The listed entries: as pinned, without any other string."""
    blocked: Mapping[tuple[str, str], str]
    """Why an entry cannot be used, by its kind and name: sentences for callers, without a new word or a command."""
    notes: tuple[Note, ...]
    """Lines for the log."""
    changes: int = 0
    """The number of entries that differ from the pinned ones."""
    pending: frozenset[tuple[str, str]] = frozenset()
    """The entries that are blocked only as long as a changed schema is being compared, by kind and name."""
    wider: Mapping[str, Raw] = {}
    """The new input schemas of tools that take more values than the pinned ones, by name; they are never listed."""


def parse_policy(text: str) -> LockPolicy:
    """Return the policy that `--lock` states: `off`, or `require`, `text=note` and `text=block` with commas between.

    Raises:
        ValueError: it is none.
    """
    if text == "off":
        return LockPolicy(is_off=True)
    policy = LockPolicy()
    for word in text.split(","):
        if word == "require":
            policy = msgspec.structs.replace(policy, is_required=True)
        elif word in {"text=note", "text=block"}:
            texts = cast("Literal['note', 'block']", word.removeprefix("text="))
            policy = msgspec.structs.replace(policy, text=texts)
        else:
            raise ValueError(f"'{text[:40]}' is no policy of the lock: write text=note, text=block, require or off")
    return policy


def is_blocked(change: EntryChange, policy: LockPolicy) -> bool:
    """Return whether an entry with this change cannot be used until it is accepted."""
    return not policy.is_off and not (
        change.verdict == "compatible" or (change.verdict == "text" and policy.text == "note")
    )


def judge(locked: LockedServer, now: Snapshot, policy: LockPolicy, prove: Prove = prove_here) -> Judgement:
    """Decide what is served of a server, by what was pinned of it and what it says now."""
    if policy.is_off:
        return Judgement(now, {}, ())
    pinned = locked.snapshot
    changes = compare(pinned, now, prove)
    blocked: dict[tuple[str, str], str] = {}
    wider: dict[str, Raw] = {}
    pending = frozenset((one.kind, one.name) for one in changes if one.verdict == "pending")
    notes = list(_facts(pinned, now))
    for change in changes:
        if (change.kind, change.name) in pending:
            blocked[change.kind, change.name] = f"{_subject(change)} {PENDING}"
        elif is_blocked(change, policy):
            sentence = f"{_for_callers(change)}; ask the operator of this server to review the change"
            blocked |= {(change.kind, name): sentence for name in (change.name, change.was or change.name)}
            notes.append(Note(f"blocked: {describe(change)}", word_of(change)))
        else:
            wider |= _wider_input(change)
            kept = "words are" if change.verdict == "text" else "entry is"
            what = f"noted: {describe(change)}; the pinned {kept} served until it is accepted"
            notes.append(Note(what, word_of(change)))
    served = msgspec.structs.replace(
        pinned, era=now.era, version=now.version, capabilities=only_known(now.capabilities, pinned.capabilities)
    )
    return Judgement(served, blocked, tuple(notes), len(changes), pending, wider)


def _wider_input(change: EntryChange) -> dict[str, Raw]:
    """Return the new input schema of a tool that was proven to take all that the pinned one takes, and more."""
    takes_more = any(one.field == "inputSchema" and one.verdict == "compatible" for one in change.fields)
    if change.kind != "tool" or not takes_more or change.entry is UNSET:
        return {}
    schema = msgspec.json.decode(change.entry, type=dict[str, Raw]).get("inputSchema")
    return {} if schema is None else {change.name: schema}


def only_known(now: Raw, pinned: Raw) -> Raw:
    """Return the capabilities of a server, without what neither the protocol nor the lock has a word for."""
    try:
        before = decoded(bytes(pinned))
        known = {*CAPABILITIES, *strings_of(before)}
        return Raw(msgspec.json.encode(_only(decoded(bytes(now)), known)))
    except (ValueError, RecursionError):
        return pinned


def _only(value: Any, known: set[str]) -> Any:
    if isinstance(value, dict):
        return {
            key: _only(one, known)
            for key, one in value.items()
            if key in known and (not isinstance(one, str) or one in known)
        }
    if isinstance(value, list):
        return [_only(one, known) for one in value if not isinstance(one, str) or one in known]
    return value


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


def _for_callers(change: EntryChange) -> str:
    """Return what a model may read of a change: the pinned name, and which fields changed, but no word of theirs.

    The operator reads the whole change in the log, and from `signet lock`.
    """
    if change.verdict in {"added", "renamed"} and not change.was:
        return f"this {change.kind} is not pinned"
    if change.verdict == "renamed":
        return f"the {change.kind} {_quoted(change.was)} is pinned, and the server has it under another name"
    if change.verdict == "removed":
        return describe(change)
    if change.entry is UNSET and change.kind in KINDS:
        return f"the server lists a {change.kind} in a way that leaves doubt"
    subject = f"the {change.kind} {_quoted(change.name)}" if change.name else f"the {change.kind}"
    named = (one.field if one.field in FIELDS else "another member" for one in change.fields if one.field)
    fields = ", ".join(dict.fromkeys(one for one in named if one != change.kind))
    return f"{subject} changed since it was pinned ({change.verdict}{f': {fields}' if fields else ''})"


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
        example = f", for example {cut(text, MAX_EXAMPLE_CHARS)}"
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
