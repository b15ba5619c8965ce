"""Opening the relay: the wrapped servers of a process, each with its link, pinned by the lock if there is one."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

from signet.kernel.protocol import Identity
from signet.kernel.schemas import SchemaRegistry
from signet.kernel.tools import Toolbox
from signet.lock.file import Lock, LockedServer, LockError, read_lock
from signet.lock.policy import judge, parse_policy
from signet.lock.snapshot import Snapshot

from .catalogue import Catalogue
from .link import Link
from .relay import ServerRelay
from .server_spec import ServerSpec, Wrapping
from .wrapped_server import Listeners, WrappedServer

__all__ = ["LockError", "open_relay"]

Log = Callable[..., None]


def open_relay(
    wrapping: Wrapping,
    toolbox: Toolbox,
    registry: SchemaRegistry,
    identity: Identity,
    *,
    log: Log,
    instructions: str = "",
) -> ServerRelay:
    """Return the relay of some servers; none of them is started before somebody needs it.

    Raises:
        LockError: there is a lock that cannot be read.
        ValueError: the policy of the lock is none.
    """
    relay = ServerRelay(log)
    listeners = Listeners(notified=relay.notified, lost=relay.lost, sessions=relay.sessions, log=log)
    lock = _lock_of(wrapping, log)
    servers = []
    for spec in wrapping.servers:
        server = WrappedServer(spec, partial(_link, spec, wrapping, log), listeners, is_private=wrapping.is_private)
        if lock is not None and spec.name in lock.servers:
            _pin(server, lock.servers[spec.name], wrapping, log)
        servers.append(server)
    relay.catalogue = Catalogue(
        servers, toolbox, registry, identity, prefixed=wrapping.prefixed, log=log, instructions=instructions
    )
    return relay


def _lock_of(wrapping: Wrapping, log: Log) -> Lock | None:
    if parse_policy(wrapping.lock).is_off:
        return None
    if not os.path.lexists(wrapping.lock_file):
        log("lock.missing", why=f"nothing is pinned: write {wrapping.lock_file} with 'signet lock'")
        return None
    return read_lock(wrapping.lock_file)


def _pin(server: WrappedServer, locked: LockedServer, wrapping: Wrapping, log: Log) -> None:
    """Serve what is pinned, and judge each new instance by it before it is used."""
    policy = parse_policy(wrapping.lock)
    server.pinned = locked.snapshot

    def begun(now: Snapshot) -> None:
        judgement = judge(locked, now, policy)
        for note in judgement.notes:
            log("lock.note", server=server.name, what=note)
        server.blocked = judgement.blocked
        if judgement.served != server.pinned:
            server.pinned = judgement.served
            if server.on_repinned is not None:
                server.on_repinned()

    server.on_begun = begun


def _link(spec: ServerSpec, wrapping: Wrapping, log: Log) -> Link:
    """Return a new link to a server: its recording, its URL or its command."""
    link: Any
    if spec.tape:
        from .tape_link import TapeLink

        return TapeLink(spec.tape)
    if spec.url:
        from .http_link import HttpLink

        link = HttpLink(spec, log=partial(log, server=spec.name))
    else:
        from .child_link import ChildLink

        link = ChildLink(spec, lambda line: log("server.stderr", server=spec.name, line=line))
    if wrapping.record:
        from .recording_link import RecordingLink

        return RecordingLink(link, spec, wrapping.record)
    return link
