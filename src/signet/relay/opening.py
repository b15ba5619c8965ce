"""Opening the relay: the wrapped servers of a process, each with its link, pinned by the lock if there is one."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from signet.kernel.protocol import Identity
from signet.kernel.schemas import SchemaRegistry
from signet.kernel.tools import Toolbox
from signet.lock.file import Lock, LockedServer, LockError, read_lock
from signet.lock.policy import judge, parse_policy
from signet.lock.snapshot import Snapshot

from .blocking import Blocked
from .catalogue import Catalogue
from .link import Link
from .relay import ServerRelay
from .server_spec import ServerSpec, Wrapping
from .wrapped_server import Listeners, WrappedServer

if TYPE_CHECKING:
    from .tape import TapeWriter
    from .tape_reader import TapeReader

__all__ = ["LockError", "open_relay"]

MAX_NOTES: Final = 100
"""How many changes of a server are told at once, each of them once for as long as it lasts."""
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
        LockError: there is a lock that cannot be read.
        LinkError: a tape cannot be recorded or replayed.
        ValueError: the policy of the lock is none, or learned contracts cannot be read.
    """
    relay = ServerRelay(log)
    notices = relay.notices
    listeners = Listeners(
        notified=notices.notified, begun=notices.begun, lost=notices.lost, sessions=notices.sessions, log=log
    )
    lock = _lock_of(wrapping, log)
    servers = []
    for spec in wrapping.servers:
        locked = lock.servers.get(spec.name) if lock is not None else None
        links = _Links(spec, wrapping, secrets, log)
        links.open_tape(locked)
        server = WrappedServer(spec, links.link, listeners, is_private=wrapping.is_private)
        relay.on_close.append(links.close)
        if locked is not None:
            _pin(server, locked, wrapping, log)
        elif lock is not None:
            log("lock.unpinned", server=spec.name, why=f"{wrapping.lock_file} pins no server of this name")
        servers.append(server)
    relay.catalogue = notices.catalogue = Catalogue(
        servers, toolbox, registry, identity, prefixed=wrapping.prefixed, log=log, instructions=instructions
    )
    return relay


def _lock_of(wrapping: Wrapping, log: Log) -> Lock | None:
    if parse_policy(wrapping.lock).is_off:
        return None
    try:
        os.lstat(wrapping.lock_file)
    except FileNotFoundError:
        log("lock.missing", why=f"nothing is pinned: write {wrapping.lock_file} with 'signet lock'")
        return None
    except (OSError, ValueError):
        pass  # There may be one behind what cannot be looked at: reading it says why it cannot be.
    return read_lock(wrapping.lock_file)


def _pin(server: WrappedServer, locked: LockedServer, wrapping: Wrapping, log: Log) -> None:
    """Serve what is pinned, and judge each new instance by it before it is used."""
    policy = parse_policy(wrapping.lock)
    server.pinned = locked.snapshot
    told: set[str] = set()

    async def judged(now: Snapshot) -> Blocked:
        # Schemas that a server chose are compared: that must not hold up the others.
        judgement = await asyncio.to_thread(judge, locked, now, policy)
        fresh = [note for note in judgement.notes if note not in told]
        told.clear()
        told.update(judgement.notes)
        for note in fresh[:MAX_NOTES]:
            log("lock.note", server=server.name, what=note)
        if len(fresh) > MAX_NOTES:
            log("lock.note", server=server.name, what=f"{len(fresh) - MAX_NOTES} more; look with 'signet lock'")
        if judgement.served != server.pinned:
            server.pinned = judgement.served
            if server.on_repinned is not None:
                server.on_repinned()
        return judgement.blocked

    server.judge = judged


class _Links(msgspec.Struct):
    """Makes the links to one server, which share a tape where there is one."""

    spec: ServerSpec
    wrapping: Wrapping
    secrets: tuple[str, ...]
    log: Log
    recorded: TapeWriter | None = None
    replayed: TapeReader | None = None

    def open_tape(self, locked: LockedServer | None) -> None:
        """Open the tape that is recorded or replayed; say where a replayed one differs from the lock."""
        if self.spec.tape:
            self._open_replay(locked)
        elif self.wrapping.record:
            from .tape import TapeWriter

            warn = partial(self.log, "tape.unwritten", server=self.spec.name)
            folder = self.wrapping.record
            folder = os.path.join(folder, self.spec.name) if len(self.wrapping.servers) > 1 else folder
            self.recorded = TapeWriter(folder, self.spec, self.secrets, lambda why: warn(why=why))

    def _open_replay(self, locked: LockedServer | None) -> None:
        from .tape import read_label
        from .tape_reader import TapeReader

        read_label(self.spec.tape)
        self.replayed = TapeReader(self.spec.tape)
        if locked is not None:
            from .tape_check import check_tape

            for what in check_tape(self.replayed, locked.snapshot):
                self.log("tape.differs", server=self.spec.name, what=what)

    def link(self) -> Link:
        """Return a new link to the server: its recording, its URL or its command."""
        spec, log = self.spec, partial(self.log, server=self.spec.name)
        if self.replayed is not None:
            from .tape_link import TapeLink

            return TapeLink(self.replayed, self.secrets)
        if spec.url:
            from .http_link import HttpLink

            link: Link = HttpLink(spec.url, spec.headers, log=lambda line: log("server.http", what=line))
        else:
            from .child_link import ChildLink

            link = ChildLink(spec, lambda line: log("server.stderr", line=line))
        if self.recorded is None:
            return link
        from .recording_link import RecordingLink

        return RecordingLink(link, self.recorded)

    def close(self) -> None:
        """Write the rest of the tape."""
        for tape in (self.recorded, self.replayed):
            if tape is not None:
                tape.close()
