"""A sample problem whose statement is longer than a tool may show, for the online-judge sandbox."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from signet.sandbox.message import Sandbox
from signet.toolsets.oj.sandbox.api import OjSandboxApi
from signet.toolsets.oj.sandbox.problem_store import ProblemStore

ENTRIES = 2400
"""Enough for more than 100 KiB in any rendering, and far below 1 MiB as JSON."""

SHIPS = ("鷗號", "晨星", "Wren", "老橋", "Élan", "青嵐", "Otter", "かもめ")
DEEDS = ("arrives at", "leaves", "moves to", "waits for")


def sandbox_with_long_statement() -> Sandbox:
    """The sandbox with a long year of entries in the statement of leetcode 9009."""
    entries = [
        replace(entry, problem=replace(entry.problem, content=long_statement(entry.problem.content or "")))
        if (entry.problem.source, entry.problem.id) == ("leetcode", "9009")
        else entry
        for entry in ProblemStore.load().entries
    ]
    return Sandbox("oj", OjSandboxApi(ProblemStore(entries)))


def long_statement(short: str) -> str:
    """Fill the list of a statement with entries, the same every time."""
    opening, _, rest = short.partition("<ol>\n")
    _, _, closing = rest.partition("</ol>")
    return f"{opening}<ol>\n{''.join(_entries())}</ol>{closing}"


def _entries() -> Iterator[str]:
    state = 2024
    for entry in range(ENTRIES):
        state = (state * 1_103_515_245 + 12_345) % 2**31
        ship, deed = SHIPS[state >> 8 & 7], DEEDS[state >> 12 & 3]
        berth, crates = state >> 16 & 15, state >> 20
        yield f"\t<li>第 {entry // 7 + 1} 日: <em>{ship}</em> {deed} berth {berth}, 裝載 {crates} crates.</li>\n"
