"""`signet audit verify FILE…`: find a line of an audit log that was edited, removed, repeated or moved."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from typing import IO, Any, Final

from signet.files import lock, open_regular, unlock
from signet.operations.audit.chain import NO_HASH, Seal, Tail
from signet.operations.audit.file import HEAD_SUFFIX, read_head
from signet.operations.audit.verification import BadLineError, Verifier, lines_of
from signet.settings import UsageError

from .arguments import printable
from .terminal import write

__all__ = ["add"]

BAD: Final = 1
LOCK_S: Final = 5.0
"""The time to wait for the processes that write to the file."""
PROGRESS_S: Final = 0.5
LINES_AT_ONCE: Final = 4096
EPILOG: Final = """\
The exit status is 0 if every line is as it was written, 1 if not (the first bad line is named), 2 if there is no such
file. A key in SIGNET_AUDIT_KEY is needed for a log that was written with one. Files that were moved away by a rotation
are given before the one that follows them.

examples:
  signet audit verify audit.log
  signet audit verify audit.log.1 audit.log
  signet audit verify audit.log --contains 9dffbcb4…    a hash that was kept elsewhere
"""


def add(parser: Any) -> None:
    """Add the arguments of `signet audit`."""
    verbs = parser.add_subparsers(title="commands", metavar="VERB", required=True, prog="signet audit")
    text = "find a line that was edited, removed, repeated or moved"
    verify = verbs.add_parser("verify", help=text, description=text[:1].upper() + text[1:] + ".", epilog=EPILOG)
    verify.add_argument("files", nargs="+", metavar="FILE", help="the file, or files in the order of their rotation")
    verify.add_argument("--contains", metavar="HASH", default="", help="a hash that a line of the log must have")
    verify.set_defaults(run=_verify)


def _verify(args: argparse.Namespace) -> int:
    """Verify one or several files of a log."""
    verifier = Verifier(Seal(os.environ.get("SIGNET_AUDIT_KEY")), args.contains.strip().lower())
    for number, path in enumerate(args.files):
        try:
            note = _verify_file(verifier, path, is_followed=number + 1 < len(args.files))
        except BadLineError as error:
            write(printable(f"{path}: {error}"))
            return BAD
        lines = f"{verifier.number} lines, {verifier.requests} requests, {verifier.calls} accepted calls"
        write(printable(f"{path}: good: {lines}; {note}"))
    if verifier.begins_after != NO_HASH:
        write(f"the first file follows another one, whose last hash is {verifier.begins_after}")
    if verifier.wanted and not verifier.is_wanted_found:
        write(f"no line has the hash {printable(verifier.wanted)}: lines are missing, or the log was made anew")
        return BAD
    write(f"last line: seq {verifier.seq}, hash {verifier.hash}")
    return 0


def _verify_file(verifier: Verifier, path: str, *, is_followed: bool) -> str:
    """Verify one file, and return a note on its end; raise BadLineError for the first bad line."""
    try:
        with open(open_regular(path, os.O_RDONLY, follow_link=True), "rb") as file:
            size, head, is_running = _snapshot(file, path)
            verifier.begin_file()
            show = _progress(path, size)
            for text in lines_of(file, size):
                verifier.take(text, head)
                if not verifier.number % LINES_AT_ONCE:
                    show(file.tell())
            show(size)
    except OSError as error:
        raise UsageError(f"cannot read {path} ({error.strerror})") from None
    return verifier.check_end(head, is_running=is_running, is_followed=is_followed)


def _snapshot(file: IO[bytes], path: str) -> tuple[int, Tail | None, bool]:
    """Return a size of the file at which it ends with a line, its head at that time, and whether a server writes."""
    try:
        beside = open_regular(path + HEAD_SUFFIX, os.O_RDONLY)
    except FileNotFoundError:
        return os.fstat(file.fileno()).st_size, None, False
    try:
        # While the lock is held, nobody is in the middle of a line.
        lock(beside, wait_s=LOCK_S)
        size, head = os.fstat(file.fileno()).st_size, read_head(beside)
        is_running = not lock(file.fileno())
        unlock(file.fileno())
    finally:
        os.close(beside)
    return size, head, is_running


def _progress(path: str, size: int) -> Callable[[int], None]:
    """Return what shows on a terminal how far a long file has been read."""
    if sys.stderr is None or not sys.stderr.isatty():
        return lambda _: None
    started_s = shown_s = time.monotonic()

    def show(done: int) -> None:
        nonlocal shown_s
        now = time.monotonic()
        if done == size and shown_s > started_s:
            sys.stderr.write("\r\x1b[K")
        elif done < size and now - shown_s >= PROGRESS_S:
            shown_s = now
            sys.stderr.write(f"\r{printable(path)}: {done * 100 // size} %\x1b[K")
        sys.stderr.flush()

    return show
