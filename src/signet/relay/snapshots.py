"""Taking a snapshot of a running server: every page of every list that it has."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

import msgspec
from msgspec import Raw

from signet.kernel.errors import METHOD_NOT_FOUND
from signet.mcp.messages import members, text_of
from signet.mcp.session import Answer, ClientSession
from signet.mcp.snapshot import Snapshot, check_names

__all__ = ["LISTS", "check_page", "list_all", "take_snapshot"]

MAX_PAGES: Final = 1000
MAX_ENTRIES: Final = 10_000
MAX_BYTES: Final = 32 << 20
LISTS: Final = {
    "tools/list": ("tools", "tools"),
    "prompts/list": ("prompts", "prompts"),
    "resources/list": ("resources", "resources"),
    "resources/templates/list": ("resources", "resourceTemplates"),
}
"""For each list the capability that stands for it, and the member of its result that holds the entries."""

NAMED: Final = {"tools/list": "tool", "prompts/list": "prompt"}
"""The lists whose entries are asked for by their names, and the kind of their entries."""

Ask = Callable[[str, Raw], Awaitable[Answer]]


async def list_all(method: str, ask: Ask) -> tuple[Raw, ...]:
    """Return the entries of all pages of a list; raise ValueError if the server refuses it, or it is too long."""
    member = LISTS[method][1]
    entries: list[Raw] = []
    seen: set[bytes] = set()
    params, size = Raw(b"{}"), 0
    for _ in range(MAX_PAGES):
        answer = await ask(method, params)
        if answer.result is None:
            if not seen and _lacks_method(answer):
                return ()  # some declare resources and have no templates
            raise ValueError(f"{method} failed: {_message_of(answer)[:300]}")
        parts = members(answer.result)
        page = msgspec.json.decode(parts.get(member, b"[]"), type=list[Raw])
        entries += page
        size += len(answer.result)
        cursor = bytes(parts.get("nextCursor", b"null"))
        if cursor in seen or len(entries) > MAX_ENTRIES or size > MAX_BYTES:
            break
        if cursor in {b"null", b'""'}:
            _check_entries(method, entries)
            return tuple(entries)
        seen.add(cursor)
        params = Raw(b'{"cursor":' + cursor + b"}")
    raise ValueError(f"{method} has no end, or more than {MAX_ENTRIES} entries or {MAX_BYTES} bytes")


def check_page(method: str, result: Raw | None) -> None:
    """Raise ValueError if a page of a list is none, or has two tools or two prompts of one name."""
    if method in NAMED:
        _check_entries(method, msgspec.json.decode(members(result).get(LISTS[method][1], b"[]"), type=list[Raw]))


def _check_entries(method: str, entries: Iterable[Raw]) -> None:
    """Raise ValueError if two entries have one name; entries without a name are passed over."""
    if method in NAMED:
        check_names(NAMED[method], filter(None, (text_of(members(one).get("name")) for one in entries)))


def _message_of(answer: Answer) -> str:
    """Return the message of an error; the whole error if it has none."""
    return text_of(members(answer.error).get("message")) or bytes(answer.error or b"").decode(errors="replace")


def _lacks_method(answer: Answer) -> bool:
    return bytes(members(answer.error).get("code", b"")) == str(METHOD_NOT_FOUND).encode()


async def take_snapshot(dialogue: ClientSession, ask: Ask, list_s: float) -> Snapshot:
    """Return everything that a server says about itself; raise TimeoutError if its lists take longer than `list_s`."""
    capabilities = members(dialogue.hello.get("capabilities"))
    lists: dict[str, tuple[Raw, ...]] = dict.fromkeys(LISTS, ())
    async with asyncio.timeout(list_s):
        for method in [method for method, (capability, _) in LISTS.items() if capability in capabilities]:
            lists[method] = await list_all(method, ask)
    return msgspec.structs.replace(
        introduction_of(dialogue),
        tools=lists["tools/list"],
        resources=lists["resources/list"],
        templates=lists["resources/templates/list"],
        prompts=lists["prompts/list"],
    )


def introduction_of(dialogue: ClientSession) -> Snapshot:
    """Return how a server introduced itself, without its lists."""
    instructions = msgspec.json.decode(dialogue.hello.get("instructions", b'""'))
    return Snapshot(
        era="modern" if dialogue.modern else "handshake",
        version=dialogue.version,
        server_info=server_info(dialogue),
        capabilities=dialogue.hello.get("capabilities", Raw(b"{}")),
        instructions=instructions if isinstance(instructions, str) else "",
    )


def server_info(dialogue: ClientSession) -> Raw:
    """Return how a server names itself, in either era."""
    told = dialogue.hello.get("serverInfo")
    if told:
        return told
    about = members(dialogue.hello.get("_meta")).get("io.modelcontextprotocol/serverInfo")
    return about or Raw(b'{"name":"","version":""}')
