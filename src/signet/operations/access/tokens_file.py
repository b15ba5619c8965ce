"""The file of named tokens: one JSON object in a line for each token, with its hash and never its text.

    {"name":"alice","sha256":"…","scopes":["tools:call"],"created":"2026-01-31T12:00:00Z","expires":null,"revoked":null}

It is replaced as a whole, with mode 0600, while it is locked: readers see the file before a change or after it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Final

import msgspec

from signet.kernel.places import wrong_type
from signet.system.advice import advise
from signet.system.files import lock, open_private, open_regular, read_regular, replacing

from .tokens import Token, are_whole, broken_part

__all__ = ["MAX_TOKENS", "changing_tokens", "read_tokens"]

MAX_TOKENS: Final = 20_000
TOO_MANY: Final = f"it has more than {MAX_TOKENS} lines: remove those of revoked and expired tokens"
MAX_BYTES: Final = 8_388_608
LINES_AT_ONCE: Final = 200
"""The lines that are decoded in one step: other threads do not get their turn before its end."""
LOCK_S: Final = 10.0
"""The time for another process to end its change."""
DECODER: Final = msgspec.json.Decoder(Token)
GROUP_READS: Final = 0o040
OTHERS_WRITE: Final = 0o002


def read_tokens(path: str) -> dict[str, Token]:
    """Return the tokens of a file by their hashes, in their order; a link is followed, as those of mounted secrets are.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not a file of tokens, or others may write to it; the text says where, and repeats no line.
    """
    found = os.stat(path)
    if os.name == "posix" and found.st_mode & OTHERS_WRITE:
        raise ValueError(f"everybody may write to it: {advise('file.protected', file=path)}")
    if found.st_size > MAX_BYTES:
        raise ValueError(f"it has more than {MAX_BYTES} bytes")
    lines = read_regular(path, follow_link=True).rstrip(b"\n").split(b"\n")
    if len(lines) > MAX_TOKENS:
        raise ValueError(TOO_MANY)
    by_hash: dict[str, Token] = {}
    count = 0
    for start in range(0, len(lines), LINES_AT_ONCE):
        tokens = _read_lines(lines[start : start + LINES_AT_ONCE], start + 1)
        by_hash.update([(token.sha256, token) for token in tokens])
        count += len(tokens)
    if len(by_hash) < count:
        raise ValueError("two of its lines have the same hash: remove one of them")
    return by_hash


def _read_lines(lines: list[bytes], number: int) -> list[Token]:
    """Return the tokens of some lines, the first of which has a number in the file."""
    try:
        tokens = DECODER.decode_lines(b"\n".join(lines))
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise ValueError(_first_fault(lines, number)) from None
    if not are_whole(tokens):
        raise ValueError(_first_fault(lines, number))
    return tokens


def _first_fault(lines: list[bytes], first: int) -> str:
    """Return what is wrong in the first line that is no token; its values are not repeated."""
    for number, line in enumerate(lines, first):
        try:
            part = broken_part(DECODER.decode(line)) if line.strip() else None
        except msgspec.ValidationError as error:
            return f"line {number} is no token: {wrong_type(error)}"
        except (msgspec.DecodeError, UnicodeDecodeError):
            return f"line {number} is not JSON"
        if part is not None:
            return f"line {number} is no token: its {part} cannot be used"
    return "it is not lines of JSON"


@contextmanager
def changing_tokens(path: str) -> Iterator[list[Token]]:
    """Lock a file of tokens, which is made if it is missing, yield its tokens, and write them as they are then.

    Raises:
        OSError: the file cannot be read, written or locked.
        ValueError: it is not a file of tokens, or has too many.
    """
    path = os.path.realpath(path)
    file = _open_locked(path)
    try:
        tokens = list(read_tokens(path).values())
        yield tokens
        if len(tokens) > MAX_TOKENS:
            raise ValueError(TOO_MANY)
        with replacing(path, f"{path}.new", sync=True, private=True) as new:
            _keep_owner(new.fileno(), os.fstat(file))
            new.write(b"".join(msgspec.json.encode(token) + b"\n" for token in tokens))
    finally:
        os.close(file)


def _open_locked(path: str) -> int:
    """Return the descriptor of the file that is at a path while it is locked: another one may have been put there."""
    deadline = monotonic() + LOCK_S
    while True:
        try:
            file = open_regular(path, os.O_RDONLY)
        except FileNotFoundError:
            file = open_private(path, os.O_RDWR | os.O_CREAT)
        if not lock(file, wait_s=max(0.0, deadline - monotonic())):
            os.close(file)
            raise TimeoutError(None, "Another process is changing it", path)
        if _is_at(file, path):
            return file
        os.close(file)


def _is_at(file: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except FileNotFoundError:
        return False


def _keep_owner(new: int, old: os.stat_result) -> None:
    """Let the file stay the service's own where an administrator changes it."""
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        os.fchown(new, old.st_uid, old.st_gid)
        os.fchmod(new, stat.S_IRUSR | stat.S_IWUSR | (old.st_mode & GROUP_READS))
