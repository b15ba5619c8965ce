"""Memory that the C library of Linux keeps for itself: given back to the system, so that others can have it.

Elsewhere these functions do nothing. `ctypes` is loaded when one of them runs: most servers need none.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

__all__ = ["map_large_pieces", "return_memory"]

M_TRIM_THRESHOLD: Final = -1
M_MMAP_THRESHOLD: Final = -3
LARGE_BYTES: Final = 1 << 20
"""The size above which a piece of memory is one of its own."""
SPARE_BYTES: Final = 4 << 20
"""What the library may keep behind the last piece that is in use."""


def return_memory() -> None:
    """Give the memory of connections that have ended back to the system.

    A handshake takes some hundred small pieces of memory. By itself the library gives back what lies behind the last
    piece that is in use, so that after thousands of handshakes nearly all of it stays.
    """
    import ctypes

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def map_large_pieces() -> None:
    """Let each large piece of memory go back to the system as soon as it is free.

    By itself the library maps the first ones only. It takes pieces of the size of one that was freed from its heap from
    then on, where large answers leave gaps: a process that may hold 256 MiB of them took 600.
    """
    import ctypes

    with suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        library.mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)
        library.mallopt(M_TRIM_THRESHOLD, SPARE_BYTES)
