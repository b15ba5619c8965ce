"""Snapshots of servers: a server is started or asked, and everything that it says about itself is read.

take_snapshot ──▶ modern era: server/discover ──▶ lists
             └──▶ handshake era: initialize ────▶ lists      after a refusal, or with the server started again
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from http.client import HTTPException
from typing import Any, Final

import msgspec
from msgspec import Raw

from signet import __version__
from signet.kernel.errors import METHOD_NOT_FOUND
from signet.kernel.protocol import HANDSHAKE_VERSIONS, MODERN_VERSIONS, SERVER_INFO_KEY, Identity
from signet.kernel.wire import ProtocolError
from signet.lock.entries import read_entry
from signet.mcp.blocking import HttpTransport, McpClient, StdioTransport
from signet.mcp.snapshot import KINDS, Snapshot, check_names, compact, name_of
from signet.settings.server_spec import ServerSpec
from signet.system.processes import child_environment
from signet.system.text import visible
from signet.upstream.server_process import ServerProcess

from .redacting_link import echo_redactor, snapshot_without
from .spec_secrets import without_secrets

__all__ = ["MAX_BYTES", "MAX_ENTRIES", "SnapshotError", "take_snapshot"]

MAX_ENTRIES: Final = 10_000
MAX_BYTES: Final = 32 << 20
MAX_PAGES: Final = 1_000
MAX_REASON_CHARS: Final = 300
GRACE_S: Final = 5.0
"""How long a server may take to end after its input was closed."""
FAILED_GRACE_S: Final = 0.5
"""How long a server may take for that which did not do what was asked."""
PROBE_SHARE: Final = 0.25
"""The part of the time in which a server must answer the first request of the modern era."""
LISTS: Final = {
    "tools": ("tools/list", "tools"),
    "resources": ("resources/list", "resources"),
    "templates": ("resources/templates/list", "resourceTemplates"),
    "prompts": ("prompts/list", "prompts"),
}
"""How the lists of a snapshot are asked for, and the member of the result that has the entries."""
CAPABILITY: Final = {"templates": "resources"}
FAILURES: Final = (OSError, EOFError, ValueError, HTTPException, RecursionError)


class SnapshotError(Exception):
    """A server cannot be read; the text says why."""


class _Hello(msgspec.Struct, frozen=True, rename="camel"):
    capabilities: Raw = Raw(b"{}")
    server_info: Raw = Raw(b"{}")
    instructions: str | None = None
    meta: dict[str, Raw] = msgspec.field(name="_meta", default={})


class _Asking:
    """One conversation with a server, bounded in time, entries and bytes."""

    def __init__(self, transport: StdioTransport | HttpTransport, version: str, end_s: float) -> None:
        self._transport = transport
        self._client = McpClient(transport, Identity("signet", __version__), version)
        self._end_s = end_s
        self._entries = self._bytes = 0

    def discover(self, within_s: float) -> Raw:
        """Return what a server of the modern era says of itself; raise ValueError if it is of another."""
        self._transport.timeout_s = min(within_s, self._left_s())
        found = self._client.request_raw("server/discover", {})
        match msgspec.json.decode(found):
            case {"supportedVersions": [*versions]} if set(versions) & set(MODERN_VERSIONS):
                return found
        raise ValueError("it does not say which protocol it speaks")

    def hello(self) -> Raw:
        """Return what a server of the handshake era says of itself."""
        self._transport.timeout_s = self._left_s()
        return self._client.handshake()

    def snapshot(self, said: Raw, era: str) -> Snapshot:
        """Return the snapshot of a server that said this of itself."""
        hello = msgspec.json.decode(said, type=_Hello)
        capabilities = msgspec.json.decode(hello.capabilities, type=dict[str, Any])
        lists = {where: self._list(where) for where in LISTS if CAPABILITY.get(where, where) in capabilities}
        info = hello.meta.get(SERVER_INFO_KEY, hello.server_info)
        return Snapshot(
            era=era,
            version=self._client.version,
            server_info=compact(info),
            capabilities=compact(hello.capabilities),
            instructions=hello.instructions or "",
            **lists,
        )

    def _left_s(self) -> float:
        left_s = self._end_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("it does not say everything in time")
        return left_s

    def _list(self, where: str) -> tuple[Raw, ...]:
        """Return the entries of all pages of a list, each with a name of its own."""
        kind = next(kind for kind, (place, *_) in KINDS.items() if place == where)
        found: list[Raw] = []
        for entry in self._pages(*LISTS[where]):
            self._count(entry)
            read_entry(kind, entry)
            found.append(compact(entry))
        check_names(kind, [name_of(kind, entry) for entry in found])
        return tuple(found)

    def _pages(self, method: str, member: str) -> Iterator[Raw]:
        cursors: set[str] = set()
        params: dict[str, Any] = {}
        while True:
            self._transport.timeout_s = self._left_s()
            try:
                page = msgspec.json.decode(self._client.request_raw(method, params), type=dict[str, Raw])
            except ProtocolError as error:
                if error.code == METHOD_NOT_FOUND and not cursors:
                    return
                raise
            yield from msgspec.json.decode(page.get(member, Raw(b"[]")), type=list[Raw])
            cursor = msgspec.json.decode(page.get("nextCursor", Raw(b"null")), type=str | None)
            if cursor is None:
                return
            if cursor in cursors or len(cursors) >= MAX_PAGES:
                raise ValueError(f"its {method} does not end: it gives the same cursor again, or too many")
            cursors.add(cursor)
            params = {"cursor": cursor}

    def _count(self, entry: Raw) -> None:
        self._entries += 1
        self._bytes += len(memoryview(entry))
        if self._entries > MAX_ENTRIES or self._bytes > MAX_BYTES:
            raise ValueError(f"it lists more than {MAX_ENTRIES:,} entries, or {MAX_BYTES >> 20} MB")


def take_snapshot(spec: ServerSpec, timeout_s: float) -> Snapshot:
    """Ask a server for everything that it says about itself.

    Raises:
        SnapshotError: it cannot be started or reached, does not answer as a server does, or says too much.
    """
    if not spec.command and not spec.url:
        raise SnapshotError(f"'{spec.name}' has neither a command nor a URL: it cannot be asked")
    end_s = time.monotonic() + timeout_s
    try:
        return snapshot_without(echo_redactor(spec), _snapshot(spec, end_s, timeout_s))
    except FAILURES as error:
        why = visible(str(error) or type(error).__name__, keep="")[:MAX_REASON_CHARS]
        raise SnapshotError(f"the server '{spec.name}' cannot be read: {without_secrets(spec, why)}") from None


def _snapshot(spec: ServerSpec, end_s: float, timeout_s: float) -> Snapshot:
    if spec.era != "handshake":
        snapshot = _try_modern(spec, end_s, timeout_s)
        if snapshot is not None:
            return snapshot
    with _connected(spec) as transport:
        asking = _Asking(transport, HANDSHAKE_VERSIONS[-1], end_s)
        return asking.snapshot(asking.hello(), "handshake")


def _try_modern(spec: ServerSpec, end_s: float, timeout_s: float) -> Snapshot | None:
    """Return the snapshot of a server; None if the other era must be tried with the server started again."""
    with _connected(spec) as transport:
        asking = _Asking(transport, MODERN_VERSIONS[-1], end_s)
        try:
            said = asking.discover(timeout_s if spec.era == "modern" else timeout_s * PROBE_SHARE)
        except FAILURES as error:
            if spec.era == "modern":
                raise
            if not isinstance(error, ProtocolError):
                return None
            # It answers, and knows no such request: it lives on in the other era.
            older = _Asking(transport, HANDSHAKE_VERSIONS[-1], end_s)
            return older.snapshot(older.hello(), "handshake")
        return asking.snapshot(said, "modern")


@contextlib.contextmanager
def _connected(spec: ServerSpec) -> Iterator[StdioTransport | HttpTransport]:
    """Start a child, in a group of its own and with few variables, until the block ends; or reach a URL."""
    if not spec.command:
        yield HttpTransport(spec.url, timeout_s=1.0, max_bytes=MAX_BYTES, headers=spec.headers)
        return
    environ = child_environment(os.environ, spec.env)
    process = ServerProcess(spec.command, environ, cwd=spec.cwd, is_foreign=True)
    grace_s = GRACE_S
    try:
        yield StdioTransport(process, timeout_s=1.0, max_bytes=MAX_BYTES)
    except FAILURES as error:
        grace_s = FAILED_GRACE_S
        words = process.last_words()
        raise ValueError(f"{error}; it said: {words}" if words else error) from None
    finally:
        process.close(grace_s)
