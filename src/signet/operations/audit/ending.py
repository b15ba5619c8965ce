"""The end of an audit log's file: where the chain goes on after a restart, a crash, or somebody else's hand.

    what is known: FILE.head, or this process    what the file holds                the chain goes on
    seq 7, hash h7                               … h7                               behind h7
                                                 … h7, then lines of one append     behind them: a process was killed
                                                                                    between them and the head
                                                 anything else                      behind h7, so that it shows
                                                 nothing                            behind h7, as a new file
    nothing                                      … a line with its hash             behind it

What is known counts, and not what the file holds: a line that was edited, cut off or made up stays to be seen.
"""

from __future__ import annotations

import errno
import os
from typing import Final

import msgspec

from signet.system.line_file import last_line

from .chain import Seal, Tail, follow, parse_line
from .line import MAX_LINE_BYTES

__all__ = ["APPEND_LINES", "BEGIN", "end_of", "first_end_of", "whole_size"]

APPEND_LINES: Final = 3
"""The most lines that are written at once: those with which a process comes to a file, and that of one request."""
BEGIN: Final = b'{"kind":"'
"""The beginning of every line; a file with nothing but a part of one is taken for an audit log."""
REQUEST: Final = BEGIN + b'request"'
NOT_A_LOG: Final = "Is not an audit log"
OTHER_KEY: Final = (
    "its lines were written with another SIGNET_AUDIT_KEY, or without one, or changed: move the file first, and a new"
    " one is begun that follows it"
)


def end_of(file: int, size: int, inode: int, known: Tail, seal: Seal) -> Tail:
    """Return the tail from which the chain goes on in a file of a size, whose lines are whole."""
    if size == 0:
        # Moved away, removed or emptied: whoever verifies the file has to have the lines before it.
        return _fresh(known)
    if inode == known.inode and size == known.end:
        return known
    if _ends_with(file, known):
        return _followed(file, known.end, size, known, seal) or known
    fresh = _fresh(known)
    return (_followed(file, 0, size, fresh, seal) if inode != known.inode else None) or known


def first_end_of(path: str, file: int, size: int, head: Tail | None, seal: Seal) -> Tail:
    """Return what is known of a log when a process begins to write to it, by its head or else by its last line.

    Raises:
        OSError: it is not an audit log, or its lines have another seal.
    """
    if head is not None:
        if size and head.seal != seal.name:
            raise OSError(errno.EINVAL, OTHER_KEY, path)
        return head
    if size == 0:
        return Tail()
    first, (last, _) = os.pread(file, MAX_LINE_BYTES, 0), last_line(file, size, MAX_LINE_BYTES)
    try:
        begin = parse_line(first[: first.find(b"\n") + 1])[0]
        line, content, found = parse_line(last)
    except ValueError:
        raise OSError(errno.EINVAL, NOT_A_LOG, path) from None
    if seal.hash_of(content) != found:
        raise OSError(errno.EINVAL, OTHER_KEY, path)
    return Tail(0, size, line.seq, found, line.calls, begin.seq, line.seq)


def whole_size(file: int, size: int) -> int:
    """Return the size of a file without a last line that was written in part."""
    line, end = last_line(file, size, MAX_LINE_BYTES)
    if not line and (size > MAX_LINE_BYTES or not BEGIN.startswith(os.pread(file, len(BEGIN), 0))):
        # It is nothing that a process of ours has begun to write.
        return size
    return end


def _fresh(known: Tail) -> Tail:
    """Return the tail at the beginning of a file that follows what is known."""
    return msgspec.structs.replace(known, calls=0, first=known.seq + 1)


def _ends_with(file: int, known: Tail) -> bool:
    """Return whether the last line that is known stands where it was written."""
    text, end = last_line(file, known.end, MAX_LINE_BYTES)
    if end != known.end:
        return False
    try:
        line, _, found = parse_line(text)
    except ValueError:
        return False
    return (line.seq, found) == (known.seq, known.hash)


def _followed(file: int, start: int, size: int, known: Tail, seal: Seal) -> Tail | None:
    """Return the tail behind the lines from a place on, if they were written at once behind what is known."""
    if size - start > APPEND_LINES * MAX_LINE_BYTES:
        return None
    lines = os.pread(file, size - start, start).splitlines(keepends=True)
    if len(lines) > APPEND_LINES or sum(text.startswith(REQUEST) for text in lines) > 1:
        return None
    tail = known
    try:
        for text in lines:
            tail = follow(tail, text, seal)
    except ValueError:
        return None
    return tail
