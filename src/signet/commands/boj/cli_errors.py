"""Faults of the Bank of Japan toolset in the words of the terminal: flags where the tools have arguments.

Pure. Only Signet's own sentences are put in other words: what the Bank said, and what was written, stays as it is.
"""

from __future__ import annotations

import re
from typing import Final

from signet.kernel.errors import Fault

__all__ = ["to_flags"]

HINTS: Final = {
    "boj_get_metadata": "`signet call boj_get_metadata db=DB`",
    "start_date": "--start",
    "end_date": "--end",
    "Give db": "Give the database",
    "Give lang": "Give --lang",
    "Give frequency": "Give --frequency",
    "layers": "--layers",
    '["1", "*", "2"]': "'1,*,2'",
    "Give codes": "Give --codes",
    "give codes": "give --codes",
    "the codes": "the --codes",
    "in codes": "in --codes",
    "Give start_position as the next_position of the answer before, or leave it out.": (
        "Begin again: `signet boj fetch` does with --restart."
    ),
    # Neither of them can be asked for here.
    "Give format as json or csv, or leave it out.": "",
    ", and without include_raw": "",
}
"""What a hint says to those who call a tool, and what it says here."""

NAMES: Final = {
    "DB": "the database",
    "CODE": "--codes",
    "LAYER": "--layers",
    "FREQUENCY": "--frequency",
    "LANG": "--lang",
    "STARTDATE": "--start",
    "ENDDATE": "--end",
}
"""The Bank's parameters, which a broken rule names first, and where two are compared."""

NAME: Final = re.compile(rf"(?:^|(?<=\d and )|(?<=\d comes after ))(?:{'|'.join(NAMES)})\b")


def to_flags(fault: Fault) -> str:
    """Say what a fault says, and what to do about it here."""
    hint = fault.data.get("hint")
    if hint is not None:
        return f"{fault.message.removesuffix(hint)}{_here(hint)}".rstrip()
    if fault.data.get("error_type") == "VALIDATION_ERROR":
        return NAME.sub(lambda found: NAMES[found[0]], fault.message)
    return fault.message


def _here(hint: str) -> str:
    for there, here in HINTS.items():
        hint = hint.replace(there, here)
    return hint
