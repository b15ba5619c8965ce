"""The lists of a server: all pages of each, within one budget, and the snapshot that they make.

session ── tools/list, prompts/list, … ── all pages ──▶ Snapshot
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec
from msgspec import Raw

from signet.kernel.errors import METHOD_NOT_FOUND

from .messages import members, text_of
from .session import Answer, ClientSession
from .snapshot import KINDS, ListReader, Snapshot, introduced

__all__ = ["list_all", "page_params", "take_snapshot"]

MAX_REASON_CHARS: Final = 300

Ask = Callable[[str, Raw], Awaitable[Answer]]


def page_params(cursor: Raw | None) -> Raw:
    """Return the params of a request for the page of a list; None asks for the first one."""
    return Raw(b"{}") if cursor is None else Raw(b'{"cursor":' + bytes(cursor) + b"}")


async def list_all(kind: str, ask: Ask, reader: ListReader | None = None) -> tuple[Raw, ...]:
    """Return the entries of all pages of a list; raise ValueError if the server refuses it, or it is too long."""
    where, _, method, _, _ = KINDS[kind]
    reader = reader or ListReader()
    cursor: Raw | None = None
    while True:
        answer = await ask(method, page_params(cursor))
        if answer.result is None:
            if cursor is None and _lacks_method(answer):
                return ()  # some declare resources and have no templates
            raise ValueError(f"{method} failed: {_message_of(answer)[:MAX_REASON_CHARS]}")
        cursor = reader.add_page(kind, cursor, answer.result)
        if cursor is None:
            return reader.complete[where]


def _message_of(answer: Answer) -> str:
    """Return the message of an error; the whole error if it has none."""
    return text_of(members(answer.error).get("message")) or bytes(answer.error or b"").decode(errors="replace")


def _lacks_method(answer: Answer) -> bool:
    return bytes(members(answer.error).get("code", b"")) == str(METHOD_NOT_FOUND).encode()


async def take_snapshot(session: ClientSession, ask: Ask, list_s: float) -> Snapshot:
    """Return everything that a server says about itself; raise TimeoutError if its lists take longer than `list_s`."""
    capabilities = members(session.hello.get("capabilities"))
    reader = ListReader()
    async with asyncio.timeout(list_s):
        for kind, one in KINDS.items():
            if one.capability in capabilities:
                await list_all(kind, ask, reader)
    greeting = introduced(session.hello, session.version, modern=session.modern)
    return msgspec.structs.replace(greeting, **reader.complete)
