"""The chain of an audit log: each line holds the hash of the line before, and its own.

    {"kind":…, …, "calls":1, "seq":7, "prev":"<hash of line 6>"          the content: what is hashed
                                                               ,"hash":"<hash of the content>"}

The hash is SHA-256 of the content, or HMAC-SHA-256 with the key where there is one. `seq` counts the lines of all files
of a log; a file that follows another one begins with the hash of that one's last line.
"""

from __future__ import annotations

import hmac
from hashlib import sha256
from typing import Final

import msgspec

from .line import ROTATED, CheckpointLine, RequestLine, content_of

__all__ = ["NO_HASH", "AuditLine", "Seal", "Tail", "add_line", "follow", "parse_line"]

NO_HASH: Final = "0" * 64
"""What the first line of the first file follows."""
HASH: Final = b',"hash":"'
END: Final = b'"}\n'
HASH_AT: Final = -(len(HASH) + len(NO_HASH) + len(END))
NAMED: Final = b"the name of an audit log's key"
NAME_CHARS: Final = 16

AuditLine = RequestLine | CheckpointLine

_decode: Final = msgspec.json.Decoder(AuditLine).decode


class Seal:
    """Makes the hashes of a log."""

    def __init__(self, key: str | None = None) -> None:
        self._key = key.encode() if key else b""
        self.is_keyed = bool(key)
        self.name = self.hash_of(NAMED)[:NAME_CHARS] if key else ""
        """What tells the key from others, and does not tell the key; empty without one."""

    def hash_of(self, content: bytes) -> str:
        """Return the hash of a line's content."""
        if self._key:
            return hmac.digest(self._key, content, "sha256").hex()
        return sha256(content).hexdigest()


class Tail(msgspec.Struct, gc=False):
    """The end of a log's file, as it is kept beside it: the next line is made from it."""

    inode: int = 0
    end: int = 0
    """The size of the file."""
    seq: int = 0
    hash: str = NO_HASH
    calls: int = 0
    first: int = 1
    """The `seq` of the file's first line."""
    checked: int = 0
    """The `seq` of the last checkpoint, as far as it is known."""
    checked_s: float = 0.0
    """The time of it."""
    is_closed: bool = False
    """Whether the last line says that its file was moved away."""
    seal: str = ""
    """The name of the key."""


def add_line(tail: Tail, line: AuditLine, seal: Seal) -> bytes:
    """Return a line as it is written behind a tail, and move the tail behind it."""
    tail.seq = line.seq = tail.seq + 1
    line.prev = tail.hash
    tail.is_closed = isinstance(line, CheckpointLine) and line.event == ROTATED
    if isinstance(line, CheckpointLine):
        tail.checked = line.seq
        line.lines = line.seq - tail.first + 1
    elif line.is_call:
        tail.calls += 1
    line.calls = tail.calls
    content = content_of(line)
    tail.hash = seal.hash_of(content)
    text = b"".join((content, HASH, tail.hash.encode(), END))
    tail.end += len(text)
    return text


def parse_line(text: bytes) -> tuple[AuditLine, bytes, str]:
    """Return a line, its content and its hash, without looking whether they agree.

    Raises:
        ValueError: the text is not a line of an audit log.
    """
    if not text.endswith(END) or text[HASH_AT : HASH_AT + len(HASH)] != HASH:
        raise ValueError("it does not end with a hash")
    found = text[HASH_AT + len(HASH) : -len(END)].decode("ascii", "replace")
    return _decode(text), text[:HASH_AT], found


def follow(tail: Tail, text: bytes, seal: Seal) -> Tail:
    """Return the tail behind a line that was written behind a tail.

    Raises:
        ValueError: it is not a line that a process with this seal has written there.
    """
    line, content, found = parse_line(text)
    if (line.seq, line.prev, seal.hash_of(content)) != (tail.seq + 1, tail.hash, found):
        raise ValueError("it does not follow")
    behind = msgspec.structs.replace(tail)
    add_line(behind, line, seal)
    if behind.hash != found:
        raise ValueError("it counts something else")
    return behind
