"""The verification of an audit log: line by line, in memory that does not grow with the file.

An edited line no longer has its hash; one that is missing, repeated or moved breaks the order of `seq`; one that was
made anew breaks the chain at the next line. Lines that were cut off are missed by `FILE.head`, or because no process
has said that it stopped; lines that were added are not known to it. A file that follows another one is good behind that
one alone, or behind a hash that is known.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import BufferedIOBase
from typing import Final

import msgspec

from .chain import NO_HASH, AuditLine, Seal, Tail, parse_line
from .ending import APPEND_LINES
from .line import CONTINUED, MAX_LINE_BYTES, ROTATED, STARTED, STOPPED, UNCLOSED, CheckpointLine

__all__ = ["BadLineError", "Verifier", "lines_of"]

MAX_PROCESSES: Final = 10_000
"""The number of processes that are remembered because they have not said that they stopped."""
HIDDEN: Final = "; it was written with a key, so set SIGNET_AUDIT_KEY"


class BadLineError(ValueError):
    """A line of an audit log is not what it should be."""

    def __init__(self, number: int, why: str) -> None:
        super().__init__(f"line {number}: {why}")
        self.number = number


def lines_of(file: BufferedIOBase, size: int) -> Iterator[bytes]:
    """Yield the lines of the first `size` bytes of a file, each with its line end; a longer one is cut."""
    while size > 0 and (text := file.readline(min(size, MAX_LINE_BYTES + 1))):
        size -= len(text)
        yield text


class Verifier(msgspec.Struct):
    """What has been verified so far: one file after the other, in the order in which they were written."""

    seal: Seal
    wanted: str = ""
    """A hash that the chain has to hold, if it is not empty."""
    number: int = 0
    """The number of lines in this file."""
    requests: int = 0
    calls: int = 0
    """The number of accepted calls in this file."""
    seq: int | None = None
    hash: str = ""
    follows: str = NO_HASH
    """The hash that the first file has to follow."""
    is_moved: bool = False
    """Whether the last line says that the file was moved away."""
    is_wanted_found: bool = False
    has_head: bool = False
    """Whether the line that the head names was found."""
    requests_beyond: int = 0
    """The number of requests behind that line."""
    has_end: bool = False
    """Whether something beside the lines says which of them is the last: the head, or the file that follows."""
    running: set[str] = msgspec.field(default_factory=set)
    """The processes that have not said that they stopped."""

    def begin_file(self) -> None:
        """Go on with the next file, whose first line follows the last one."""
        self.number = self.requests = self.calls = self.requests_beyond = 0
        self.is_moved = self.has_head = False
        self.running = set()

    def take(self, text: bytes, head: Tail | None = None) -> None:
        """Verify the next line.

        Raises:
            BadLineError: it is not the line that has to come here.
        """
        self.number += 1
        line, content, found = self._parse(text)
        if self.seal.hash_of(content) != found:
            is_hidden = isinstance(line, CheckpointLine) and line.keyed and not self.seal.is_keyed
            raise self._bad("it was changed: its hash is not that of its content" + (HIDDEN if is_hidden else ""))
        self._check_place(line)
        self._count(line)
        self.seq, self.hash = line.seq, found
        self.is_wanted_found = self.is_wanted_found or found == self.wanted
        if head is not None:
            self._check_head(head, line, found)

    def check_end(self, head: Tail | None, *, is_running: bool, is_followed: bool, is_stream: bool = False) -> str:
        """Return a note on the end of a file, after its last line; a stream has no head, and may end open.

        Raises:
            BadLineError: lines are missing at the end, or it cannot be said that none are.
        """
        if self.number == 0:
            raise BadLineError(1, "the file is empty: every log has a first line")
        if head is not None and self.seq is not None and head.seq > self.seq:
            count = head.seq - self.seq
            raise BadLineError(self.number + 1, f"{count} line{'s are' if count > 1 else ' is'} missing at the end")
        self.has_end = is_followed or self.is_moved or head is not None
        if is_followed or self.is_moved:
            return "the next file follows"
        if is_running:
            return "the end is open: a server writes to it"
        if not self.running:
            return "the end is closed: every process has said that it stopped"
        if self.has_head:
            return "a process did not say that it stopped; the end is the one that the head of the log names"
        if is_stream:
            return "the end is open: a process did not say that it stopped, or still writes"
        why = "the end is open: no process writes to it, none has closed it, and there is no head of the log"
        raise BadLineError(self.number + 1, f"{why}; lines may be missing")

    def _check_head(self, head: Tail, line: AuditLine, found: str) -> None:
        """Check a line against the one that the head names, which is the last one that was written."""
        if line.seq < head.seq:
            return
        if line.seq == head.seq:
            if head.hash != found:
                raise self._bad("it was replaced: the head of the log names another line with this seq")
            self.has_head = True
            return
        # A process that was killed before it wrote the head leaves what it had written at once.
        self.requests_beyond += not isinstance(line, CheckpointLine)
        if line.seq > head.seq + APPEND_LINES or self.requests_beyond > 1:
            raise self._bad(f"it was added: the head of the log names the line with seq {head.seq} as the last one")

    def _parse(self, text: bytes) -> tuple[AuditLine, bytes, str]:
        if not text.endswith(b"\n"):
            why = "it is half a line: the rest is missing" if len(text) <= MAX_LINE_BYTES else "it is too long"
            raise self._bad(why)
        try:
            return parse_line(text)
        except (ValueError, RecursionError) as error:
            raise self._bad(f"it was changed: it is no line of an audit log ({str(error)[:200]})") from None

    def _check_place(self, line: AuditLine) -> None:
        """Check that a line follows the one before."""
        is_first = isinstance(line, CheckpointLine) and line.lines == 1
        if self.number == 1 and not is_first:
            raise self._bad("lines are missing before it: it is not the first line of a file")
        if self.seq is None:
            self._check_beginning(line)
            return
        if line.seq <= self.seq:
            raise self._bad(f"it is repeated or out of order: seq {line.seq} stands behind seq {self.seq}")
        if line.seq > self.seq + 1:
            missing = line.seq - self.seq - 1
            what = f"{missing} lines are" if missing > 1 else "a line is"
            raise self._bad(f"{what} missing or out of order before it: seq {line.seq} stands behind seq {self.seq}")
        if line.prev != self.hash:
            raise self._bad("it does not follow the line before: that one was changed and hashed anew")

    def _check_beginning(self, line: AuditLine) -> None:
        """Check that the first file follows what is known to come before."""
        if (line.seq == 1) != (line.prev == NO_HASH):
            raise self._bad(f"it was made up: seq {line.seq} and the hash of the line before do not agree")
        if line.prev == self.follows:
            return
        if self.follows != NO_HASH:
            raise self._bad(f"it follows another line than that one: the last hash of the file before is {line.prev}")
        how = "that was not closed: moved while no server ran, removed or emptied" if _is_unclosed(line) else "before"
        what = "give that file before this one, or if it was kept or verified elsewhere, its last hash with --follows"
        raise self._bad(f"lines are missing before it: it follows a file {how}, whose last hash is {line.prev}; {what}")

    def _count(self, line: AuditLine) -> None:
        """Check the counts of a line against those of the file."""
        self.is_moved = False
        if isinstance(line, CheckpointLine):
            if line.lines != self.number:
                raise self._bad(f"it counts {line.lines} lines, and there are {self.number}")
            self.is_moved = line.event == ROTATED
            self._note_process(line)
        else:
            self.requests += 1
            self.calls += line.is_call
        if line.calls != self.calls:
            raise self._bad(f"it counts {line.calls} accepted calls, and there are {self.calls}")

    def _note_process(self, line: CheckpointLine) -> None:
        if line.event in {STARTED, CONTINUED} and len(self.running) < MAX_PROCESSES:
            self.running.add(line.process)
        elif line.event == STOPPED:
            self.running.discard(line.process)

    def _bad(self, why: str) -> BadLineError:
        return BadLineError(self.number, why)


def _is_unclosed(line: AuditLine) -> bool:
    return isinstance(line, CheckpointLine) and line.event == UNCLOSED
