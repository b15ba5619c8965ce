"""What a recorded server says about itself: its greeting and its lists, put together as they pass. Pure."""

from __future__ import annotations

from hashlib import sha256
from typing import Any, Final

import msgspec

from signet.kernel.protocol import VERSION_KEY
from signet.kernel.wire import MessageHead
from signet.mcp.messages import text_of
from signet.mcp.snapshot import KINDS, LISTS, ListReader, Snapshot, introduced
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
    cursor: msgspec.Raw | None


class SnapshotWatch:
    """Watches the messages of several connections, and keeps what the server said last."""

    def __init__(self) -> None:
        self.eras: set[str] = set()
        self._said = Snapshot(era="", version="", server_info=EMPTY, capabilities=EMPTY)
        """What the server said, as far as it is known."""
        self._listed: set[str] = set()
        self._refused: dict[str, str] = {}
        """Why a list that came last cannot be used."""
        self._readers: dict[int, ListReader] = {}
        self._asked: dict[tuple[int, Id], _Asked] = {}

    @property
    def listed(self) -> frozenset[str]:
        """The kinds of definitions that were listed to their end."""
        return frozenset(self._listed)

    @property
    def version(self) -> str:
        """The protocol revision that was spoken last; empty before a greeting or a list."""
        return self._said.version

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
            cursor = params.get("cursor")
            asked_for = None if cursor is None else msgspec.Raw(comparable(cursor))
            if len(self._asked) < MAX_OPEN:
                self._asked[connection, number] = _Asked(str(head.method), version, asked_for)
        elif direction == "to_client" and not head.method:
            asked = self._asked.pop((connection, number), None)
            if asked is not None and isinstance(head.result, msgspec.Raw):
                self._learn(connection, asked, head.result)

    def forget(self, connection: int) -> None:
        """Drop what is unfinished on a connection that has ended."""
        self._asked = {key: asked for key, asked in self._asked.items() if key[0] != connection}
        self._readers.pop(connection, None)

    def snapshot(self) -> Snapshot:
        """Return what the server has said so far; raise ValueError if one of its lists cannot be used."""
        for why in self._refused.values():
            raise ValueError(why)
        return msgspec.structs.replace(self._said, era="modern" if "modern" in self.eras else "handshake")

    def _learn(self, connection: int, asked: _Asked, result: msgspec.Raw) -> None:
        if asked.method in GREETINGS:
            self._greet(
                msgspec.json.decode(result, type=dict[str, msgspec.Raw]), is_modern=asked.method != "initialize"
            )
            return
        if asked.version:
            self.eras.add("modern")
            self._said = msgspec.structs.replace(self._said, version=asked.version)
        kind = LISTS[asked.method]
        where = KINDS[kind].where
        reader = self._readers.setdefault(connection, ListReader())
        try:
            reader.add_page(kind, asked.cursor, result)
        except ValueError as error:
            self._refused[where] = str(error)
            if isinstance(error, msgspec.MsgspecError):
                raise
            return
        listed = reader.complete.get(where)
        if listed is not None:
            self._refused.pop(where, None)
            self._listed.add(where)
            self._said = msgspec.structs.replace(self._said, **{where: listed})

    def _greet(self, hello: dict[str, msgspec.Raw], *, is_modern: bool) -> None:
        self.eras.add("modern" if is_modern else "handshake")
        version = text_of(hello.get("protocolVersion"))
        if is_modern:
            version = max(msgspec.json.decode(hello.get("supportedVersions", b"[]"), type=list[str]), default="")
        lists = {one.where: getattr(self._said, one.where) for one in KINDS.values()}
        self._said = msgspec.structs.replace(introduced(hello, version, modern=is_modern), **lists)


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
