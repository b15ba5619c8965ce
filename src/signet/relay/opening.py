"""Opening the relay: the wrapped servers of a process, each with its link, pinned by the lock if there is one."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from signet.kernel.protocol import Identity
from signet.kernel.schemas import SchemaRegistry
from signet.kernel.tools import Toolbox
from signet.lock.file import Lock, LockedServer, LockError, read_lock
from signet.lock.policy import Judgement, Note, judge, parse_policy
from signet.mcp.link import Link
from signet.settings.server_spec import ServerSpec, Wrapping
from signet.system.advice import advise
from signet.system.recording_redactor import TEXT_REMOVED
from signet.system.redaction import SecretRedactor

from .catalogue import Catalogue
from .judging import Judge, places
from .links import child_link, http_link
from .redacting_link import RedactingLink, echo_redactor, snapshot_without
from .relay import ServerRelay
from .wrapped_server import Listeners, WrappedServer

if TYPE_CHECKING:
    from signet.recording.message_reader import MessageReader
    from signet.recording.message_writer import MessageWriter
    from signet.system.threads import WorkPlaces

__all__ = ["ODD_CHARS", "PLAIN_CHARS", "LockError", "open_relay"]

MAX_NOTES: Final = 100
"""How many changes of a server are told at once, each of them once for as long as it lasts."""
PLAIN_CHARS: Final = 1_700
ODD_CHARS: Final = 550
"""How much of one line is written: in plain letters, which quoting may double, or in others, which it may make six
times as long. A line must fit into the least room that a pipe has (4 KiB): nobody may read it."""
Log = Callable[..., None]


def open_relay(
    wrapping: Wrapping,
    toolbox: Toolbox,
    registry: SchemaRegistry,
    identity: Identity,
    *,
    log: Log,
    secrets: tuple[str, ...] = (),
    instructions: str = "",
) -> ServerRelay:
    """Return the relay of some servers; none of them is started before somebody needs it.

    Raises:
        LockError: there is a lock that cannot be read, or knows no server; or a lock that must be there is not.
        UsageError: a server cannot be recorded, or was not.
        LinkError: a recording cannot be replayed.
        ValueError: the policy of the lock is none, or learned contracts cannot be read.
    """
    relay = ServerRelay(log)
    notices = relay.notices
    listeners = Listeners(
        notified=notices.notified, begun=notices.begun, lost=notices.lost, sessions=notices.sessions, log=log
    )
    lock = _lock_of(wrapping, log)
    servers, shared = [], cache(places)
    for spec in _known(wrapping, lock, log, is_alone=not any(toolbox.groups)):
        locked = lock.servers.get(spec.name) if lock is not None else None
        links = _Links(spec, secrets, log, echo_redactor(spec))
        links.open_recording(locked)
        server = WrappedServer(spec, links.link, listeners, is_private=wrapping.is_private)
        relay.on_close.append(links.close)
        if locked is not None:
            locked = msgspec.structs.replace(locked, snapshot=snapshot_without(links.redactor, locked.snapshot))
            relay.on_close.append(_pin(server, locked, wrapping, log, shared).close)
        servers.append(server)
    prefixed, limited = wrapping.prefixed, wrapping.limited
    made = partial(Catalogue, servers, toolbox, registry, identity, prefixed=prefixed, limited=limited)
    relay.catalogue = notices.catalogue = made(log=log, instructions=instructions)
    return relay


def _known(wrapping: Wrapping, lock: Lock | None, log: Log, *, is_alone: bool) -> list[ServerSpec]:
    """Return the servers that are served: without a lock all; with one those that it knows, and recordings.

    Raises:
        LockError: it knows none of them, and there is nothing else to serve.
    """
    specs = [_recorded_or_played(spec, wrapping) for spec in wrapping.servers]
    if lock is None:
        return specs
    is_required = parse_policy(wrapping.lock).is_required
    unknown = [spec for spec in specs if spec.name not in lock.servers and (is_required or not spec.tape)]
    served = [spec for spec in specs if spec not in unknown]
    names = ", ".join(f"'{spec.name}'" for spec in unknown)
    if unknown and not served and is_alone:
        name = unknown[0].name if len(unknown) == 1 else ""
        advised = _advice("accept" if name else "accept_all", unknown, wrapping, name=name)
        raise LockError(f"{wrapping.lock_file} does not pin {names}{_as_command('pin it', advised)}")
    for spec in specs:
        if spec.name not in lock.servers:
            why = f"{wrapping.lock_file} does not pin this server"
            why += "" if spec in served else ": it is not served until it is pinned"
            advised = _advice("accept", [spec], wrapping, name=spec.name)
            _tell(log, "lock.unpinned", {"server": spec.name, "why": why}, advised)
    return served


def _recorded_or_played(spec: ServerSpec, wrapping: Wrapping) -> ServerSpec:
    """Return a server that is recorded into, or played from, the folder of a recording.

    A server that its own settings play from a recording is played from that one.
    """
    if spec.tape or not wrapping.replay:
        return replace(spec, record="" if spec.tape else wrapping.record)
    from signet.recording.folder import read_recording

    return replace(spec, tape=read_recording(wrapping.replay).servers[spec.name], command=(), url="")


def _as_command(what: str, advised: Mapping[str, str]) -> str:
    """Return the end of a sentence: what to do, and the command for it if there is one."""
    return "".join(f"; {what}: {command}" for command in advised.values())


def _lock_of(wrapping: Wrapping, log: Log) -> Lock | None:
    policy = parse_policy(wrapping.lock)
    if policy.is_off:
        return None
    try:
        os.lstat(wrapping.lock_file)
    except FileNotFoundError:
        pin = _advice("pin", wrapping.servers, wrapping)
        path = os.path.abspath(wrapping.lock_file)
        if wrapping.lock_is_named or policy.is_required:
            raise LockError(f"there is no lock {path}{_as_command('write it', pin)}") from None
        _tell(log, "lock.missing", {"why": f"there is no {path}, so that nothing is pinned"}, pin)
        return None
    except (OSError, ValueError):
        pass  # There may be one behind what cannot be looked at: reading it says why it cannot be.
    return read_lock(wrapping.lock_file)


def _advice(action: str, specs: Sequence[ServerSpec], wrapping: Wrapping, name: str = "") -> dict[str, str]:
    """Return the command that an operator can paste, as a fact for the log; nothing if there is none."""
    from .spec_secrets import lock_words

    words = lock_words(specs, wrapping.lock_file, os.environ)
    if words is None:
        return {}
    situation = f"lock.{action}"
    return {action: advise(situation, server=words, name=name) if name else advise(situation, server=words)}


def _tell(log: Log, event: str, facts: dict[str, str], advised: dict[str, str]) -> None:
    """Log an event and the command for it: in one line, in two if it would be too long, and a cut command never."""
    whole = "".join((*facts.values(), *advised.values()))
    if len(whole) <= _room_for(whole):
        log(event, **facts, **advised)
        return
    log(event, **facts)
    if all(len(command) <= _room_for(command) for command in advised.values()):
        log("lock.advice", **advised)


def _room_for(text: str) -> int:
    return PLAIN_CHARS if text.isascii() and text.isprintable() else ODD_CHARS


def _pin(
    server: WrappedServer, locked: LockedServer, wrapping: Wrapping, log: Log, shared: Callable[[], WorkPlaces]
) -> Judge:
    """Serve what is pinned, and judge each new instance by it before it is used."""
    server.pinned = locked.snapshot
    server.standing.judged(0, 0)
    told: set[Note] = set()
    specs = [server.spec]

    def tell(judgement: Judgement) -> None:
        server.standing.judged(judgement.changes, len(judgement.blocked))
        fresh = [note for note in judgement.notes if note not in told]
        told.clear()
        told.update(judgement.notes)
        for note in fresh[:MAX_NOTES]:
            advised = _advice("accept", specs, wrapping, name=note.accept) if note.accept else {}
            _tell(log, "lock.note", {"server": server.name, "what": note.what}, advised)
        if len(fresh) > MAX_NOTES:
            more = f"{len(fresh) - MAX_NOTES} more changes"
            _tell(log, "lock.note", {"server": server.name, "what": more}, _advice("show", specs, wrapping))
        if (judgement.served, judgement.wider) != (server.pinned, server.wider):
            server.pinned, server.wider = judgement.served, judgement.wider
            if server.on_repinned is not None:
                server.on_repinned()

    found = Judge(server.name, partial(judge, locked, policy=parse_policy(wrapping.lock)), tell, shared)
    server.judge = found.judged
    return found


class _Links(msgspec.Struct):
    """Makes the links to one server, which share a recording where there is one."""

    spec: ServerSpec
    secrets: tuple[str, ...]
    log: Log
    redactor: SecretRedactor | None = None
    """Removes the secrets of the operator from what the server says."""
    recorded: MessageWriter | None = None
    replayed: MessageReader | None = None

    def open_recording(self, locked: LockedServer | None) -> None:
        """Open the recording that is made or replayed, and log where a replayed one differs from the lock.

        Raises:
            UsageError: it cannot be made.
            LinkError: it cannot be replayed.
        """
        if self.spec.tape:
            self._open_replay(locked)
        elif self.spec.record:
            self._open_record()

    def _open_record(self) -> None:
        from signet.recording.message_writer import MessageWriter

        from .spec_secrets import secrets_of, shown_source

        spec, log = self.spec, partial(self.log, server=self.spec.name)
        self.recorded = MessageWriter(
            spec.record,
            spec.name,
            shown_source(spec),
            secrets=(*self.secrets, *secrets_of(spec)),
            warn=lambda why: log("record.unwritable", why=why),
            report=lambda name: log("record.redacted", what=name, why=TEXT_REMOVED),
        )

    def _open_replay(self, locked: LockedServer | None) -> None:
        from signet.recording.message_reader import MessageReader

        self.replayed = MessageReader(self.spec.tape, self.spec.name)
        if locked is not None:
            from signet.recording.lock_check import check_recording

            for what in check_recording(self.replayed, locked.snapshot):
                self.log("record.differs", server=self.spec.name, what=what)

    def link(self) -> Link:
        """Return a new link to the server: its recording, its URL or its command."""
        spec, log = self.spec, partial(self.log, server=self.spec.name)
        if self.replayed is not None:
            from signet.recording.playback import PlaybackLink

            return PlaybackLink(self.replayed, self.secrets)
        if spec.url:
            link = http_link(spec, lambda line: log("server.http", what=line))
        else:
            link = child_link(spec, lambda line: log("server.stderr", line=line))
        if self.redactor is not None:
            link = RedactingLink(link, self.redactor)
        if self.recorded is None:
            return link
        from signet.recording.message_writer import RecordingLink

        return RecordingLink(link, self.recorded)

    def close(self) -> None:
        """Write the rest of the recording."""
        for recording in (self.recorded, self.replayed):
            if recording is not None:
                recording.close()
