"""The feed of the live journal: the latest records of all processes, in memory, and who follows them.

    journal's thread ── a batch ──▶ take_own ──┬─▶ spool ──▶ other processes
    spool ── lines of others ──▶ take_others ──┴─▶ the latest records ──▶ followers

A busy server makes more records than anybody reads. Those of this process are kept as they come, and made ready for a
page when somebody looks: most are forgotten before. Other processes and followers get every failure, and some hundreds
of the other records of each second; the rest is counted.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from operator import attrgetter
from secrets import token_hex
from typing import Final, TypeVar

import msgspec

from signet.journal.record import JournalEntry, JournalRecord
from signet.kernel.errors import ACCESS_FAULTS, Fault

from .spool import Spool
from .trial import door_of
from .twin import Shown
from .unread import Trouble, UnreadRecord, UnreadRecords

__all__ = ["KEEPS", "OK", "Feed", "FeedRecord", "Follower"]

KEEPS: Final = 10_000
"""The number of records that are kept."""
SLACK: Final = 500
"""The number of further records after which the oldest are forgotten, all at once."""
PER_SECOND: Final = 500
"""The number of records of successful calls that are published or followed in a second."""
BURST: Final = 1000
"""The number of them after a quiet time."""
MAX_FOLLOWERS: Final = 32
MAX_FOLLOWERS_OF_ONE: Final = 8
"""The number of streams of one principal, or of one address where nobody has to say who they are."""
MAX_PROCESSES: Final = 256
"""The number of processes whose left out records are counted apart."""
MAX_CALLER_CHARS: Final = 120
OK: Final = "OK"
"""The code of a record without an error."""
KIND: Final = "record"
LEFT_OUT: Final = b'{"leftOut":'

MAX_SEARCHES: Final = 20
"""The number of calls in a batch whose arguments are searched for what is wrong."""

FindPlace = Callable[[JournalEntry, Fault], tuple[str, str]]

T = TypeVar("T")
_seq: Final = attrgetter("seq")


def _nowhere(*_: object) -> tuple[str, str]:
    return "", ""


class FeedRecord(JournalRecord, frozen=True, kw_only=True, gc=False, forbid_unknown_fields=True):
    """One record: the fields of its line in the journal, and what the console knows of the call beside them."""

    seq: str
    """Its place among all records of the server: later records have greater ones."""
    tool: str
    """The tool's name; for an unknown tool, the name that the caller used."""
    door: str
    caller: str
    """The principal's name; empty where there is none."""
    code: str
    """The canonical code of the error, or OK."""
    stage: str
    """The contract that was broken: envelope, input or output; access where the caller may not call, or not now."""
    shadow: bool
    """Whether a contract was broken and the call went on all the same."""
    place: str
    """The first place of the arguments, or of a wrapped server's result, that breaks the contract, such as `codes[1]`;
    `$` for the whole, or empty."""
    keyword: str
    """The keyword of the schema that is broken there."""
    exchange: str
    """The id of the HTTP request that carried the call, `X-Request-Id`; empty on stdio."""


NO_TROUBLE: Final = Trouble(OK, "", shadow=False, place="", keyword="")


class FeedLeftOut(Shown, frozen=True):
    """The number of records that one process has not published."""

    left_out: int
    process: str


_encode: Final = msgspec.json.Encoder().encode
_decode_record: Final = msgspec.json.Decoder(FeedRecord).decode
_decode_left_out: Final = msgspec.json.Decoder(FeedLeftOut).decode


class Feed:
    """The latest records of a server."""

    def __init__(
        self, spool: Spool, clock: Callable[[], float] = time.monotonic, find_place: FindPlace = _nowhere
    ) -> None:
        """Keep what comes; `find_place` returns the first place at which a call breaks a contract."""
        self._find_place = find_place
        self._searches = 0
        self._spool = spool
        self._clock = clock
        self._lock = threading.Lock()
        self._records: list[FeedRecord] = []
        """Sorted by `seq`."""
        self._unread = UnreadRecords(KEEPS)
        """The latest records of this process, behind all others, not yet made ready for a page."""
        self._followers: set[Follower] = set()
        self._budget = float(BURST)
        self._filled_s = clock()
        self._own_left_out = 0
        self._left_out_of: dict[str, int] = {}
        self._process = ""
        self._last_us = 0

    @property
    def left_out(self) -> int:
        """Return the number of records that the processes have not told each other."""
        return self._own_left_out + sum(self._left_out_of.values())

    @property
    def is_shared(self) -> bool:
        """Return whether other processes may have records."""
        return self._spool.is_shared

    def crowd(self, owner: str) -> str:
        """Return why nobody else may follow for an owner; empty if one may."""
        if len(self._followers) >= MAX_FOLLOWERS:
            return f"{MAX_FOLLOWERS} pages follow this journal already: close one of them"
        if sum(follower.owner == owner for follower in self._followers) >= MAX_FOLLOWERS_OF_ONE:
            return f"{MAX_FOLLOWERS_OF_ONE} pages of yours follow this journal already: close one of them"
        return ""

    def take_own(self, batch: Sequence[tuple[JournalEntry, JournalRecord]]) -> None:
        """Take the records of a batch of this process; with several processes, those that the others get too."""
        self._searches = MAX_SEARCHES
        unread = [self._unread_of(entry, record) for entry, record in batch]
        if self._spool.is_shared:
            self._publish(unread)
            return
        with self._lock:
            if not self._followers:
                self._unread.add(unread)
                return
            # What came before anybody followed is for the list.
            self._read()
            taken = self._made_ready(unread)
            chosen = self._affordable(taken, lambda record: record.error is not None)
            for follower in self._followers:
                follower.missed += len(taken) - len(chosen)
                follower.tell(chosen)

    def _publish(self, unread: list[UnreadRecord]) -> None:
        """Keep the failures of a batch, and as many other records as may be published now, and publish them."""
        chosen = self._affordable(unread, lambda one: one.trouble is not None)
        taken = [self._feed_record(one) for one in chosen]
        lines = [_encode(record) for record in taken]
        if len(chosen) < len(unread):
            self._own_left_out += len(unread) - len(chosen)
            lines.append(LEFT_OUT + b'%d,"process":"%b"}' % (self._own_left_out, self._process.encode()))
        self._spool.publish(KIND, lines)
        self._add(taken)

    def _affordable(self, found: Sequence[T], is_failure: Callable[[T], bool]) -> list[T]:
        """Return all failures of a batch, and the latest of its other records, as many as may be passed on now."""
        others = sum(not is_failure(one) for one in found)
        skipped = others - self._spend(others)
        if not skipped:
            return list(found)
        chosen = []
        for one in found:
            if is_failure(one):
                chosen.append(one)
            elif skipped:
                skipped -= 1
            else:
                chosen.append(one)
        return chosen

    def take_others(self) -> None:
        """Take what other processes have published; call it in a thread."""
        taken = []
        for line in self._spool.others(KIND):
            try:
                if not line.startswith(LEFT_OUT):
                    taken.append(_decode_record(line))
                    continue
                told = _decode_left_out(line)
            except (ValueError, RecursionError):
                continue  # a file of another version
            if told.process in self._left_out_of or len(self._left_out_of) < MAX_PROCESSES:
                self._left_out_of[told.process] = told.left_out
        self._add(sorted(taken, key=_seq)[-KEEPS:])

    def latest(self) -> list[FeedRecord]:
        """Return the records that are kept, newest first."""
        with self._lock:
            self._read()
            return self._records[: -KEEPS - 1 : -1]

    def find(self, key: str) -> FeedRecord | None:
        """Return the latest record with this requestId, this seq or this id of its HTTP request."""
        names = ((record, {record.request_id, record.seq, record.exchange}) for record in self.latest())
        return next((record for record, keys in names if key in keys), None)

    def follow(self, follower: Follower) -> bool:
        """Pass further records on to a follower; return False if too many follow already."""
        with self._lock:
            if self.crowd(follower.owner):
                return False
            self._followers.add(follower)
            return True

    def leave(self, follower: Follower) -> None:
        """Pass nothing more on to a follower."""
        with self._lock:
            self._followers.discard(follower)

    def _read(self) -> None:
        """Make the kept records of this process ready for a page; the caller holds the lock."""
        if self._unread:
            self._made_ready(self._unread.take())

    def _made_ready(self, unread: list[UnreadRecord]) -> list[FeedRecord]:
        taken = [self._feed_record(one) for one in unread]
        self._records += taken
        if len(self._records) > KEEPS + SLACK:
            del self._records[:-KEEPS]
        return taken

    def _add(self, taken: list[FeedRecord]) -> None:
        if not taken:
            return
        with self._lock:
            records = self._records
            is_late = bool(records) and taken[0].seq < records[-1].seq
            records += taken
            if is_late:
                records.sort(key=_seq)
            if len(records) > KEEPS + SLACK:
                del records[:-KEEPS]
            for follower in self._followers:
                follower.tell(taken)

    def _spend(self, count: int) -> int:
        """Return how many of a number of records may be taken now."""
        now_s = self._clock()
        self._budget = min(BURST, self._budget + (now_s - self._filled_s) * PER_SECOND)
        self._filled_s = now_s
        wanted = min(count, int(self._budget))
        self._budget -= wanted
        return wanted

    def _unread_of(self, entry: JournalEntry, record: JournalRecord) -> UnreadRecord:
        call, fault = entry.call, entry.fault or entry.shadow_violation
        trouble = None
        if fault is not None:
            stage = fault.stage or ("access" if fault.name in ACCESS_FAULTS else "")
            trouble = Trouble(fault.code.value, stage, entry.fault is None, *self._place_of(entry, fault))
        caller = call.caller
        # The name of an unknown tool is the caller's text: the record has it without secrets.
        tool = entry.tool.name if entry.tool is not None else record.metadata.tool_id or ""
        name = "" if caller.principal is None else caller.principal.name[:MAX_CALLER_CHARS]
        exchange = caller.request_id[:MAX_CALLER_CHARS]
        return UnreadRecord(record, tool, door_of(call.door, caller), name, exchange, entry.ended_s, trouble)

    def _feed_record(self, one: UnreadRecord) -> FeedRecord:
        record, trouble = one.record, one.trouble or NO_TROUBLE
        return FeedRecord(
            *msgspec.structs.astuple(record),
            seq=self._next_seq(one.ended_s),
            tool=one.tool,
            door=one.door,
            caller=one.caller,
            code=trouble.code,
            stage=trouble.stage,
            shadow=trouble.shadow,
            place=trouble.place,
            keyword=trouble.keyword,
            exchange=one.exchange,
        )

    def _place_of(self, entry: JournalEntry, fault: Fault) -> tuple[str, str]:
        """Return the place and the keyword of a broken contract; few arguments of a batch are searched for them."""
        if fault.stage not in {"input", "output"}:
            return "", ""
        if fault.stage == "input":
            if not self._searches:
                return "", ""
            self._searches -= 1
        return self._find_place(entry, fault)

    def _next_seq(self, ended_s: float) -> str:
        """Return the next place: by time, so that those of several processes can be compared."""
        if not self._process:
            # Not before the first record: a process may fork until then.
            self._process = token_hex(3)
        self._last_us = max(self._last_us + 1, int(ended_s * 1_000_000))
        return f"{self._last_us:014x}{self._process}"


MAX_WAITING: Final = 2000
"""The number of records that wait for one stream; the oldest make room."""


class Follower:
    """The records that one stream has not sent yet, from any thread to the event loop that it was made on."""

    def __init__(self, owner: str = "") -> None:
        """Follow for somebody, of whom only so many may."""
        self.owner = owner
        self._loop = asyncio.get_running_loop()
        self._told = asyncio.Event()
        self._waiting: deque[FeedRecord] = deque(maxlen=MAX_WAITING)
        self.missed = 0
        """The number of records that had to make room."""

    def tell(self, records: Sequence[FeedRecord]) -> None:
        """Take records, in any thread."""
        self.missed += max(0, len(self._waiting) + len(records) - MAX_WAITING)
        self._waiting.extend(records)
        # The loop may have been closed: nobody waits then.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._told.set)

    async def wait(self, limit_s: float) -> None:
        """Wait for records, for a limited time."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._told.wait(), limit_s)
        self._told.clear()

    def take(self) -> list[FeedRecord]:
        """Return the records that wait, oldest first."""
        taken = []
        while self._waiting:
            taken.append(self._waiting.popleft())
        return taken
