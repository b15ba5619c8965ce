"""Locks: files that pin servers, and any list of definitions pinned, read again and compared."""

from __future__ import annotations

import contextlib
import itertools
import json
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw

from fuzz.odd_values import json_text, json_value, text
from fuzz.target import Run, Target, expect
from signet.lock.comparison import compare
from signet.lock.file import Lock, LockedServer, LockError, read_lock, write_lock
from signet.lock.policy import LockPolicy, describe, judge
from signet.mcp.snapshot import Snapshot

__all__ = ["TARGET"]

SNAPSHOT = b"%% snapshot\n"
"""How an input begins that is the lists of a server; any other is a lock."""
KINDS = {"tools": "name", "prompts": "name", "resources": "uri", "templates": "uriTemplate"}
TOOL: dict[str, Any] = {
    "name": "read",
    "description": "Read a file.",
    "inputSchema": {"type": "object", "properties": {"path": {"type": "string", "maxLength": 9}}, "required": ["path"]},
    "outputSchema": {"type": "object", "properties": {"lines": {"type": "integer"}}},
    "annotations": {"readOnlyHint": True},
    "_meta": {"ui": {"a": 1}, "x": 2},
}
WORDS = (
    "lock", "servers", "name", "command", "url", "era", "version", "server_info", "capabilities", "instructions",
    "order", "tools", "prompts", "resources", "templates", "digest", "fields", "value", "inputSchema", "type",
    "properties", "required", "enum", "const", "anyOf", "$ref", "#/$defs/a", "$defs", "pattern", "uri",
    "uriTemplate", "size", "annotations", "lastModified", "_meta", "ui",
)  # fmt: skip
TOKENS = (
    *tuple(f'"{word}"'.encode() for word in WORDS),
    b"1",
    b"2",
    b"1e400",
    b"1.0",
    b"\\ud800",
    b"\\u0061",
    b'{"a":1,"a":2}',
    b"[[[[",
    b"sha256:",
    SNAPSHOT,
)


def _entry(chance: random.Random, key: str) -> Any:
    entry = json.loads(json.dumps(TOOL)) if chance.random() < 0.6 else {}
    entry[key] = chance.choice(("a", "b", "read", "file:///a", text(chance)))
    if chance.random() < 0.6:
        holder = chance.choice(
            [one for one in (entry, entry.get("inputSchema"), entry.get("annotations")) if isinstance(one, dict)]
        )
        holder[chance.choice([*holder, chance.choice(WORDS), text(chance)])] = json_value(chance)
    return entry if chance.random() < 0.97 else json_value(chance)


def _lists(chance: random.Random) -> dict[str, Any]:
    lists = {where: [_entry(chance, key) for _ in range(chance.randrange(3))] for where, key in KINDS.items()}
    return {"instructions": text(chance), "info": json_value(chance, 1), **lists}


def _generate(chance: random.Random) -> bytes:
    return SNAPSHOT + json_text([_lists(chance), _lists(chance)], chance).encode("utf-8", "surrogatepass")


def _seeds() -> list[bytes]:
    """Return a lock, and the lists that it is made of."""
    lists = {
        "instructions": "Be careful.",
        "info": {},
        "tools": [TOOL, {"name": "b"}],
        "prompts": [{"name": "p"}],
        "resources": [{"uri": "file:///a"}],
    }
    with tempfile.TemporaryDirectory(prefix="signet-fuzz-") as folder:
        path = Path(folder) / "lock"
        write_lock(str(path), Lock({"files": _locked(_snapshot(lists))}))
        return [path.read_bytes(), SNAPSHOT + json.dumps([lists, lists]).encode()]


def _snapshot(lists: dict[str, Any]) -> Snapshot:
    found = {where: tuple(lists.get(where, ())) for where in KINDS}
    raw = {
        where: tuple(Raw(one if isinstance(one, bytes) else msgspec.json.encode(one)) for one in entries)
        for where, entries in found.items()
    }
    info = lists.get("info", {})
    return Snapshot(
        era="handshake",
        version="2025-11-25",
        server_info=Raw(info if isinstance(info, bytes) else msgspec.json.encode(info)),
        capabilities=Raw(b"{}"),
        instructions=lists.get("instructions", ""),
        **raw,
    )


def _locked(snapshot: Snapshot) -> LockedServer:
    return LockedServer(name="files", command=("files-server", "--token=abc"), snapshot=snapshot)


class _Lists(msgspec.Struct):
    """What an input says of a server, with its definitions as they are written."""

    instructions: str = ""
    info: Raw = Raw(b"{}")
    tools: list[Raw] = []
    prompts: list[Raw] = []
    resources: list[Raw] = []
    templates: list[Raw] = []


class _Locks:
    """A folder for locks."""

    def __init__(self, folder: Path) -> None:
        self._given, self._written = str(folder / "given"), str(folder / "written")

    def run(self, data: bytes) -> None:
        """Read an input as a lock, or pin the lists that it is."""
        if data.startswith(SNAPSHOT):
            with contextlib.suppress(ValueError, RecursionError):
                lists = msgspec.json.decode(data.removeprefix(SNAPSHOT), type=list[_Lists])
                self._compare(
                    [
                        _snapshot({name: _plain(getattr(one, name)) for name in one.__struct_fields__})
                        for one in lists[:2]
                    ]
                )
            return
        Path(self._given).write_bytes(data)
        with contextlib.suppress(LockError):
            self._again(read_lock(self._given))

    def _again(self, lock: Lock) -> None:
        """Write what was read, and read it again."""
        write_lock(self._written, lock)
        again = read_lock(self._written)
        expect(_facts(again) == _facts(lock), "a lock is read as it was written", _facts(lock), _facts(again))

    def _compare(self, snapshots: list[Snapshot]) -> None:
        for snapshot in snapshots:
            try:
                write_lock(self._written, Lock({"files": _locked(snapshot)}))
            except LockError:
                continue
            found = read_lock(self._written)
            expect(compare(found.servers["files"].snapshot, snapshot) == (), "a lock pins what it was made from")
            expect(
                "abc" not in Path(self._written).read_text(encoding="utf-8").partition('"era"')[0],
                "no secret is in a lock",
            )
        for old, new in itertools.pairwise(snapshots):
            changes = compare(old, new)
            expect(all(describe(change) for change in changes), "a change has words")
            judge(_locked(old), new, LockPolicy())


def _plain(value: Any) -> Any:
    return (
        [bytes(one) for one in value] if isinstance(value, list) else bytes(value) if isinstance(value, Raw) else value
    )


def _facts(lock: Lock) -> Any:
    return {
        name: (
            one.name,
            one.snapshot.instructions,
            {where: [bytes(entry) for entry in getattr(one.snapshot, where)] for where in KINDS},
        )
        for name, one in lock.servers.items()
    }


@contextlib.contextmanager
def _open() -> Iterator[Run]:
    with tempfile.TemporaryDirectory(prefix="signet-fuzz-") as folder:
        yield _Locks(Path(folder)).run


TARGET = Target(
    name="lock",
    about="lock files, and the definitions of a server pinned, read again and compared",
    open=_open,
    seeds=_seeds,
    generate=_generate,
    tokens=TOKENS,
    rooms=("lock/", "compatibility/"),
    per_byte_s=100e-6,
)
