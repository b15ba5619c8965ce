"""Reads single calls from a recording, from its end: what is asked for is nearly always among the latest."""

from __future__ import annotations

import os
from typing import Final

import msgspec

from signet.journal.record import CALLS, LoggedCall
from signet.kernel.wire import encode
from signet.system.files import open_regular

__all__ = ["find_call"]

PIECE_BYTES: Final = 1 << 18
"""The size that is read at once: other threads have their turn after each."""
MAX_BYTES: Final = 256_000_000
"""The size of the recording's end in which calls are searched."""
MAX_LINE_BYTES: Final = 16_000_000
"""The longest line that is read."""


def find_call(folder: str, request_id: str, ts: str = "") -> LoggedCall | None:
    """Return the latest recorded call with an id, and with this time of its end where one is given; None without one.

    Ids that are derived from the call do not tell equal calls apart, so the time does.
    """
    try:
        file = open_regular(os.path.join(folder, CALLS), os.O_RDONLY)
    except OSError:
        return None
    try:
        return _search(file, b'{"requestId":' + encode(request_id) + b",", ts)
    except OSError:
        return None
    finally:
        os.close(file)


def _search(file: int, beginning: bytes, ts: str) -> LoggedCall | None:
    """Search the beginnings of lines, piece by piece towards the start of the file."""
    end = os.fstat(file).st_size
    start, overlap = end, b""
    while start > max(0, end - MAX_BYTES):
        size = min(PIECE_BYTES, start)
        start -= size
        piece = _read(file, start, size) + overlap
        at = len(piece)
        while (at := piece.rfind(beginning, 0, at)) >= 0:
            call = _call_at(file, start + at, ts)
            if call is not None:
                return call
        # A beginning may lie across two pieces.
        overlap = piece[: len(beginning) - 1]
    return None


def _call_at(file: int, at: int, ts: str) -> LoggedCall | None:
    """Return the call whose line begins at a place, if a line does, and if it ended at this time."""
    if at and _read(file, at - 1, 1) != b"\n":
        return None
    pieces: list[bytes] = []
    size = 0
    while size < MAX_LINE_BYTES:
        piece = _read(file, at + size, PIECE_BYTES)
        line, end, _ = piece.partition(b"\n")
        pieces.append(line)
        size += len(line)
        if end:
            break
        if not piece:
            return None
    else:
        return None
    try:
        call = msgspec.json.decode(b"".join(pieces), type=LoggedCall)
    except (ValueError, RecursionError):
        return None
    return call if not ts or call.ts in {ts, ""} else None


def _read(file: int, at: int, size: int) -> bytes:
    os.lseek(file, at, os.SEEK_SET)
    return os.read(file, size)
