"""The command `signet lock`: pin what servers say about themselves, show what changed, accept it."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections import Counter
from collections.abc import Iterable
from typing import Final

import msgspec

from signet.commands.terminal import write, write_json
from signet.lock.comparison import EntryChange
from signet.lock.file import Lock, LockedServer, LockError, changing_lock, read_lock, write_lock
from signet.lock.policy import word_of
from signet.mcp.snapshot import INSTRUCTIONS, KINDS, Snapshot, entries_of, name_of
from signet.proofs.changes import compare_snapshots
from signet.relay.server_snapshot import SnapshotError, take_snapshot
from signet.settings.server_spec import ServerSpec
from signet.settings.usage import UsageError
from signet.system.text import visible

from .report import as_json, as_text, pinned_line
from .sources import add_lock_file, add_sources, advice_for, read_specs, say_why, unwind_on_signals

__all__ = ["BLOCKED", "CHANGED", "UNREADABLE", "add"]

CHANGED: Final = 10
BLOCKED: Final = 11
UNREADABLE: Final = 12
LET_THROUGH: Final = ("compatible", "text")

EPILOG: Final = """\
The first run writes the lock and lists what was pinned. Later runs show what changed since, and write nothing unless it
is accepted. Commit the lock: 'signet wrap' serves what it says, and blocks what is not accepted.
Behind --accept stands the name of a tool, a prompt or a server, the URI of a resource, or 'instructions'; where several
have one name, KIND:NAME or SERVER/NAME.
The exit status is 0 if nothing waits for acceptance, 10 if there are changes that are let through (compatible ones and
texts), 11 if there are others, 12 if a server or the lock cannot be read.

examples:
  signet lock -- npx -y @modelcontextprotocol/server-everything
  signet lock --check                        the servers of signet.toml, in CI
  signet lock --accept echo -- npx -y @modelcontextprotocol/server-everything
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `signet lock`."""
    parser.epilog = EPILOG
    parser.usage = "signet lock [options] [-- COMMAND ...]"
    text = "accept the changes of an entry, or a new server, and write the lock; repeatable"
    parser.add_argument("--accept", metavar="NAME", action="append", nargs="+", default=[], help=text)
    parser.add_argument("--accept-all", action="store_true", help="accept all changes and write the lock")
    parser.add_argument("--check", action="store_true", help="write nothing, not even a first lock")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_lock_file(parser)
    add_sources(parser)
    parser.set_defaults(run=_run)


class _Subject(msgspec.Struct):
    """One server: what is pinned of it, what it says now, and what waits for acceptance."""

    spec: ServerSpec
    now: Snapshot
    locked: LockedServer | None
    changes: list[EntryChange]


def _run(args: argparse.Namespace) -> int:
    """Ask the servers, compare, and write what is accepted."""
    if args.check and (args.accept or args.accept_all):
        raise UsageError("--check writes nothing: leave out --accept and --accept-all")
    unwind_on_signals()
    specs = read_specs(args)
    try:
        _read(args)  # an unreadable lock is reported before a server is started
        said = [(spec, take_snapshot(spec, args.timeout_s)) for spec in specs]
        with contextlib.nullcontext() if args.check else changing_lock(args.lock_file):
            subjects, accepted = _compare(said, args)
    except (LockError, SnapshotError) as error:
        say_why(error, specs, args)
        return UNREADABLE
    _show(subjects, args, accepted)
    return max(map(_status, subjects))


def _read(args: argparse.Namespace) -> Lock | None:
    """Return the lock; None if there is none yet and this run may write the first one."""
    return None if not args.check and not os.path.lexists(args.lock_file) else read_lock(args.lock_file)


def _compare(said: list[tuple[ServerSpec, Snapshot]], args: argparse.Namespace) -> tuple[list[_Subject], list[str]]:
    """Compare what servers say with the lock, write what is accepted, and return both."""
    read = _read(args)
    lock = Lock({}) if read is None else read
    subjects = [_subject(spec, now, lock.servers.get(spec.name)) for spec, now in said]
    accepted = _accept(subjects, args, is_first=read is None)
    if accepted:
        for subject in subjects:
            if subject.locked is not None:
                lock = lock.with_server(subject.locked)
        write_lock(args.lock_file, lock)
    return subjects, accepted


def _subject(spec: ServerSpec, now: Snapshot, locked: LockedServer | None) -> _Subject:
    return _Subject(spec, now, locked, [] if locked is None else list(compare_snapshots(locked.snapshot, now)))


def _status(subject: _Subject) -> int:
    if subject.locked is None:
        return BLOCKED
    if all(change.verdict in LET_THROUGH for change in subject.changes):
        return CHANGED if subject.changes else 0
    return BLOCKED


def _accept(subjects: list[_Subject], args: argparse.Namespace, *, is_first: bool) -> list[str]:
    """Accept what the arguments name, and return a line for each thing that is accepted."""
    names = [name for group in args.accept for name in group]
    unused = set(names)
    lines: list[str] = []
    for subject in subjects:
        server = subject.spec.name
        if subject.locked is None:
            if not (is_first or args.accept_all or server in names):
                continue
            unused.discard(server)
            subject.locked = _pinned(subject.spec, subject.now)
            lines.append(pinned_line(server, Counter(kind for kind, _ in entries_of(subject.now))))
            continue
        chosen = [one for one in subject.changes if args.accept_all or _names_of(server, one) & set(names)]
        if chosen or server in names:
            chosen = subject.changes if server in names else chosen
            subject.locked = _pinned(subject.spec, _with(subject.locked.snapshot, subject.now, chosen))
            subject.changes = [one for one in subject.changes if one not in chosen]
            lines += [f"{server}: accepted {one.kind} {visible(one.name, keep='')}".rstrip() for one in chosen]
        unused -= {server, *(name for one in chosen for name in _names_of(server, one))}
    if unused:
        raise UsageError(f"nothing named {', '.join(sorted(map(visible, unused)))} waits for acceptance")
    return lines


def _names_of(server: str, change: EntryChange) -> set[str]:
    """Return the words by which a change can be accepted."""
    names = {change.name, change.was} - {""} or {change.kind}
    names |= {visible(name, keep="")[:100] for name in names}
    return {word for name in names for word in (name, f"{change.kind}:{name}", f"{server}/{name}")}


def _pinned(spec: ServerSpec, snapshot: Snapshot) -> LockedServer:
    return LockedServer(name=spec.name, command=spec.command, url=spec.url, snapshot=snapshot)


def _with(old: Snapshot, now: Snapshot, accepted: Iterable[EntryChange]) -> Snapshot:
    """Return what was pinned, with the entries that are accepted as they are now, in the order of now."""
    taken = {(one.kind, name) for one in accepted for name in (one.name, one.was or one.name)}
    lists = {}
    for kind, (where, *_) in KINDS.items():
        before = {name_of(kind, entry): entry for entry in getattr(old, where)}
        after = {name_of(kind, entry): entry for entry in getattr(now, where)}
        kept = {name: entry for name, entry in before.items() if (kind, name) not in taken}
        newer = {name: entry for name, entry in after.items() if (kind, name) in taken}
        order = dict.fromkeys((*after, *before))
        lists[where] = tuple({**kept, **newer}[name] for name in order if name in kept or name in newer)
    says = now.instructions if (INSTRUCTIONS, "") in taken else old.instructions
    return msgspec.structs.replace(now, instructions=says, **lists)


def _show(subjects: list[_Subject], args: argparse.Namespace, accepted: list[str]) -> None:
    waiting = {subject.spec.name: subject.changes for subject in subjects}
    unknown = [subject.spec for subject in subjects if subject.locked is None]
    if args.json:
        write_json(as_json(waiting, lock=args.lock_file, accepted=accepted, unknown=[one.name for one in unknown]))
        return
    for name, changes in waiting.items():
        if changes:
            write(as_text(name, changes) + "\n")
    for line in accepted:
        write(line)
    for spec in unknown:
        write(f"{spec.name}: nothing is pinned; accept it: {advice_for('accept', [spec], args, name=spec.name)}")
    if not accepted and not unknown and not any(waiting.values()):
        write(f"all as pinned in {args.lock_file}")
    elif any(waiting.values()):
        first = next(subject for subject in subjects if subject.changes)
        one = advice_for("accept", [first.spec], args, name=word_of(first.changes[0]))
        write(f"accept one: {one}")
        write(f"accept all: {advice_for('accept_all', [subject.spec for subject in subjects], args)}")
