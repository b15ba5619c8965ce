"""Memory that the C library of Linux keeps for itself, and gives back where it is told to."""

from __future__ import annotations

import subprocess
import sys

from signet.transports.memory import return_memory

LEAVE_GAPS = """
from pathlib import Path
from signet.transports.memory import map_large_pieces

def held_mib() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 >> 20

before = held_mib()
first = bytearray(31 << 20)
del first  # from here on, the library takes pieces of this size from its heap
{told}
large, small = [], []
for _ in range(20):
    large.append(bytearray(b"x") * (12 << 20))
    small.append(bytearray(b"x") * 100_000)
full = held_mib() - before
large.clear()
print(full, held_mib() - before)
"""


def held_by(told: str) -> tuple[int, int]:
    """Return the MiB that a process holds with 20 answers of 12 MiB, and when they have been read."""
    command = [sys.executable, "-c", LEAVE_GAPS.format(told=told)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    full, left = map(int, done.stdout.split())
    return full, left


def test_large_pieces_go_back_to_the_system_as_soon_as_they_are_free() -> None:
    full, left = held_by("map_large_pieces()")

    assert full >= 240
    assert left < 40


def test_memory_is_returned_without_an_error_wherever_we_run() -> None:
    return_memory()
