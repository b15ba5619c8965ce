"""The lists of a server: all pages of each, within one budget, and the snapshot that they make.

session ── tools/list, prompts/list, … ── all pages ──▶ Snapshot
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

import msgspec
from msgspec import Raw

from signet.kernel.errors import METHOD_NOT_FOUND

from .messages import members, text_of
from .session import Answer, ClientSession
from .snapshot import INSTRUCTIONS, KINDS, LISTS, Snapshot, check_names

__all__ = ["check_page", "introduction_of", "list_all", "take_snapshot"]

MAX_PAGES: Final = 1_000
MAX_ENTRIES: Final = 10_000
MAX_BYTES: Final = 32 << 20
"""The most that a server may list in one snapshot: entries, and bytes of its answers."""
MAX_REASON_CHARS: Final = 300
NAMED: Final = ("tool", "prompt")
"""The kinds of entries that are asked for by their names."""

Ask = Callable[[str, Raw], Awaitable[Answer]]


def check_page(method: str, result: Raw | None) -> None:
    """Raise ValueError if a page of a list is none, or has two tools or two prompts of one name."""
    kind = LISTS[method]
    if kind in NAMED:
        _check_entries(kind, msgspec.json.decode(members(result).get(KINDS[kind].member, b"[]"), type=list[Raw]))


def _check_entries(kind: str, entries: Iterable[Raw]) -> None:
    """Raise ValueError if two entries have one name; entries without a name are passed over."""
    if kind in NAMED:
        check_names(kind, filter(None, (text_of(members(one).get("name")) for one in entries)))


class _Budget:
    """What a server may still list."""

    def __init__(self) -> None:
        self._entries, self._bytes = MAX_ENTRIES, MAX_BYTES

    def take(self, entries: int, size: int) -> None:
        """Count a page; raise ValueError if it is too much."""
        self._entries -= entries
        self._bytes -= size
        if self._entries < 0 or self._bytes < 0:
            raise ValueError(f"it lists more than {MAX_ENTRIES:,} entries, or {MAX_BYTES >> 20} MB")


async def list_all(kind: str, ask: Ask, budget: _Budget | None = None) -> tuple[Raw, ...]:
    """Return the entries of all pages of a list; raise ValueError if the server refuses it, or it is too long."""
    _, _, method, member, _ = KINDS[kind]
    budget = budget or _Budget()
    entries: list[Raw] = []
    cursors: set[bytes] = set()
    params = Raw(b"{}")
    while True:
        answer = await ask(method, params)
        if answer.result is None:
            if not cursors and _lacks_method(answer):
                return ()  # some declare resources and have no templates
            raise ValueError(f"{method} failed: {_message_of(answer)[:MAX_REASON_CHARS]}")
        parts = members(answer.result)
        page = msgspec.json.decode(parts.get(member, b"[]"), type=list[Raw])
        entries += page
        budget.take(len(page), len(answer.result))
        cursor = bytes(parts.get("nextCursor", b"null"))
        if cursor in {b"null", b'""'}:
            _check_entries(kind, entries)
            return tuple(entries)
        if cursor in cursors or len(cursors) >= MAX_PAGES:
            raise ValueError(f"its {method} does not end: it gives the same cursor again, or too many")
        cursors.add(cursor)
        params = Raw(b'{"cursor":' + cursor + b"}")


def _message_of(answer: Answer) -> str:
    """Return the message of an error; the whole error if it has none."""
    return text_of(members(answer.error).get("message")) or bytes(answer.error or b"").decode(errors="replace")


def _lacks_method(answer: Answer) -> bool:
    return bytes(members(answer.error).get("code", b"")) == str(METHOD_NOT_FOUND).encode()


async def take_snapshot(session: ClientSession, ask: Ask, list_s: float) -> Snapshot:
    """Return everything that a server says about itself; raise TimeoutError if its lists take longer than `list_s`."""
    capabilities = members(session.hello.get("capabilities"))
    budget = _Budget()
    lists: dict[str, tuple[Raw, ...]] = {}
    async with asyncio.timeout(list_s):
        for kind, one in KINDS.items():
            if one.capability in capabilities:
                lists[one.where] = await list_all(kind, ask, budget)
    return msgspec.structs.replace(introduction_of(session), **lists)


def introduction_of(session: ClientSession) -> Snapshot:
    """Return how a server introduced itself, without its lists."""
    instructions = msgspec.json.decode(session.hello.get(INSTRUCTIONS, b'""'))
    return Snapshot(
        era="modern" if session.modern else "handshake",
        version=session.version,
        server_info=session.server_info,
        capabilities=session.hello.get("capabilities", Raw(b"{}")),
        instructions=instructions if isinstance(instructions, str) else "",
    )
