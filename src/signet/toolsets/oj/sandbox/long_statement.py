"""A statement that is too long to be shown whole, made by rule and not stored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

__all__ = ["statement"]

ENTRIES: Final = 2400
"""Enough for more than 100 KiB however tersely it is rendered, and far below 1 MiB as JSON."""

SHIPS: Final = ("鷗號", "晨星", "Wren", "老橋", "Élan", "青嵐", "Otter", "かもめ")
DEEDS: Final = ("arrives at", "leaves", "moves to", "waits for")
OPENING: Final = """\
<p>A harbour master keeps a logbook. Each entry names a day, a ship, what it does and at which berth, and how many
crates are on board. Return the names of the ships that still lie in the harbour after the last entry, in the order in
which they came.</p>

<p><strong class="example">Example 1:</strong> the logbook of a long year.</p>

<ol>
"""
CLOSING: Final = """\
</ol>

<p><strong>Constraints:</strong></p>
<ul>
	<li><code>1 &lt;= entries.length &lt;= 10<sup>5</sup></code></li>
</ul>
"""


def statement() -> str:
    """Write it; the same every time."""
    return OPENING + "".join(_entries()) + CLOSING


def _entries() -> Iterator[str]:
    dice = 2024
    for entry in range(ENTRIES):
        dice = (dice * 1_103_515_245 + 12_345) % 2**31
        ship, deed = SHIPS[dice >> 8 & 7], DEEDS[dice >> 12 & 3]
        berth, crates = dice >> 16 & 15, dice >> 20
        yield f"\t<li>第 {entry // 7 + 1} 日: <em>{ship}</em> {deed} berth {berth}, 裝載 {crates} crates.</li>\n"
