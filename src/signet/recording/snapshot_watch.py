"""What a recorded server says about itself: its greeting and its lists, put together as they pass. Pure."""

from __future__ import annotations

from hashlib import sha256
from typing import Any, Final

import msgspec

from signet.kernel.protocol import SERVER_INFO_KEY, VERSION_KEY
from signet.kernel.wire import MessageHead
from signet.mcp.snapshot import KINDS, LISTS, Snapshot
from signet.system.canonical_json import comparable

from .requests import Direction, Id, id_of, meta_of, params_of

__all__ = ["SnapshotWatch", "digest_of"]

GREETINGS: Final = frozenset({"initialize", "server/discover"})
EMPTY: Final = msgspec.Raw(b"{}")
MAX_OPEN: Final = 10_000
"""The number of unanswered requests that are remembered."""


class _Asked(msgspec.Struct, frozen=True, gc=False):
    method: str
    version: str
    is_next_page: bool


class SnapshotWatch:
    """Watches the messages of several connections, and keeps what the server said last."""

    def __init__(self) -> None:
        self.eras: set[str] = set()
        self._version = ""
        self._server_info = EMPTY
        self._capabilities = EMPTY
        self._instructions = ""
        self._listed: dict[str, tuple[msgspec.Raw, ...]] = {}
        self._pages: dict[tuple[int, str], list[msgspec.Raw]] = {}
        self._asked: dict[tuple[int, Id], _Asked] = {}

    @property
    def listed(self) -> frozenset[str]:
        """The kinds of definitions that were listed to their end."""
        return frozenset(self._listed)

    @property
    def version(self) -> str:
        """The protocol revision that was spoken last; empty before a greeting or a list."""
        return self._version

    def is_definition(self, connection: int, direction: Direction, head: MessageHead) -> bool:
        """Return whether a message is what the server says about itself; the content of resources is not."""
        number = id_of(head)
        asked = self._asked.get((connection, number)) if direction == "to_client" and number is not None else None
        return asked is not None and not head.method and asked.method != "resources/list"

    def see(self, connection: int, direction: Direction, head: MessageHead) -> None:
        """Take in one message; raise ValueError if it is not what the protocol says."""
        number = id_of(head)
        if number is None:
            return
        if direction == "to_server" and (head.method in LISTS or head.method in GREETINGS):
            params = params_of(head)
            version = str(meta_of(params).get(VERSION_KEY, ""))
            if len(self._asked) < MAX_OPEN:
                self._asked[connection, number] = _Asked(str(head.method), version, params.get("cursor") is not None)
        elif direction == "to_client" and not head.method:
            asked = self._asked.pop((connection, number), None)
            if asked is not None and isinstance(head.result, msgspec.Raw):
                self._learn(connection, asked, msgspec.json.decode(head.result, type=dict[str, msgspec.Raw]))

    def forget(self, connection: int) -> None:
        """Drop what is unfinished on a connection that has ended."""
        self._asked = {key: asked for key, asked in self._asked.items() if key[0] != connection}
        self._pages = {key: page for key, page in self._pages.items() if key[0] != connection}

    def snapshot(self) -> Snapshot:
        """Return what the server has said so far."""
        return Snapshot(
            era="modern" if "modern" in self.eras else "handshake",
            version=self._version,
            server_info=self._server_info,
            capabilities=self._capabilities,
            instructions=self._instructions,
            **self._listed,
        )

    def _learn(self, connection: int, asked: _Asked, result: dict[str, msgspec.Raw]) -> None:
        if asked.method in GREETINGS:
            self._greet(asked.method, result)
            return
        if asked.version:
            self.eras.add("modern")
            self._version = asked.version
        kind = KINDS[LISTS[asked.method]]
        place = connection, kind.where
        pages = self._pages.setdefault(place, [])
        if not asked.is_next_page:
            pages.clear()
        pages += msgspec.json.decode(result.get(kind.member, b"[]"), type=list[msgspec.Raw])
        if msgspec.json.decode(result.get("nextCursor", b"null")) is None:
            self._listed[kind.where] = tuple(self._pages.pop(place))

    def _greet(self, method: str, result: dict[str, msgspec.Raw]) -> None:
        self._capabilities = result.get("capabilities", EMPTY)
        self._instructions = str(msgspec.json.decode(result.get("instructions", b'""')) or "")
        if method == "initialize":
            self.eras.add("handshake")
            self._version = str(msgspec.json.decode(result.get("protocolVersion", b'""')))
            self._server_info = result.get("serverInfo", EMPTY)
            return
        self.eras.add("modern")
        self._version = max(msgspec.json.decode(result.get("supportedVersions", b"[]"), type=list[str]), default="")
        meta = msgspec.json.decode(result.get("_meta", b"{}"), type=dict[str, msgspec.Raw])
        self._server_info = meta.get(SERVER_INFO_KEY, EMPTY)


def digest_of(snapshot: Snapshot) -> str:
    """Return the digest of what a server says about itself, whichever its era."""
    told: dict[str, Any] = {
        "server": msgspec.json.decode(snapshot.server_info),
        "capabilities": msgspec.json.decode(snapshot.capabilities),
        "instructions": snapshot.instructions,
    }
    for kind in KINDS.values():
        told[kind.where] = [msgspec.json.decode(one) for one in getattr(snapshot, kind.where)]
    return f"sha256:{sha256(comparable(told)).hexdigest()}"
