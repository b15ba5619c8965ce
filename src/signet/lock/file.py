"""The file `signet.lock`: JSON that git can compare line by line; whoever cannot read it lets nothing through."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec
from msgspec import Raw

from signet.mcp.snapshot import KINDS, Snapshot, compact
from signet.system.canonical_json import canonical, digest_of
from signet.system.files import locked_folder, open_regular, replacing

from .address import shown_command, shown_url
from .entries import read_entry

__all__ = ["DEFAULT_PATH", "Lock", "LockError", "LockedServer", "changing_lock", "read_lock", "write_lock"]

DEFAULT_PATH: Final = "signet.lock"
FORMAT: Final = 1
MAX_BYTES: Final = 64 << 20
CHANGE_WAIT_S: Final = 60.0
"""How long another process may compare and write: a comparison has 10 s, and there may be several."""


class LockError(Exception):
    """A lock cannot be read or written; the text says why, and what to do."""


class LockedServer(msgspec.Struct, frozen=True, kw_only=True):
    """A server as it was accepted."""

    name: str
    command: tuple[str, ...] = ()
    """The command line, without secrets."""
    url: str = ""
    """The address, without secrets."""
    snapshot: Snapshot


class Lock(msgspec.Struct, frozen=True):
    """What was accepted of each server."""

    servers: Mapping[str, LockedServer]

    def with_server(self, server: LockedServer) -> Lock:
        """Return the lock with a server in place of the one with its name."""
        return Lock({**self.servers, server.name: server})


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    digest: str
    fields: dict[str, str]
    value: Raw


class _Instructions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    digest: str
    value: str


class _Server(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    name: str
    command: tuple[str, ...] = ()
    url: str = ""
    era: str
    version: str
    server_info: Raw
    capabilities: Raw
    instructions: _Instructions
    order: dict[str, list[str]]
    """The names of each kind in the order in which the server lists them."""
    tools: list[_Entry]
    prompts: list[_Entry]
    resources: list[_Entry]
    templates: list[_Entry]


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    lock: int
    servers: list[_Server]


class _Head(msgspec.Struct, frozen=True):
    lock: Any = None


def read_lock(path: str) -> Lock:
    """Return a lock, after its digests were found to be those of its values.

    Raises:
        LockError: it is not there, cannot be read, is of a newer format, or was changed by hand.
    """
    data = _read(path)
    try:
        head = msgspec.json.decode(data, type=_Head)
        if type(head.lock) is not int or head.lock < 1:
            raise LockError(f"{path} is no lock of Signet; name another file, or remove it and pin anew")
        if head.lock > FORMAT:
            raise LockError(f"{path} has the format {head.lock}, and this version reads up to {FORMAT}: upgrade Signet")
        file = msgspec.json.decode(data, type=_File)
    except (ValueError, RecursionError) as error:
        raise LockError(f"{path} cannot be read as a lock ({error}); restore it, or pin anew") from None
    servers: dict[str, LockedServer] = {}
    for server in file.servers:
        if server.name in servers:
            raise LockError(f"{path} has the server {server.name!r} twice; restore it, or pin anew")
        servers[server.name] = _locked(path, server)
    return Lock(servers)


def _read(path: str) -> bytes:
    try:
        with open(open_regular(path, os.O_RDONLY, follow_link=True), "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise LockError(f"there is no {path}") from None
    except (OSError, ValueError) as error:
        raise LockError(f"{path} cannot be read ({getattr(error, 'strerror', None) or error})") from None
    if len(data) > MAX_BYTES:
        raise LockError(f"{path} is larger than {MAX_BYTES:,} bytes, which no lock is")
    return data


def _locked(path: str, server: _Server) -> LockedServer:
    if digest_of(canonical(server.instructions.value)) != server.instructions.digest:
        raise _tampered(path, server.name, "the instructions")
    lists = {where: _entries(path, server, kind, where) for kind, (where, *_) in KINDS.items()}
    try:
        info, capabilities = compact(server.server_info), compact(server.capabilities)
    except ValueError as error:
        raise LockError(f"{path} cannot be read as a lock ({error}); restore it, or pin anew") from None
    snapshot = Snapshot(
        era=server.era,
        version=server.version,
        server_info=info,
        capabilities=capabilities,
        instructions=server.instructions.value,
        **lists,
    )
    return LockedServer(name=server.name, command=server.command, url=server.url, snapshot=snapshot)


def _entries(path: str, server: _Server, kind: str, where: str) -> tuple[Raw, ...]:
    """Return the values of one kind as the server wrote them, in its order."""
    found: dict[str, Raw] = {}
    for entry in getattr(server, where):
        try:
            read = read_entry(kind, entry.value)
        except ValueError:
            raise _tampered(path, server.name, f"the {kind} {entry.name!r}") from None
        if (read.name, read.digest, read.digests) != (entry.name, entry.digest, entry.fields) or read.name in found:
            raise _tampered(path, server.name, f"the {kind} {entry.name!r}")
        found[read.name] = compact(entry.value)
    order = server.order.get(where, [])
    if len(order) != len(found) or set(order) != set(found):
        raise _tampered(path, server.name, f"the order of its {where}")
    return tuple(found[name] for name in order)


def _tampered(path: str, server: str, what: str) -> LockError:
    return LockError(
        f"{path} was changed by hand: {what} of {server!r} is not what its digest says; restore it, or pin anew"
    )


@contextlib.contextmanager
def changing_lock(path: str) -> Iterator[None]:
    """Let no other of our processes change a lock inside of the block: it is read, compared and written there.

    Raises:
        LockError: another process does not end its change.
    """
    try:
        with locked_folder(os.path.dirname(path) or os.curdir, wait_s=CHANGE_WAIT_S):
            yield
    except TimeoutError as error:
        raise LockError(f"cannot write {path} ({error.strerror})") from None


def write_lock(path: str, lock: Lock) -> None:
    """Write a lock in one step.

    Raises:
        LockError: it cannot be written, or an entry cannot be pinned.
    """
    servers = [_written(lock.servers[name]) for name in sorted(lock.servers)]
    text = msgspec.json.format(msgspec.json.encode(_File(FORMAT, servers)), indent=2) + b"\n"
    if len(text) > MAX_BYTES:
        raise LockError(f"the lock would be larger than {MAX_BYTES:,} bytes: pin fewer servers in one file")
    try:
        with replacing(path, f"{path}.{os.getpid()}.new", sync=True) as file:
            file.write(text)
    except OSError as error:
        raise LockError(f"cannot write {path} ({error.strerror})") from None


def _written(server: LockedServer) -> _Server:
    snapshot = server.snapshot
    lists = {where: _pinned(kind, getattr(snapshot, where)) for kind, (where, *_) in KINDS.items()}
    order = {where: [entry.name for entry in entries] for where, entries in lists.items()}
    return _Server(
        name=server.name,
        command=shown_command(server.command),
        url=shown_url(server.url) if server.url else "",
        era=snapshot.era,
        version=snapshot.version,
        server_info=snapshot.server_info,
        capabilities=snapshot.capabilities,
        instructions=_Instructions(digest_of(canonical(snapshot.instructions)), snapshot.instructions),
        order=order,
        **{where: sorted(entries, key=lambda one: one.name) for where, entries in lists.items()},
    )


def _pinned(kind: str, entries: Iterable[Raw]) -> list[_Entry]:
    found: dict[str, _Entry] = {}
    for text in entries:
        try:
            entry = read_entry(kind, text)
        except ValueError as error:
            raise LockError(f"a {kind} cannot be pinned: {error}") from None
        if entry.name in found:
            raise LockError(f"the {kind} {entry.name!r} is listed twice: which of the two is meant cannot be pinned")
        found[entry.name] = _Entry(entry.name, entry.digest, entry.digests, compact(text))
    return list(found.values())
