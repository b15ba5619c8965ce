"""`signet audit verify FILE…`: find a line of an audit log that was edited, removed, repeated or moved."""

from __future__ import annotations

import argparse
import gzip
import io
import os
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import msgspec

from signet.operations.audit.chain import NO_HASH, Seal, Tail
from signet.operations.audit.ending import BEGIN
from signet.operations.audit.file import HEAD_SUFFIX, read_head
from signet.operations.audit.verification import BadLineError, Verifier, lines_of
from signet.settings.names import given_settings
from signet.settings.usage import UsageError
from signet.system.files import lock, open_regular, unlock
from signet.system.text import printable

from .terminal import counted, write

__all__ = ["add"]

BAD: Final = 1
LOCK_S: Final = 5.0
"""The time to wait for the processes that write to the file."""
PROGRESS_S: Final = 0.5
LINES_AT_ONCE: Final = 4096
STDIN: Final = "-"
GZIP: Final = b"\x1f\x8b"
EPILOG: Final = """\
The exit status is 0 if every line is as it was written, 1 if not (the first bad line is named), 2 if there is no such
file or it is no audit log. A log that was written with a key needs it in SIGNET_AUDIT_KEY, or the file of the key in
SIGNET_AUDIT_KEY_FILE. Files that were moved away by a rotation are given before the one that follows them, compressed
by gzip or not; - is standard input.

examples:
  signet audit verify audit.log
  signet audit verify audit.log.2.gz audit.log.1 audit.log
  signet audit verify audit.log --follows 7bb5f1fa…     the last hash of the file before, which is not here
  signet audit verify audit.log --contains 9dffbcb4…    a hash that was kept elsewhere
"""


def add(parser: Any) -> None:
    """Add the arguments of `signet audit`."""
    verbs = parser.add_subparsers(title="commands", metavar="VERB", required=True, prog="signet audit")
    text = "find a line that was edited, removed, repeated or moved"
    verify = verbs.add_parser("verify", help=text, description=text[:1].upper() + text[1:] + ".", epilog=EPILOG)
    verify.add_argument("files", nargs="+", metavar="FILE", help="the file, or files in the order of their rotation")
    verify.add_argument("--follows", metavar="HASH", default="", help="the last hash of the file before the first one")
    verify.add_argument("--contains", metavar="HASH", default="", help="a hash that a line of the log must have")
    verify.set_defaults(run=_verify)


class _Source(msgspec.Struct):
    """A file of a log that is being verified."""

    path: str
    file: io.BufferedReader
    """What is stored."""
    lines: io.BufferedReader | gzip.GzipFile
    """What is read from it: its lines, uncompressed."""
    size: int = sys.maxsize
    """How much of the lines is read."""
    stored: int = 0
    """The size of the file; 0 if it is not known."""
    head: Tail | None = None
    is_running: bool = False
    """Whether a server writes to it."""


def _verify(args: argparse.Namespace) -> int:
    """Verify one or several files of a log."""
    if args.files.count(STDIN) > 1:
        raise UsageError("standard input (-) can be given once")
    key = given_settings(os.environ, {}, names=("audit_key",)).get("audit_key")
    seal, wanted = Seal(None if key is None else str(key.value)), args.contains.strip().lower()
    verifier = Verifier(seal, wanted, follows=args.follows.strip().lower() or NO_HASH)
    for number, path in enumerate(args.files):
        try:
            note = _verify_file(verifier, path, is_followed=number + 1 < len(args.files))
        except BadLineError as error:
            write(printable(f"{path}: {error}"))
            return BAD
        numbers = {"line": verifier.number, "request": verifier.requests, "accepted call": verifier.calls}
        lines = ", ".join(counted(number, noun, form="") for noun, number in numbers.items())
        write(printable(f"{path}: good: {lines}; {note}"))
        if not verifier.has_end:
            lacks = "standard input has no head" if path == STDIN else f"{path}{HEAD_SUFFIX} is missing or unreadable"
            write(printable(f"{lacks}: lines that were cut off at the end cannot be noticed"))
    if verifier.follows != NO_HASH:
        write(f"the first file follows another one, whose last hash is {printable(verifier.follows)}")
    if verifier.wanted and not verifier.is_wanted_found:
        write(f"no line has the hash {printable(verifier.wanted)}: lines are missing, or the log was made anew")
        return BAD
    write(f"last line: seq {verifier.seq}, hash {verifier.hash}")
    return 0


def _verify_file(verifier: Verifier, path: str, *, is_followed: bool) -> str:
    """Verify one file, and return a note on its end; raise BadLineError for the first bad line."""
    try:
        with _opened(path) as source:
            verifier.begin_file()
            show = _progress(path, source.stored)
            for text in lines_of(source.lines, source.size):
                verifier.take(text, source.head)
                if not verifier.number % LINES_AT_ONCE and source.stored:
                    show(source.file.tell())
            show(source.stored)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        why = "the compressed file is damaged, or its end is cut off"
        raise BadLineError(verifier.number + 1, why) from None
    except OSError as error:
        raise UsageError(f"cannot read {path} ({error.strerror})") from None
    is_running = source.is_running
    return verifier.check_end(source.head, is_running=is_running, is_followed=is_followed, is_stream=path == STDIN)


@contextmanager
def _opened(path: str) -> Iterator[_Source]:
    """Open a file of a log; raise UsageError if it is none."""
    if path == STDIN:
        if sys.stdin is None:
            raise UsageError("there is no standard input")
        with open(sys.stdin.fileno(), "rb", closefd=False) as file:
            yield _source(STDIN, file)
        return
    with open(open_regular(path, os.O_RDONLY, follow_link=True), "rb") as file:
        source = _source(path, file)
        source.stored = os.fstat(file.fileno()).st_size
        if source.lines is file:
            source.stored = _snapshot(source)
        yield source


def _source(path: str, file: io.BufferedReader) -> _Source:
    """Return a file with its lines, if it begins like an audit log; one that has a head is one in any case."""
    lines = gzip.GzipFile(fileobj=file) if file.peek(len(GZIP))[: len(GZIP)] == GZIP else file
    begin = lines.peek(len(BEGIN))[: len(BEGIN)]
    if not BEGIN.startswith(begin) and not os.path.exists(path + HEAD_SUFFIX):
        if path.endswith(HEAD_SUFFIX):
            raise UsageError(f"{path} is the head of an audit log: verify {path.removesuffix(HEAD_SUFFIX)}")
        raise UsageError(f"{path} is not an audit log")
    return _Source(path, file, lines)


def _snapshot(source: _Source) -> int:
    """Note a size of the file at which it ends with a line, its head at that time, and whether a server writes."""
    file = source.file.fileno()
    try:
        beside = open_regular(source.path + HEAD_SUFFIX, os.O_RDONLY)
    except FileNotFoundError:
        source.size = os.fstat(file).st_size
        return source.size
    try:
        # While the lock is held, nobody is in the middle of a line.
        lock(beside, wait_s=LOCK_S)
        source.size, source.head = os.fstat(file).st_size, read_head(beside)
        source.is_running = not lock(file)
        unlock(file)
    finally:
        os.close(beside)
    return source.size


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
